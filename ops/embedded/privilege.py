"""As whom PostgreSQL runs: it refuses root, and needs a user that has a name."""

import os
import pwd
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ops.embedded.errors import EmbeddedError

ACCOUNTS = ("cenotaph", "postgres", "nobody")
OVERFLOW_ID = 65534  # what the kernel shows for ids that are not mapped


@dataclass(frozen=True)
class Identity:
    """A user for a child process.

    `namespace` maps our own user to `uid` inside a user namespace: files stay ours and no account is needed. `account`
    changes to another user for good.
    """

    kind: Literal["self", "namespace", "account"]
    uid: int
    gid: int

    @property
    def owner(self) -> int:
        """Return the user that the child's files belong to, as we see it."""
        return self.uid if self.kind == "account" else os.geteuid()

    def own(self, folder: Path) -> None:
        """Give the folder to the account; the other kinds own what we own."""
        if self.kind == "account":
            os.chown(folder, self.uid, self.gid)

    def open_way(self, *folders: Path) -> None:
        """Let the account pass through these folders of ours, without letting it read them."""
        if self.kind == "account":
            for folder in folders:
                folder.chmod(0o711)

    def as_dict(self) -> dict[str, Any]:
        """Return what the launcher reads."""
        return asdict(self)


SELF = Identity("self", -1, -1)


def choose(works: Callable[[Identity], bool]) -> Identity:
    """Choose the first identity under which the server's program starts.

    Args:
        works: Tries an identity for real, because a container's rules cannot be read from inside it.

    Raises:
        EmbeddedError: None works; says what the operator can do.
    """
    candidates = _candidates(os.geteuid())
    for identity in candidates:
        if works(identity):
            return identity
    raise EmbeddedError(
        f"PostgreSQL does not run as user id {os.geteuid()} here: user namespaces are blocked and none of the accounts "
        f"{', '.join(ACCOUNTS)} can start it. Run cenotaph as an ordinary user, install it where every account can "
        "read it, or set DATABASE_URL and VAULT_URL to servers of your own"
    )


def _candidates(euid: int) -> list[Identity]:
    named = _user(euid) is not None
    if euid != 0 and named:
        return [SELF]
    found: list[Identity] = []
    if sys.platform == "linux":
        # initdb looks its user up by id, so the inner id has to be one that exists
        inner = next((user for user in pwd.getpwall() if user.pw_uid not in {0, OVERFLOW_ID}), None)
        if inner is not None:
            found.append(Identity("namespace", inner.pw_uid, inner.pw_gid))
    if euid == 0:
        users = (_user(name) for name in ACCOUNTS)
        found += [Identity("account", user.pw_uid, user.pw_gid) for user in users if user is not None]
    return found


def _user(key: str | int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(key) if isinstance(key, str) else pwd.getpwuid(key)
    except KeyError:
        return None
