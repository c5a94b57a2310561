"""What a query means: one vector, whatever it is made of."""

from typing import Final

import numpy as np

from events.errors import BadInputError
from events.model import Scope
from projections.models import EmbeddingModel, Models, Vector
from services.recall.blend import lines_of
from services.recall.cache import RecallCache
from services.recall.found import Meant
from services.recall.rewriting import Rewriter

_SEVERAL: Final = 2


class Meaning:
    """Turns queries into vectors.

    Args:
        models: the model of the index is one of them.
        cache: keeps the vectors.
        last_line: how much the last of several lines counts beside the whole.
        rewriter: writes notes as they might answer; None where queries stay as they are.
    """

    def __init__(self, models: Models, cache: RecallCache, last_line: float, rewriter: Rewriter | None = None) -> None:
        self._models = models
        self._cache = cache
        self._last_line = last_line
        self._rewriter = rewriter

    async def of(self, scope: Scope, query: str, model: str) -> Meant:
        """Embed one person's query, and the note that would answer it, into one vector: still one search."""
        key = self._cache.key(scope.tenant_id, scope.subject_id, query, model, self._last_line)
        if (kept := self._cache.vectors.find(key)) is not None:
            return kept
        with_model = self._models.of(model)
        meant = Meant(await self._embed(query, with_model))
        if self._rewriter is not None:
            note = await self._rewriter.rewrite(scope.tenant_id, query)
            meant = await self._with_note(meant.vector, note, with_model)
        if meant.rewriting != "failed":
            self._cache.vectors.keep(key, scope, meant)
        return meant

    @staticmethod
    async def _with_note(vector: Vector, note: str | None, model: EmbeddingModel) -> Meant:
        """Take the middle between a query and a note, as HyDE does."""
        if note is None:
            return Meant(vector, "failed")
        try:
            (answering,) = await model.embed_passages([note])
        except BadInputError:  # nothing in it that can be read
            return Meant(vector, "failed")
        return Meant(_unit(vector + answering), "used")

    async def _embed(self, query: str, model: EmbeddingModel) -> Vector:
        """Embed a query; the last of several lines counts again in the same vector."""
        whole = await model.embed_query(query)
        lines = lines_of(query)
        if len(lines) < _SEVERAL or not self._last_line:
            return whole
        return _unit(whole + self._last_line * await model.embed_query(lines[-1]))


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)
