"""One small tree of errors. Messages name ids and what to do, never what a person said."""

from uuid import UUID


class CenotaphError(Exception):
    """Anything cenotaph refuses or cannot do."""


class ConcurrencyError(CenotaphError):
    """Another writer moved the stream; reload and decide again."""

    def __init__(self, stream: str, expected: int) -> None:
        super().__init__(f"stream {stream} is no longer at version {expected}; reload and decide again")


class TamperError(CenotaphError):
    """Stored bytes contradict what was sealed."""


class UnknownEventError(CenotaphError):
    """An event type or version this build does not know."""

    def __init__(self, event_type: str, schema_version: int, position: int | None = None) -> None:
        where = "" if position is None else f"position {position}: "
        super().__init__(
            f"{where}unknown event {event_type} v{schema_version}, written by a newer cenotaph;"
            " upgrade this one, then rebuild"
        )


class ScopeError(CenotaphError):
    """Tenant or subject is missing or foreign (R30)."""


class ErasedError(CenotaphError):
    """The person, or the whole tenant, was forgotten: nothing is there, and nothing is taken."""

    def __init__(self, subject: UUID) -> None:
        super().__init__(f"subject {subject} was forgotten as a whole; nothing of it is kept, and nothing is taken")


class BadInputError(CenotaphError):
    """The caller sent something that cannot be used; nothing was stored."""


class TurnConflictError(CenotaphError):
    """A turn id came again with another body."""


class PreviewChangedError(CenotaphError):
    """What a description means has changed since it was shown; nothing was forgotten."""


class UnavailableError(CenotaphError):
    """A store does not answer; nothing was acknowledged."""


class BehindError(UnavailableError):
    """The read models have not followed the log to a position yet."""

    def __init__(self, position: int) -> None:
        """Name the position that was asked for."""
        super().__init__(f"the read models have not reached position {position} yet")
        self.position = position


class LoginError(UnavailableError):
    """A database does not let this process in under a role."""

    def __init__(self, role: str | None) -> None:
        super().__init__(
            f"the database refuses the login {role or 'of the owner'}: run `cenotaph migrate` as the owner first, and"
            " give this process the password of that role (CENOTAPH_LOGINS); where a `cenotaph restore` has not ended,"
            " run it again"
        )


class SecretError(UnavailableError):
    """A secret cannot be read, kept or destroyed where it lies. Nothing was changed."""


class EpochGoneError(SecretError):
    """The provider does not hold the secret of an epoch."""


class StaleVersionError(CenotaphError):
    """Somebody else changed a task meanwhile, or the caller has not seen its newest version."""

    def __init__(self, version: int) -> None:
        """Name the version that stands."""
        super().__init__(f"the task is at version {version}; read it again and decide anew")
        self.version = version


class TaskRefusedError(CenotaphError):
    """The state of a task does not allow a change; nothing was changed. The message names no content."""
