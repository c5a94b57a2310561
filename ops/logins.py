"""Which logins each part of the system holds, and their passwords: one file a role, made by `cenotaph migrate`.

A part logs in as its roles and as nothing else, so that no SQL it runs can make it another. Where the server asks for
no password (the embedded ones, `peer`, certificates) there need be no files.
"""

import hmac
import secrets
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import pbkdf2_hmac, sha256
from pathlib import Path
from types import MappingProxyType

from events.keyfile import write_once

_ROUNDS = 4096
_SALT_BYTES = 16


@dataclass(frozen=True)
class Logins:
    """Roles in the cluster of the log and in that of the vault, prefixes left out."""

    log: tuple[str, ...] = ()
    vault: tuple[str, ...] = ()


PARTS: Mapping[str, Logins] = MappingProxyType(
    {
        "api": Logins(("reader", "appender"), ("keeper",)),
        "seal": Logins(("sealer",)),
        "project": Logins(("projector",), ("opener",)),
        "ingest": Logins(("reader", "appender"), ("keeper",)),
        "remember": Logins(("reader", "appender", "projector"), ("keeper",)),
        "roll": Logins(vault=("roller",)),
        "erase": Logins(("reader", "appender", "eraser", "prober"), ("keeper", "opener", "eraser")),
        "upkeep": Logins(("eraser", "reader", "appender"), ("eraser", "keeper")),
    }
)


def logins_of(parts: Iterable[str]) -> Logins:
    """Return what a process that runs these parts logs in as; an unknown part holds nothing."""
    held = [PARTS[part] for part in parts if part in PARTS]
    return Logins(
        tuple(dict.fromkeys(role for each in held for role in each.log)),
        tuple(dict.fromkeys(role for each in held for role in each.vault)),
    )


def roles_of(cluster: str) -> tuple[str, ...]:
    """Return every role of a cluster, `log` or `vault`, by its name in Postgres."""
    every = logins_of(PARTS)
    return tuple(role_name(cluster, role) for role in (every.log if cluster == "log" else every.vault))


def role_name(cluster: str, role: str) -> str:
    """Return the name of a role in Postgres."""
    return f"{'cenotaph' if cluster == 'log' else 'vault'}_{role}"


def password_of(folder: Path | None, role: str) -> str | None:
    """Read the password of a role; None where there is no file, for servers that ask for none."""
    if folder is None or not (path := folder / role).exists():
        return None
    return path.read_text(encoding="ascii").strip()


def make_password(folder: Path, role: str) -> str:
    """Return the password of a role, making it the first time."""
    if not (folder / role).exists():
        write_once(folder / role, f"{secrets.token_urlsafe(32)}\n".encode("ascii"))
    return (folder / role).read_text(encoding="ascii").strip()


def verifier(password: str) -> str:
    """Compute what Postgres stores of a password, so that the password itself is in no statement and no server log.

    SCRAM-SHA-256 (RFC 5802, RFC 7677) as PostgreSQL writes it; passwords are plain ASCII, so nothing needs preparing.
    """
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = pbkdf2_hmac("sha256", password.encode("ascii"), salt, _ROUNDS)
    stored = sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    written = [b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${_ROUNDS}:{written[0]}${written[1]}:{written[2]}"
