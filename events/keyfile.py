"""Files that are written whole or not at all, once, and readable by their owner only."""

import os
from pathlib import Path
from uuid import uuid4


def key_file(path: Path) -> bytes:
    """Read a secret of 32 bytes, making it on first use; of two processes the first one wins."""
    if not path.exists():
        write_once(path, os.urandom(32))
    return path.read_bytes()


def write_once(path: Path, content: bytes) -> bool:
    """Write a file of mode 0600 in a folder of mode 0700, durable when this returns; False if one exists already."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4()}")  # two may write the same at once
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - a handle
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
        _sync(path.parent)
    return True


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
