"""Compiling a context for one person, searching, and recording what was read (R35, R36)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid4

from events.bodies import Lost, Shredded, open_bodies
from events.keyring import Keyring
from events.log import fenced, read_events
from events.model import MessageBody, Origin, Scope, SessionId
from events.postgres import Connection, Database
from events.vault import Vault
from projections.sessions import message_part, messages_of, recent_turns
from services.access.permission import silence_of
from services.access.rights import TokenRole
from services.context.compiler import compile_context
from services.context.roles import Part
from services.context.values import Compiled, Item, Said
from services.recall.bm25 import Key
from services.recall.catalogue import views_of
from services.recall.lease import Freshness
from services.recall.ranking import PRESETS
from services.recall.recall import Recall, Recalled, Recollection
from services.recall.roles import Roles
from services.wire.recall import (
    Cited,
    ContextAnswer,
    ContextRequest,
    Found,
    LeftOut,
    RecallRole,
    SearchAnswer,
    SearchRequest,
    Section,
)

_TURNS = 6  # how many recent turns are offered to the compiler
_DIALOGUE = frozenset({Origin.USER, Origin.ASSISTANT})


class Contexts:
    """Compiles contexts.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
        recall: finds the memories.
        roles: what each role may see.
    """

    def __init__(self, reader: Database, vault: Vault, recall: Recall, roles: Roles) -> None:
        self._reader = reader
        self._vault = vault
        self._recall = recall
        self._roles = roles

    async def compile(self, scope: Scope, request: ContextRequest, now: datetime | None = None) -> ContextAnswer:
        """Fill the token budget with what this role may see, and record the read.

        Args:
            scope: whose memories; from the credential.
            request: what is asked, by whom, within which budget.
            now: the moment at which freshness is judged; the present where it is left out.
        """
        policy = self._roles[request.role]
        recollection = Recollection((), ())
        if policy.kinds:
            recollection = await self._recall.recall(
                scope, request.query, policy.kinds, now=now, preset=PRESETS[request.preset]
            )
        recent: list[Said] = []
        if request.session_id is not None and Part.RECENT in policy.parts:
            recent = await self._recent(scope, request.session_id)
        compiled = compile_context(
            map(_item, recollection.recalled), policy=policy, budget=request.token_budget, recent=recent
        )
        return await self._answer(scope, request, recollection, compiled)

    async def search(self, scope: Scope, request: SearchRequest) -> SearchAnswer:
        """Return the memories that matter most to a query, as far as this role may see them."""
        policy = self._roles[request.role]
        recollection = Recollection((), ())
        if policy.kinds:
            recollection = await self._recall.recall(scope, request.query, policy.kinds, preset=PRESETS[request.preset])
        seen = [each for each in recollection.recalled if policy.sees(each.fact.kind, each.body.key)]
        best = seen[: request.limit]
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            bodies = {each.fact.event_id: each.body for each in best}
            views = await views_of(connection, keyring, [each.fact for each in best], bodies, TokenRole.AGENT)
            stones = await fenced(connection, scope, {view.memory_id for view in views})
            found = [
                Found(**dict(view), score=each.score)
                for view, each in zip(views, best, strict=True)
                if view.memory_id not in stones
            ]
            keys = [(each.memory_id, each.version or 0) for each in found]
            context_id = await _record(connection, scope, "search", request.role, keys)
        return SearchAnswer(context_id=context_id, memories=tuple(found), degraded=recollection.degraded)

    async def _answer(
        self, scope: Scope, request: ContextRequest, recollection: Recollection, compiled: Compiled
    ) -> ContextAnswer:
        keys = [(cited.memory_id, cited.version) for cited in compiled.cited]
        async with self._reader.transaction(scope) as connection:
            context_id = await _record(connection, scope, "context", request.role, keys)
        found = {(each.fact.memory_id, each.fact.version): each for each in recollection.recalled}
        memories = {key[0] for key in found}
        left_out = [
            LeftOut(memory_id=each.id if each.id in memories else None, reason=each.reason)
            for each in compiled.left_out
        ]
        left_out += [LeftOut(memory_id=key[0], reason=reason) for key, reason in recollection.excluded]
        return ContextAnswer(
            context_id=context_id,
            text=compiled.text,
            used_tokens=compiled.used_tokens,
            token_budget=request.token_budget,
            memories=tuple(
                Cited(
                    memory_id=cited.memory_id,
                    version=cited.version,
                    kind=found[cited.memory_id, cited.version].fact.kind,
                    score=found[cited.memory_id, cited.version].score,
                )
                for cited in compiled.cited
            ),
            left_out=tuple(left_out),
            sections=tuple(Section(name=section.name, lines=section.lines) for section in compiled.sections),
            degraded=recollection.degraded,
        )

    async def _recent(self, scope: Scope, session: str) -> list[Said]:
        keyring = await self._vault.keyring(scope)
        session_id = await keyring.find(("session", session))
        if session_id is None:
            return []
        async with self._reader.transaction(scope) as connection:
            return await _said(connection, keyring, SessionId(session_id))


async def _record(connection: Connection, scope: Scope, path: str, role: RecallRole, keys: Sequence[Key]) -> UUID:
    """Record who read which memory versions on which path; return the id of the record (R36)."""
    read_id = uuid4()
    await connection.execute(
        "insert into ops.read (read_id, tenant_id, subject_id, path, role, memories, versions)"
        " values ($1, $2, $3, $4, $5, $6, $7)",
        read_id,
        scope.tenant_id,
        scope.subject_id,
        path,
        role.value,
        [memory_id for memory_id, _ in keys],
        [version for _, version in keys],
    )
    return read_id


async def _said(connection: Connection, keyring: Keyring, session: SessionId) -> list[Said]:
    """Open what was said in the last turns of a session, oldest first, but what was forgotten, refused or blinded."""
    turns = {turn.turn_id for turn in await recent_turns(connection, keyring.scope, session, _TURNS)}
    silence = await silence_of(connection, keyring, turns)
    rows = [
        row
        for row in await messages_of(connection, keyring.scope, turns)
        if row.origin in _DIALOGUE
        and not row.forgotten
        and silence.why(row.turn_id, row.message_id, row.origin) is None
    ]
    events = await read_events(connection, {row.event_id for row in rows})
    opened = await open_bodies(
        connection, keyring, ((events[row.event_id], message_part(row.message_id)) for row in rows)
    )
    said = []
    for row in rows:
        raw = opened[row.event_id, message_part(row.message_id)]
        if not isinstance(raw, Shredded | Lost):
            said.append(Said(row.message_id, row.role, MessageBody.model_validate_json(raw).content))
    return said


def _item(each: Recalled) -> Item:
    return Item(
        memory_id=each.fact.memory_id,
        version=each.fact.version,
        kind=each.fact.kind,
        content=each.body.content,
        score=each.score,
        key=each.body.key,
        stale=each.freshness is Freshness.STALE,
        recheck=each.freshness is Freshness.RECHECK,
        source_forgotten=each.fact.source_forgotten,
        in_conflict=each.fact.status == "in_conflict",
    )
