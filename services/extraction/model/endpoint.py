"""One request to an OpenAI-compatible endpoint: bounded in size, followed nowhere, its key sent to no other host."""

import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from services.extraction.model.answer import schema
from services.extraction.model.failure import Fallback, ModelError

_TOOL: Final = "remember"
_PATH: Final = "/chat/completions"
_CONNECT_S: Final = 5.0
_UNAUTHORISED: Final = frozenset({401, 403})
_BUSY: Final = 429
_DIALECT_ERRORS: Final = frozenset({400, 404, 415, 422, 501})
_REDIRECTS: Final = range(300, 400)
_SERVER_ERRORS: Final = range(500, 600)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What an endpoint understands beyond the messages; learned from what it says it does not know."""

    structured: bool = True
    limit: str = "max_tokens"
    temperature: bool = True

    def without(self, complaint: bytes) -> "Dialect | None":
        """Return how to say it without what an endpoint complains about; None where it is something else."""
        if self.structured and (b"response_format" in complaint or b"json_schema" in complaint):
            return replace(self, structured=False)
        if self.limit == "max_tokens" and b"max_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        if self.temperature and b"temperature" in complaint:
            return replace(self, temperature=False)
        return None


@dataclass(frozen=True, slots=True)
class Said:
    """What a model answered, not yet checked, and how many tokens the endpoint counted, if it says so."""

    text: str
    tokens: int | None


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Function(_Part):
    name: str
    arguments: str


class _Call(_Part):
    function: _Function


class _Message(_Part):
    content: str | None = None
    tool_calls: tuple[_Call, ...] | None = None


class _Choice(_Part):
    message: _Message


class _Usage(_Part):
    total_tokens: int = Field(ge=0)


class _Completion(_Part):
    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: _Usage | None = None


class Endpoint:
    """Speaks to one endpoint.

    Args:
        url: its base, to which `/chat/completions` is added.
        name: the model.
        key: sent as a bearer token; None where the endpoint wants none.
        try_s: how long one request may take to connect, and then to say anything.
        max_bytes: how large an answer may be.
        max_tokens: how many tokens the model may write.
        form: the JSON schema of what it is to write; that of proposals where it is left out.
    """

    def __init__(
        self,
        url: str,
        name: str,
        key: SecretStr | None,
        *,
        try_s: float,
        max_bytes: int,
        max_tokens: int,
        form: Mapping[str, Any] | None = None,
    ) -> None:
        self._url = url.rstrip("/") + _PATH
        self._name = name
        self._key = key
        self._max_bytes = max_bytes
        self._max_tokens = max_tokens
        self._form = schema() if form is None else form
        self._dialect = Dialect()
        # of the environment only the operator's certificates are used (SSL_CERT_FILE): a proxy would see what is sent
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(try_s, connect=min(_CONNECT_S, try_s)),
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context(),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def ask(self, messages: Sequence[dict[str, str]]) -> Said:
        """Send one request; where the endpoint does not know a parameter, say it another way from then on.

        Raises:
            ModelError: the endpoint does not answer as it should.
        """
        dialect: Dialect | None = self._dialect
        while dialect is not None:
            status, headers, body = await self._post(self._request(messages, dialect))
            if status == httpx.codes.OK:
                self._dialect = dialect  # kept only now: an error may name a parameter for another reason
                return _said(body)
            dialect = dialect.without(body) if status in _DIALECT_ERRORS else None
        raise _error(status, headers)

    def _request(self, messages: Sequence[dict[str, str]], dialect: Dialect) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self._name, "messages": list(messages), dialect.limit: self._max_tokens}
        if dialect.temperature:
            request["temperature"] = 0
        if dialect.structured:
            named = {"name": _TOOL, "strict": True, "schema": self._form}
            return {**request, "response_format": {"type": "json_schema", "json_schema": named}}
        tool = {"type": "function", "function": {"name": _TOOL, "parameters": self._form}}
        return {**request, "tools": [tool], "tool_choice": {"type": "function", "function": {"name": _TOOL}}}

    async def _post(self, request: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        # uncompressed, so that a few bytes cannot become many
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        content = json.dumps(request, ensure_ascii=False).encode()
        try:
            async with self._client.stream("POST", self._url, content=content, headers=headers) as response:
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise ModelError(Fallback.BAD_ANSWER)
                body = bytearray()
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > self._max_bytes:
                        raise ModelError(Fallback.TOO_LARGE)
                return response.status_code, response.headers, bytes(body)
        except httpx.ConnectTimeout:
            raise ModelError(Fallback.NOT_REACHED) from None
        except httpx.TimeoutException:
            raise ModelError(Fallback.TOO_SLOW) from None
        except (httpx.ConnectError, httpx.UnsupportedProtocol):
            raise ModelError(Fallback.NOT_REACHED) from None
        except httpx.HTTPError:
            raise ModelError(Fallback.CUT_OFF) from None


def _said(body: bytes) -> Said:
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        raise ModelError(Fallback.BAD_ANSWER) from None
    message = completion.choices[0].message
    texts = [call.function.arguments for call in message.tool_calls or () if call.function.name == _TOOL]
    text = texts[0] if texts else message.content
    if not text:
        raise ModelError(Fallback.BAD_ANSWER)
    return Said(text, completion.usage.total_tokens if completion.usage else None)


def _error(status: int, headers: httpx.Headers) -> ModelError:
    if status in _UNAUTHORISED:
        return ModelError(Fallback.REFUSED)
    if status == _BUSY:
        return ModelError(Fallback.RATE_LIMITED, _wait_s(headers))
    if status in _REDIRECTS:
        return ModelError(Fallback.REDIRECTED)
    if status in _SERVER_ERRORS:
        return ModelError(Fallback.SERVER_ERROR, _wait_s(headers))
    return ModelError(Fallback.NOT_UNDERSTOOD)


def _wait_s(headers: httpx.Headers) -> float | None:
    """Read Retry-After (RFC 9110, 10.2.3): seconds or a date."""
    value = headers.get("retry-after", "")
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
