"""Turns handed over on the Redis stream `turns`, in plain JSON from any language.

    XADD turns * token <short token> turn '{"schema": "cenotaph.turn/1", …}'

A hand-over, not an acknowledgement: what can be stored is stored and the entry deleted; what never can becomes a dead
letter.
"""

import orjson
import structlog

from events.errors import BadInputError, ScopeError, TurnConflictError
from events.model import Scope
from services.access.credentials import CredentialError
from services.access.rights import Right, may
from services.access.tokens import TokenVerifier
from services.forgetting.letters import DeadLetters, Parked
from services.forgetting.said import unescaped
from services.governance.secrets import redact
from services.remembering.ingest import Ingest
from services.wire.limits import Limits
from services.wire.reading import MalformedError, read
from services.wire.turns import TurnIn
from workers.delivery import Fields, Letter, Route
from workers.jobs import TURNS

log = structlog.get_logger(__name__)


class TurnStream:
    """Takes turns off the stream.

    Args:
        ingest: stores them.
        tokens: checks who hands over.
        letters: keeps what cannot be stored.
        limits: what is refused as too much.
    """

    def __init__(self, ingest: Ingest, tokens: TokenVerifier, letters: DeadLetters, limits: Limits) -> None:
        self._ingest = ingest
        self._tokens = tokens
        self._letters = letters
        self._limits = limits

    def route(self) -> Route:
        """Describe the stream: one entry after the other, for of two with one turn id the first counts."""
        return Route(TURNS, self.take, self.park, concurrency=1)

    async def take(self, fields: Fields, entry_id: str) -> None:
        """Store one turn, or park at once what no retry can help."""
        try:
            scope = self._owner(fields)
            if any(_is_broken(text) for field in fields.items() for text in field):
                raise MalformedError("the entry is not UTF-8")
            await self._store(scope, fields.get("turn", ""))
        except (CredentialError, BadInputError, TurnConflictError, ScopeError) as error:
            await self.park(Letter(TURNS, entry_id, fields, 1, type(error).__name__))
            log.warning("turn_refused", entry=entry_id, reason=type(error).__name__)

    async def _store(self, scope: Scope, text: str) -> None:
        raw = text.encode()
        if len(raw) > self._limits.max_body_bytes:
            raise BadInputError("the turn is too large")
        await self._ingest.finalize(scope, read(TurnIn, raw, self._limits), "stream")

    async def replay(self, letter: Parked, text: str | None) -> None:
        """Store a parked turn; its secrets were replaced when it was parked, as they would have been here.

        Raises:
            BadInputError: it cannot be stored, or nothing of it was kept.
            TurnConflictError: its id is known with another body.
        """
        if letter.scope is None or text is None:
            raise BadInputError(
                f"nothing of dead letter {letter.letter_id} was kept; whoever sent it must send it again"
            )
        await self._store(letter.scope, text)

    async def drop(self, letter: Parked) -> None:
        """Do nothing: the turn is in no log yet."""

    async def park(self, letter: Letter) -> None:
        """Keep an entry under its owner's key, secrets replaced; without a valid token only the reason is kept."""
        try:
            scope: Scope | None = self._owner(letter.fields)
        except CredentialError:
            scope = None
        readable = letter.fields.get("turn", "").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        text = without_secrets(readable[: self._limits.max_body_bytes])
        try:
            await self._keep(letter, scope, text)
        except ScopeError:  # a good token of a tenant that is gone: there is no key to seal it with
            await self._keep(letter, None, None)

    async def _keep(self, letter: Letter, scope: Scope | None, text: str | None) -> None:
        await self._letters.park(
            scope,
            stream=letter.stream,
            entry_id=letter.entry_id,
            reason=letter.reason,
            deliveries=letter.deliveries,
            text=text,
        )

    def _owner(self, fields: Fields) -> Scope:
        token = fields.get("token", "")
        if _is_broken(token):
            raise CredentialError("the token is not UTF-8")
        credential = self._tokens.verify(token)
        if not may(credential.role, Right.WRITE_TURNS):
            raise CredentialError("this token may not write turns")
        return credential.scope


def _is_broken(text: str) -> bool:
    """Say whether a field held bytes that are not UTF-8, which the delivery hands on as lone surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def without_secrets(text: str) -> str:
    """Replace secrets in what may be JSON: within each string of it, where no escape hides them, and in the whole."""
    try:
        text = orjson.dumps(_replaced(orjson.loads(text))).decode()
    except (ValueError, TypeError, RecursionError):
        text = unescaped(text)
    return redact(text).text


def _replaced(value: object) -> object:
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, list):
        return [_replaced(each) for each in value]
    if isinstance(value, dict):
        return {redact(name).text: _replaced(each) for name, each in value.items()}
    return value
