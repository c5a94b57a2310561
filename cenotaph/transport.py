"""Sending calls, patiently: the same rules for blocking and for asyncio."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from typing import TypeVar

import httpx

from cenotaph import answers
from cenotaph.answers import Token
from cenotaph.auth import SubjectAuth
from cenotaph.calls import Call, problem_of
from cenotaph.errors import CenotaphError
from cenotaph.lines import Lines

A = TypeVar("A", bound=answers.Answer)

_UNAVAILABLE = 503


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how patiently: full jitter under a doubling ceiling, never less than the door asked for."""

    attempts: int = 4
    base_s: float = 0.1
    most_s: float = 5.0

    def pause(self, attempt: int, error: CenotaphError) -> float | None:
        """Return the seconds to wait after this attempt (0, 1 and so on), or None to give up.

        A timeout is not tried again: the door is at work, and more of the same would only slow it.
        """
        retryable = error.status == _UNAVAILABLE or error.kind == "unreachable"
        if not retryable or attempt + 1 >= self.attempts:
            return None
        ceiling = min(self.most_s, self.base_s * 2**attempt)
        jitter = random.uniform(0, ceiling)  # noqa: S311  # spreads load, protects nothing
        return max(jitter, min(error.retry_after or 0.0, self.most_s))


PATIENT = Retry()


def _of_transport(error: httpx.TransportError) -> CenotaphError:
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return CenotaphError("timeout", "the door did not answer in time; sending it again later is safe")
    return CenotaphError("unreachable", "no answer from the door; is it running, and is the address right?")


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends calls over a blocking client."""

    http: httpx.Client
    auth: httpx.Auth | None
    retry: Retry

    def minting(self, tenant_key: str, call: Call[Token]) -> "Sender":
        """Return a sender over the same connections with tokens of its own, minted by a call."""
        return replace(self, auth=SubjectAuth(self.http.build_request, tenant_key, call))

    def send(self, call: Call[A]) -> A:
        """Send until there is an answer, a refusal or no more patience."""
        attempt = 0
        while True:
            try:
                return call.read(self._once(call))
            except CenotaphError as error:
                pause = self.retry.pause(attempt, error)
                if pause is None:
                    raise
            time.sleep(pause)
            attempt += 1

    def stream(self, call: Call[A]) -> Iterator[bytes]:
        """Send once and yield the lines of the answer as they come."""
        lines = Lines()
        try:
            answer = self.http.send(call.request(self.http.build_request), auth=self.auth, stream=True)
            with closing(answer):
                if not answer.is_success:
                    answer.read()
                    raise problem_of(answer)
                for piece in answer.iter_bytes():
                    yield from lines.cut(piece)
        except httpx.TransportError as error:
            raise _of_transport(error) from error
        lines.end()

    def _once(self, call: Call[A]) -> httpx.Response:
        try:
            return self.http.send(call.request(self.http.build_request), auth=self.auth)
        except httpx.TransportError as error:
            raise _of_transport(error) from error


@dataclass(frozen=True, slots=True)
class AsyncSender:
    """Sends calls over an asyncio client."""

    http: httpx.AsyncClient
    auth: httpx.Auth | None
    retry: Retry

    def minting(self, tenant_key: str, call: Call[Token]) -> "AsyncSender":
        """Return a sender over the same connections with tokens of its own, minted by a call."""
        return replace(self, auth=SubjectAuth(self.http.build_request, tenant_key, call))

    async def send(self, call: Call[A]) -> A:
        """Send until there is an answer, a refusal or no more patience."""
        attempt = 0
        while True:
            try:
                return call.read(await self._once(call))
            except CenotaphError as error:
                pause = self.retry.pause(attempt, error)
                if pause is None:
                    raise
            await asyncio.sleep(pause)
            attempt += 1

    async def stream(self, call: Call[A]) -> AsyncIterator[bytes]:
        """Send once and yield the lines of the answer as they come."""
        lines = Lines()
        try:
            answer = await self.http.send(call.request(self.http.build_request), auth=self.auth, stream=True)
            async with aclosing(answer):
                if not answer.is_success:
                    await answer.aread()
                    raise problem_of(answer)
                async for piece in answer.aiter_bytes():
                    for line in lines.cut(piece):
                        yield line
        except httpx.TransportError as error:
            raise _of_transport(error) from error
        lines.end()

    async def _once(self, call: Call[A]) -> httpx.Response:
        try:
            return await self.http.send(call.request(self.http.build_request), auth=self.auth)
        except httpx.TransportError as error:
            raise _of_transport(error) from error
