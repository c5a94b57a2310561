"""What is counted along the way: how much there is, and what is found again."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from events.postgres import Database
from ops.bench.years.people import FACTS, SORTS, Person, Planted, Sort
from services.recall.recall import Recall

_FIRST = 8  # as many as a context holds by default
_SIZES = """
select (select count(*) from log.event where type = 'accepted') as written,
       (select count(*) from facts.memory where status in ('current', 'in_conflict')) as living,
       (select count(*) from facts.memory where status in ('current', 'in_conflict') and cold) as cold,
       (select count(*) from keywords.entry) as keywords,
       (select count(*) from sessions.message where not forgotten) as messages,
       (select count(*) from log.body) as bodies,
       (select coalesce(sum(octet_length(ciphertext)), 0) from log.body)::bigint as body_bytes,
       (select count(*) from log.event) as events
"""


@dataclass(frozen=True)
class Sample:
    """One look: the day, the sizes, and of what was planted the share found among the first eight, by sort."""

    day: int
    sizes: dict[str, int]
    kept: dict[Sort, float]
    found: dict[Sort, float]


async def look(owner: Database, recall: Recall, people: Sequence[Person], day: int, now: datetime) -> Sample:
    """Count everything, and ask for what was planted with some people."""
    async with owner.connection() as connection:
        row = await connection.fetchrow(_SIZES)
        living = {
            each["memory_id"]
            for each in await connection.fetch("select memory_id from facts.memory where status = 'current'")
        }
    asked: dict[Sort, list[bool]] = defaultdict(list)
    kept: dict[Sort, list[bool]] = defaultdict(list)
    for person in people:
        for planted in person.planted:
            kept[planted.sort].append(planted.memory_id in living)
            asked[planted.sort].append(await _is_found(recall, person, planted, now))
    return Sample(
        day,
        dict(row or {}),
        {sort: sum(kept[sort]) / len(kept[sort]) for sort in SORTS},
        {sort: sum(asked[sort]) / len(asked[sort]) for sort in SORTS},
    )


async def _is_found(recall: Recall, person: Person, planted: Planted, now: datetime) -> bool:
    found = await recall.recall(person.keyring.scope, FACTS[planted.fact][1], now=now)
    return planted.memory_id in {each.fact.memory_id for each in found.recalled[:_FIRST]}
