"""Secrets in files: written whole or not at all, readable by their owner only."""

import os
from contextlib import suppress
from pathlib import Path


def key_file(path: Path) -> bytes:
    """Read a secret of 32 bytes, making it on first use; of two processes the first one wins."""
    if not path.exists():
        write_once(path, os.urandom(32))
    return path.read_bytes()


def write_once(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 in a folder of mode 0700, durable when this returns; an existing one stays as it is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)
    with suppress(FileExistsError):
        os.link(temporary, path)
    temporary.unlink()
