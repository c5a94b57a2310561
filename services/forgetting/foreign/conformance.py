"""Whether an endpoint keeps the contract, by asking it: a user runs this against their own (R47)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from events.model import Scope, SubjectId, TenantId
from services.forgetting.foreign.asked import Asked
from services.forgetting.foreign.endpoint import Endpoint, ForeignError, request

_REFUSED = frozenset({401, 403})
_CLIENT_ERRORS = range(400, 500)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that was tried: what must be so, and what is wrong, if anything."""

    what: str
    wrong: str | None


async def conformance(endpoint: Endpoint, held: UUID | None, scope: Scope | None = None) -> AsyncIterator[Outcome]:
    """Try an endpoint step by step.

    Args:
        endpoint: where it is.
        held: a memory id that it holds now and may erase, for the steps that need one; they are left out without it.
        scope: whose that is.
    """
    nobody = scope or Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
    unknown = uuid4()
    steps: list[tuple[str, Callable[[], Awaitable[str | None]]]] = [
        ("it does not hold what it never saw", lambda: _holds(endpoint, nobody, unknown, wanted=False)),
        ("erasing what it never saw is no error, and none is erased", lambda: _erases(endpoint, nobody, unknown, 0)),
        ("a request without a signature is refused (401 or 403)", lambda: _unsigned(endpoint, nobody)),
        ("a request whose body was changed is refused (401 or 403)", lambda: _changed(endpoint, nobody)),
        ("it holds nothing of a person it never saw", lambda: _all_gone(endpoint, nobody)),
        ("a body that is no JSON is refused (4xx)", lambda: _rubbish(endpoint)),
    ]
    if held is not None:
        steps += [
            ("it holds the memory you named", lambda: _holds(endpoint, nobody, held, wanted=True)),
            ("it erases it", lambda: _erases(endpoint, nobody, held, None)),
            ("then it does not hold it", lambda: _holds(endpoint, nobody, held, wanted=False)),
            ("erasing it again is no error, and none is erased", lambda: _erases(endpoint, nobody, held, 0)),
        ]
    for what, step in steps:
        try:
            wrong = await step()
        except ForeignError as error:
            wrong = str(error)
        yield Outcome(what, wrong)


async def _holds(endpoint: Endpoint, scope: Scope, memory: UUID, *, wanted: bool) -> str | None:
    holds = memory in await endpoint.held(_one(scope, memory))
    return None if holds is wanted else f"it says that it {'holds it' if holds else 'does not'}"


async def _erases(endpoint: Endpoint, scope: Scope, memory: UUID, wanted: int | None) -> str | None:
    erased = await endpoint.erase(_one(scope, memory))
    if wanted is None:
        return None if erased else "it says that it erased nothing"
    return None if erased == wanted else f"it says that it erased {erased}"


async def _all_gone(endpoint: Endpoint, scope: Scope) -> str | None:
    person = Asked(scope.tenant_id, uuid4())
    await endpoint.erase(person)
    held = await endpoint.held(person)
    return f"it says that it holds {len(held)} of them" if held else None


async def _unsigned(endpoint: Endpoint, scope: Scope) -> str | None:
    body = request(_one(scope, uuid4()))
    return _refused((await endpoint.send("probe", body, {"Content-Type": "application/json"})).status_code)


async def _changed(endpoint: Endpoint, scope: Scope) -> str | None:
    signed, sent = request(_one(scope, uuid4())), request(_one(scope, uuid4()))
    return _refused((await endpoint.send("erase", sent, endpoint.headers("erase", signed))).status_code)


async def _rubbish(endpoint: Endpoint) -> str | None:
    body = b"{no json"
    status = (await endpoint.send("probe", body, endpoint.headers("probe", body))).status_code
    return None if status in _CLIENT_ERRORS else f"it answers {status}"


def _one(scope: Scope, memory: UUID) -> Asked:
    return Asked(scope.tenant_id, scope.subject_id, (memory,))


def _refused(status: int) -> str | None:
    return None if status in _REFUSED else f"it answers {status}"
