"""Compiling a context for one person, searching, and recording what was read (R35, R36)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from events.model import Scope
from events.postgres import Database
from events.vault import Vault
from services.access.rights import TokenRole
from services.context.compiler import compile_context, takes
from services.context.roles import RolePolicy
from services.context.values import Compiled, Item
from services.governance.lease import Freshness
from services.governance.policy import Policy
from services.recall.catalogue import views_of
from services.recall.opening import Recalled, Wanted
from services.recall.ranking import PRESETS
from services.recall.reads import Given, record
from services.recall.recall import Recall, Recollection
from services.recall.roles import role_policies
from services.recall.trace import Asking, trace_context, trace_search
from services.recall.working import AtHand, at_hand
from services.wire.recall import (
    Cited,
    ContextAnswer,
    ContextRequest,
    Found,
    LeftOut,
    SearchAnswer,
    SearchRequest,
    Section,
)


class Contexts:
    """Compiles contexts.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
        recall: finds the memories.
        policy: says what each role may see.
    """

    def __init__(self, reader: Database, vault: Vault, recall: Recall, policy: Policy) -> None:
        self._reader = reader
        self._vault = vault
        self._recall = recall
        self._roles = role_policies(policy)
        self._digest = policy.digest

    async def compile(self, scope: Scope, request: ContextRequest, now: datetime | None = None) -> ContextAnswer:
        """Fill the token budget with what this role may see, and record the read.

        Args:
            scope: whose memories; from the credential.
            request: what is asked, by whom, within which budget.
            now: the moment at which freshness is judged; the present where it is left out.
        """
        policy = self._roles[request.role]
        recollection = Recollection()
        if policy.kinds:
            recollection = await self._recall.recall(
                scope,
                request.query,
                policy.kinds,
                now=now,
                preset=PRESETS[request.preset],
                wanted=Wanted(policy.memories, lambda fact, body: takes(policy, fact.kind, body.key, body.content)),
            )
        working = await self._at_hand(scope, request, policy)
        items = [_item(each) for each in recollection.recalled]
        compiled = _compiled(items, policy, request.token_budget, working)
        keys = [(cited.memory_id, cited.version) for cited in compiled.cited]
        keys += [key for key in working.given if key[0] not in {memory for memory, _ in keys}]
        traced = trace_context(recollection, self._asking(request.preset, request.token_budget), compiled)
        async with self._reader.connection() as connection:
            context_id, stones = await record(connection, scope, Given("context", request.role, keys, traced))
        if stones & {key[0] for key in keys}:  # forgotten since they were opened
            items = [item for item in items if (item.memory_id, item.version) in keys and item.memory_id not in stones]
            compiled = _compiled(items, policy, request.token_budget, working.without(stones))
        answer = _context(context_id, request.token_budget, recollection, compiled)
        if working.missing is None:
            return answer
        left_out = (*answer.left_out, LeftOut(memory_id=None, reason=working.missing))
        return answer.model_copy(update={"left_out": left_out})

    async def search(self, scope: Scope, request: SearchRequest) -> SearchAnswer:
        """Return the memories that matter most to a query, as far as this role may see them."""
        policy = self._roles[request.role]
        recollection = Recollection()
        if policy.kinds:
            recollection = await self._recall.recall(
                scope,
                request.query,
                policy.kinds,
                preset=PRESETS[request.preset],
                wanted=Wanted(request.limit, lambda fact, body: policy.sees(fact.kind, body.key)),
            )
        seen = [each for each in recollection.recalled if policy.sees(each.fact.kind, each.body.key)]
        best = seen[: request.limit]
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            bodies = {each.fact.event_id: each.body for each in best}
            views = await views_of(connection, keyring, [each.fact for each in best], bodies, TokenRole.AGENT)
            keys = [(each.fact.memory_id, each.fact.version) for each in best]
            traced = trace_search(
                recollection,
                self._asking(request.preset),
                keys,
                [(each.fact.memory_id, each.fact.version) for each in seen],
            )
            context_id, stones = await record(connection, scope, Given("search", request.role, keys, traced))
        found = tuple(
            Found(**dict(view), score=each.score)
            for view, each in zip(views, best, strict=True)
            if view.memory_id not in stones
        )
        return SearchAnswer(context_id=context_id, memories=found, degraded=recollection.degraded)

    def _asking(self, preset: str, token_budget: int | None = None) -> Asking:
        return Asking(preset, self._digest, token_budget)

    async def _at_hand(self, scope: Scope, request: ContextRequest, policy: RolePolicy) -> AtHand:
        if request.task_id is None and request.session_id is None:
            return AtHand()
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            return await at_hand(connection, keyring, policy, request.task_id, request.session_id)


def _compiled(items: Sequence[Item], policy: RolePolicy, budget: int, working: AtHand) -> Compiled:
    return compile_context(
        items, policy=policy, budget=budget, summary=working.summary, recent=working.recent, task=working.task
    )


def _context(context_id: UUID, budget: int, recollection: Recollection, compiled: Compiled) -> ContextAnswer:
    found = {(each.fact.memory_id, each.fact.version): each for each in recollection.recalled}
    memories = {key[0] for key in found}
    left_out = [
        LeftOut(memory_id=each.id if each.id in memories else None, reason=each.reason) for each in compiled.left_out
    ]
    left_out += [LeftOut(memory_id=key[0], reason=reason) for key, reason in recollection.excluded]
    return ContextAnswer(
        context_id=context_id,
        text=compiled.text,
        used_tokens=compiled.used_tokens,
        token_budget=budget,
        memories=tuple(
            Cited(
                memory_id=cited.memory_id,
                version=cited.version,
                kind=found[cited.memory_id, cited.version].fact.kind,
                score=found[cited.memory_id, cited.version].score,
                may_drive_a_write=found[cited.memory_id, cited.version].may_drive_a_write,
            )
            for cited in compiled.cited
        ),
        left_out=tuple(left_out),
        sections=tuple(Section(name=section.name, lines=section.lines) for section in compiled.sections),
        degraded=recollection.degraded,
    )


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
