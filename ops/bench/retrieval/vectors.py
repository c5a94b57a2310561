"""An embedder that keeps the vector of each text in a file, by hash: measuring again costs no embedding."""

import sqlite3
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from projections.embedding import Embedder


class KeptVectors(Embedder):
    """The product's embedder with a file beside it.

    Args:
        file: a database of vectors by hash of model, side and text; made where there is none.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = sqlite3.connect(file, check_same_thread=False)
        self._file.execute("create table if not exists vector (hash blob primary key, raw blob not null)")

    def close(self) -> None:
        """End the thread, keep what was embedded."""
        super().close()
        self._file.commit()
        self._file.close()

    def _encode(self, text: str, *, query: bool) -> NDArray[np.float32]:
        key = key_of(self.model_id, text, query=query)
        with self._lock:
            row = self._file.execute("select raw from vector where hash = ?", (key,)).fetchone()
        if row is not None:
            return np.frombuffer(row[0], dtype="<f4")
        raw = super()._encode(text, query=query)
        with self._lock, self._file:
            self._file.execute("insert or ignore into vector values (?, ?)", (key, raw.astype("<f4").tobytes()))
        return raw


def key_of(model: str, text: str, *, query: bool) -> bytes:
    """Return the hash a vector is kept under."""
    return sha256("\0".join((model, "query" if query else "passage", text)).encode()).digest()
