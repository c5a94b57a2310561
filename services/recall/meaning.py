"""What a query means: a vector for the whole, whatever it is made of, and one for each question in it."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from events.errors import BadInputError
from events.model import Scope
from projections.models import EmbeddingModel, Models, Vector
from services.recall.blend import lines_of
from services.recall.cache import RecallCache
from services.recall.found import Meant
from services.recall.rewriting import Rewriter
from services.wire.traces import Rewriting

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

    async def of(self, scope: Scope, aspects: Sequence[str], model: str) -> Meant:
        """Embed one person's query, and the note that would answer it, into one vector; its questions apart.

        Args:
            scope: whose query.
            aspects: the query as a whole, then its questions (`aspects.py`).
            model: what makes the vectors.
        """
        query = aspects[0]
        key = self._cache.key(scope.tenant_id, scope.subject_id, query, model, self._last_line)
        if (kept := self._cache.vectors.find(key)) is not None:
            return kept
        with_model = self._models.of(model)
        whole, *questions = [await self._embed(aspect, with_model) for aspect in aspects]
        meant = Meant((whole, *questions))
        if self._rewriter is not None:
            note = await self._rewriter.rewrite(scope.tenant_id, query)
            whole, rewriting = await self._with_note(whole, note, with_model)
            meant = Meant((whole, *questions), rewriting)
        if meant.rewriting != "failed":
            self._cache.vectors.keep(key, scope, meant)
        return meant

    @staticmethod
    async def _with_note(vector: Vector, note: str | None, model: EmbeddingModel) -> tuple[Vector, Rewriting]:
        """Take the middle between a query and a note, as HyDE does."""
        if note is None:
            return vector, "failed"
        try:
            (answering,) = await model.embed_passages([note])
        except BadInputError:  # nothing in it that can be read
            return vector, "failed"
        return _unit(vector + answering), "used"

    async def _embed(self, query: str, model: EmbeddingModel) -> Vector:
        """Embed a query; the last of several lines counts again in the same vector."""
        whole = await model.embed_query(query)
        lines = lines_of(query)
        if len(lines) < _SEVERAL or not self._last_line:
            return whole
        return _unit(whole + self._last_line * await model.embed_query(lines[-1]))


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)
