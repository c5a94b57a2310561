"""What a query means: one vector, whatever it is made of."""

from typing import Final

import numpy as np

from events.model import Scope
from projections.models import EmbeddingModel, Models, Vector
from services.recall.cache import RecallCache

_SEVERAL: Final = 2


class Meaning:
    """Turns queries into vectors.

    Args:
        models: the model of the index is one of them.
        cache: keeps the vectors.
        last_line: how much the last of several lines counts beside the whole.
    """

    def __init__(self, models: Models, cache: RecallCache, last_line: float) -> None:
        self._models = models
        self._cache = cache
        self._last_line = last_line

    async def vector(self, scope: Scope, query: str, model: str) -> Vector:
        """Embed one person's query; the last of several lines counts again in the same vector: still one search."""
        key = self._cache.key(scope.tenant_id, scope.subject_id, query, model, self._last_line)
        vector = self._cache.vectors.find(key)
        if vector is None:
            vector = await self._embed(query, self._models.of(model))
            self._cache.vectors.keep(key, scope, vector)
        return vector

    async def _embed(self, query: str, model: EmbeddingModel) -> Vector:
        whole = await model.embed_query(query)
        lines = [line for line in query.splitlines() if line.strip()]
        if len(lines) < _SEVERAL or not self._last_line:
            return whole
        meant = whole + self._last_line * await model.embed_query(lines[-1])
        return np.asarray(meant / np.linalg.norm(meant), dtype=np.float32)
