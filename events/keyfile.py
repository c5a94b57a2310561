"""Files that are written whole or not at all, once, readable by their owner only; secrets in them, and their end."""

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from events import failpoint
from events.errors import SecretError

SECRET_BYTES = 32
_OTHERS = 0o077


def key_file(path: Path) -> bytes:
    """Read a secret, making it on first use; of two processes the first one wins.

    Raises:
        SecretError: it cannot be written, or as `read_secret`.
    """
    try:
        if not path.exists():
            write_once(path, os.urandom(SECRET_BYTES))
    except OSError as error:
        raise SecretError(f"{path} cannot be written ({error.strerror}); see to the folder and try again") from None
    return read_secret(path)


def read_secret(path: Path) -> bytes:
    """Read a secret of 32 bytes.

    Raises:
        FileNotFoundError: there is none.
        SecretError: it cannot be read, is open to other users, or is not 32 bytes.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            mode = os.fstat(handle).st_mode
            content = os.read(handle, SECRET_BYTES + 1)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SecretError(f"{path} cannot be read ({error.strerror}); give it to the user cenotaph runs as") from None
    if mode & _OTHERS:
        raise SecretError(f"{path} is open to other users (mode {mode & 0o777:04o}); run chmod 600 on it")
    if len(content) != SECRET_BYTES:
        raise SecretError(f"{path} does not hold {SECRET_BYTES} bytes; restore it")
    return content


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


def destroy(path: Path) -> None:
    """Overwrite a file with zeros, unlink it, and make both durable; one that is gone already stays gone.

    What the medium keeps of the overwritten block is beyond this: flash and copy-on-write file systems may write the
    zeros elsewhere.

    Raises:
        SecretError: the folder is not there, or the file cannot be destroyed.
    """
    try:
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
                os.fsync(handle)
            finally:
                os.close(handle)
            failpoint.hit("keyfile.overwritten")
            path.unlink()
            failpoint.hit("keyfile.unlinked")
        for left in path.parent.glob(f".{path.name}.*"):  # of a writer that was killed
            left.unlink(missing_ok=True)
        _sync(path.parent)
    except OSError as error:
        raise SecretError(f"{path} cannot be destroyed ({error.strerror}); see to the folder and try again") from None


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
