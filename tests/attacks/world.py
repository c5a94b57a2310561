"""Two victims, one of the attacker's own tenant and one of another, with something in every place that can be read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from events.model import MemoryId, Scope, SubjectId
from services.access.rights import TokenRole
from services.wire.memories import MemoryStatus
from services.wire.recall import ContextRequest, RecallRole, SearchRequest
from tests.plant import Plant

WORDS = ("琥珀灯塔", "Zebrafinch", "月见草", "Quillon")
SAID = (
    "请记住：我养的猫叫琥珀灯塔。",
    "Please remember that my boat is called Zebrafinch.",
    "请记住：我喜欢月见草茶。",
    "Please remember that my favourite café is Quillon.",
)
HELD = "我对花生过敏"
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
    """A person, and every id of what that person has, by what it is an id of."""

    scope: Scope
    name: str
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
    (held,) = (await plant.say(scope, HELD)).verdicts
    victim.note("memory", held.memory_id)
    for number in range(1, plant._turns + 1):
        victim.note("turn", f"t{number}")
    for query in QUERIES[:4]:
        context = await backend.context(scope, ContextRequest(query=query, role=RecallRole.CHAT))
        search = await backend.search(scope, SearchRequest(query=query))
        victim.note("trace", context.context_id, search.context_id)
    suppression = await backend.suppress(scope, "月见草的价钱")
    victim.note("suppression", suppression.suppression_id)
    victim.note("receipt", await plant.forget(scope, memories[-1]))
    await plant.follow()
    page = await backend.memories(scope, None, 1, None, reader=TokenRole.PERSON)
    victim.cursors += [page.next_cursor or ""]
    victim.digest = (await backend.preview(scope, "我的猫")).digest
