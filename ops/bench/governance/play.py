"""Playing one scenario: its turns through the real pipeline, its actions, then everything that is kept is read."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from events.errors import CenotaphError
from events.model import Scope, SubjectId
from ops.bench.governance.dump import hits_of
from ops.bench.governance.scenario import Action, Compiled, Remembered, Result, Scenario, TurnSaid
from ops.composition import Composition
from services.access.rights import TokenRole
from services.wire.limits import Limits
from services.wire.memories import MemoryStatus
from services.wire.recall import ContextRequest
from services.wire.turns import TurnIn

_ACTOR = "agent"
_CONSIDERED_S = 120.0
_POLL_S = 0.01
_PAGE = 100
_READ = (MemoryStatus.ACTIVE, MemoryStatus.HELD, MemoryStatus.SUPERSEDED, MemoryStatus.IN_CONFLICT)
_GATE_WORDS = {"assertion": "review", "worth": "conflict"}
"""How the labels name the gate that held a candidate, where they use another word than the gate's name."""


async def play(composition: Composition, scenario: Scenario, limits: Limits) -> Result:
    """Play one scenario for a fresh person of a fresh tenant.

    Args:
        composition: whose workers are running.
        scenario: what to play.
        limits: how far in the future a turn may lie; scenarios have a clock of their own.

    Raises:
        CenotaphError: a turn was not considered in time.
    """
    keeper = composition.vault("keeper")
    tenant = await keeper.create_tenant()
    scope = Scope(tenant_id=tenant, subject_id=SubjectId(UUID(str(await keeper.subject(tenant, "person")))))
    for turn in scenario.turns:
        await _say(composition, scope, turn, limits)
        for action in scenario.actions:
            if action.after == turn.id:
                await _act(composition, scope, action)
    now = scenario.turns[-1].at
    contexts = []
    for asked in scenario.expect.context:
        request = ContextRequest(query=asked.query, role=asked.role)
        answer = await composition.backend.contexts.compile(scope, request, now=now)
        contexts.append(Compiled(query=asked.query, role=asked.role.value, text=answer.text))
    hits = await hits_of(composition, scope, scenario.expect.never_stored) if scenario.expect.never_stored else ()
    memories = [memory for status in _READ for memory in await _memories(composition, scope, status)]
    return Result(id=scenario.id, memories=tuple(memories), contexts=tuple(contexts), raw_dump_hits=hits)


async def _say(composition: Composition, scope: Scope, turn: TurnSaid, limits: Limits) -> None:
    sent = {
        "turn_id": turn.id,
        "session_id": turn.session,
        "occurred_at": turn.at.isoformat(),
        "status": turn.status,
        "messages": [
            {"message_id": each.id, "role": each.role, "origin": each.origin, "content": each.content}
            for each in turn.messages
        ],
    }
    await composition.ingest.finalize(scope, TurnIn.model_validate(sent, context=limits), _ACTOR)
    deadline = asyncio.get_running_loop().time() + _CONSIDERED_S
    while True:
        outcome = await composition.backend.turn_outcome(scope, turn.id)
        if outcome is not None and outcome.state == "considered":
            return
        if asyncio.get_running_loop().time() > deadline:
            raise CenotaphError(f"turn {turn.id} was not considered within {_CONSIDERED_S:.0f} s")
        await asyncio.sleep(_POLL_S)


async def _act(composition: Composition, scope: Scope, action: Action) -> None:
    backend = composition.backend
    match action.do:
        case "consent":
            await backend.consent(scope, action.kind, given=True)
        case "suppress":
            await backend.suppress(scope, action.query)
        case "forget":
            preview = await backend.preview(scope, action.query)
            if preview.memories:
                await backend.forget_described(scope, action.query, preview.digest)


async def _memories(composition: Composition, scope: Scope, status: MemoryStatus) -> Sequence[Remembered]:
    found: list[Remembered] = []
    cursor = None
    while True:
        page = await composition.backend.memories(scope, status, _PAGE, cursor, reader=TokenRole.PERSON)
        found += (
            Remembered(
                kind=each.kind.value,
                content=each.content,
                value=each.value,
                status=each.status.value,
                reason=_GATE_WORDS.get(each.reason or "", each.reason),
            )
            for each in page.memories
        )
        cursor = page.next_cursor
        if cursor is None:
            return found
