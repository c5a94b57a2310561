"""Tokens that renew themselves: a tenant key mints one on first use and again before it ends."""

from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta

import httpx

from cenotaph import calls
from cenotaph.answers import Token

_EARLY = timedelta(seconds=15)
_UNAUTHORIZED = 401


class BearerAuth(httpx.Auth):
    """A token somebody else minted."""

    def __init__(self, token: str) -> None:
        self._header = f"Bearer {token}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the token."""
        request.headers["Authorization"] = self._header
        yield request


class SubjectAuth(httpx.Auth):
    """Mints and renews tokens for one person. One flow serves both kinds of client, because httpx drives it.

    Two threads that find the token ended may mint one each; both are good.
    """

    requires_response_body = True

    def __init__(self, build: Callable[..., httpx.Request], tenant_key: str, call: calls.Call[Token]) -> None:
        self._build = build
        self._key = tenant_key
        self._call = call
        self._token: Token | None = None

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add a living token; where it is refused (the signing key was changed), mint one more and try once again.

        Raises:
            CenotaphError: No token could be minted.
        """
        if self._token is None or self._token.expires_at - _EARLY <= datetime.now(UTC):
            self._token = yield from self._mint()
        request.headers["Authorization"] = f"Bearer {self._token.token}"
        response = yield request
        if response.status_code == _UNAUTHORIZED:
            self._token = yield from self._mint()
            request.headers["Authorization"] = f"Bearer {self._token.token}"
            yield request

    def _mint(self) -> Generator[httpx.Request, httpx.Response, Token]:
        request = self._call.request(self._build, Authorization=f"Bearer {self._key}")
        return self._call.read((yield request))
