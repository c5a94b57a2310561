"""Two victims, one of the attacker's own tenant and one of another, with something in every place that can be read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from events.model import MemoryId, Scope, SessionId, SubjectId
from services.access.rights import TokenRole
from services.wire.facts import SystemFact
from services.wire.memories import MemoryStatus
from services.wire.names import Bounds
from services.wire.recall import ContextRequest, RecallRole, SearchRequest
from services.wire.tasks import TaskStart
from tests.plant import START, Plant

WORDS = ("琥珀灯塔", "Zebrafinch", "月见草", "Quillon", "Marigold", "Saffronia", "海棠渡")
SAID = (
    "请记住：我养的猫叫琥珀灯塔。",
    "Please remember that my boat is called Zebrafinch.",
    "请记住：我喜欢月见草茶。",
    "Please remember that my favourite café is Quillon.",
)
NAMED = "我叫海棠渡。"
HELD = "我对花生过敏"
IN_PROJECT = "Please remember that my dog is called Marigold."
PROJECT = "Aurora 极光"
SYSTEM = "registry"
QUERIES = (
    "我的猫叫什么名字",
    "What is my boat called?",
    *SAID,
    "琥珀灯塔",
    "Zebrafinch Quillon",
    '" or subject_id != "',
    "'; select * from facts.memory; --",
    "%",
    "所有人的记忆 everything about everybody",
)


@dataclass
class Victim:
    """A person, and every id of what that person has, by what it is an id of.

    `bound` are scopes of the same person that may read none of it: in another project, in another task, of another
    assistant, for another purpose.
    """

    scope: Scope
    name: str
    bound: tuple[Scope, ...] = ()
    ids: dict[str, list[str]] = field(default_factory=dict)
    cursors: list[str] = field(default_factory=list)
    digest: str = ""

    def note(self, kind: str, *ids: object) -> None:
        """Write down ids of one kind."""
        self.ids.setdefault(kind, []).extend(map(str, ids))


@dataclass(frozen=True)
class World:
    """The victims, the attacker, and what must never be said to the attacker."""

    plant: Plant
    attacker: Scope
    victims: tuple[Victim, ...]

    @property
    def secrets(self) -> frozenset[str]:
        """Every word and every id of a victim but those of turns, which are too short to be told from other text."""
        ids = {each for victim in self.victims for kind, own in victim.ids.items() if kind != "turn" for each in own}
        return frozenset(ids | set(WORDS) | {str(victim.scope.subject_id) for victim in self.victims})

    async def state(self) -> list[object]:
        """Return all that the victims have, so that a write across scopes shows."""
        backend = self.plant.composition.backend
        found: list[object] = []
        for victim in self.victims:
            for status in (None, *MemoryStatus):
                page = await backend.memories(victim.scope, status, 100, None, reader=TokenRole.PERSON)
                found.append(page.memories)
            found += [await backend.inbox(victim.scope), await backend.consents(victim.scope)]
            found += [await backend.tasks(victim.scope, 50, None), await backend.exports(victim.scope)]
            found += [
                await backend.suppressions(victim.scope),
                len((await backend.receipts(victim.scope, 50, None)).receipts),
            ]
        return found


async def world(plant: Plant) -> World:
    """Build it."""
    attacker = await plant.person()
    other = await plant.composition.vault("keeper").create_tenant()
    stranger = Scope(
        tenant_id=other,
        subject_id=SubjectId(UUID(str(await plant.composition.vault("keeper").subject(other, f"p-{uuid4()}")))),
    )
    neighbour = await plant.person()
    victims = (Victim(neighbour, "neighbour"), Victim(stranger, "stranger"))
    for victim in victims:
        await _live(plant, victim)
    await plant.remember(attacker, "请记住：我住在苏州。")
    return World(plant, attacker, victims)


async def _live(plant: Plant, victim: Victim) -> None:
    backend, scope = plant.composition.backend, victim.scope
    memories: Sequence[MemoryId] = [await plant.remember(scope, said) for said in SAID]
    victim.note("memory", *memories)
    victim.note("memory", *(each.memory_id for each in (await plant.say(scope, NAMED)).verdicts))
    (held,) = (await plant.say(scope, HELD)).verdicts
    victim.note("memory", held.memory_id)
    for number in range(1, plant._turns + 1):
        victim.note("turn", f"t{number}")
    for query in QUERIES[:4]:
        context = await backend.context(scope, ContextRequest(query=query, role=RecallRole.CHAT))
        search = await backend.search(scope, SearchRequest(query=query))
        victim.note("trace", context.context_id, search.context_id)
    await _work(plant, victim)
    suppression = await backend.suppress(scope, "月见草的价钱")
    victim.note("suppression", suppression.suppression_id)
    victim.note("receipt", await plant.forget(scope, memories[-1]))
    await plant.follow()
    page = await backend.memories(scope, None, 1, None, reader=TokenRole.PERSON)
    victim.cursors += [page.next_cursor or ""]
    victim.digest = (await backend.preview(scope, "我的猫")).digest


async def _work(plant: Plant, victim: Victim) -> None:
    """Let a victim have what is not said in a private conversation: a project, a task, a stated fact, an export."""
    backend, scope = plant.composition.backend, victim.scope
    here = await backend.bound(scope, Bounds(PROJECT, assistant="Aria", purpose="walking the dog"))
    victim.note("memory", await plant.remember(here, IN_PROJECT))
    context = await backend.context(here, ContextRequest(query=IN_PROJECT, role=RecallRole.CHAT))
    victim.note("trace", context.context_id)
    others = (
        Bounds("Borealis"),
        Bounds("Borealis", "other task"),
        Bounds(PROJECT, assistant="Bruno", purpose="walking the dog"),
        Bounds(PROJECT, assistant="Aria", purpose="marketing"),
    )
    victim.bound = tuple([await backend.bound(scope, each) for each in others])

    start = {"command_id": "c1", "type": "report", "name": "r", "goal": "写海棠渡的周报", "steps": ["go to 海棠渡"]}
    task = await backend.start_task(scope, TaskStart.model_validate({**start, "task_id": f"task-{uuid4()}"}))
    victim.note("task", task.task_id)

    await plant.composition.register_system(scope.tenant_id, SYSTEM, frozenset({"membership.tier"}))
    fact = SystemFact(fact_id=f"fact-{uuid4()}", key="membership.tier", value="Saffronia", occurred_at=START)
    position = await plant.stated(scope, SYSTEM, fact)
    assert position is not None
    await plant.rememberer.consider(position)
    await plant.follow()
    outcome = await backend.fact_outcome(scope, SYSTEM, fact.fact_id)
    assert outcome is not None
    victim.note("memory", *(verdict.memory_id for verdict in outcome.verdicts))
    victim.note("fact", fact.fact_id)

    session = await (await plant.composition.vault("keeper").keyring(scope)).find(("session", "s1"))
    assert session is not None
    assert await plant.composition.summaries.refresh(scope, SessionId(session), every=1) == "written"
    await plant.follow()

    lines = [line async for line in backend.export(scope, "download")]
    victim.note("export", json.loads(lines[0])["export_id"])
