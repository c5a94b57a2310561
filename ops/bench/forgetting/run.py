"""Forget one memory after the other, quietly and under load, while readers in other processes poll; see the README."""

import asyncio
import json
import os
from collections.abc import Mapping

from cenotaph.client import AsyncCenotaph
from events.model import Scope, SubjectId, TenantId
from ops.bench.facts import facts
from ops.bench.forgetting.everything import Everything
from ops.bench.forgetting.load import Load
from ops.bench.forgetting.person import GIVE_UP_S, Person
from ops.bench.forgetting.phases import SUBJECT, Phases
from ops.bench.places import durability, weaknesses
from ops.bench.running import Up, up
from ops.composition import Composition

_IDLE = 1.0
"""The load average, over a minute, up to which a machine counts as doing nothing else."""


async def measure(
    running: Up, forgets: int, readers: int, seconds: float, before: tuple[float, float, float]
) -> dict[str, object]:
    """Forget without load, find the rate, forget under it, then give the bytes back; return the figures.

    Args:
        running: the system.
        forgets: how many in each phase.
        readers: processes that poll.
        seconds: how long each rate of turns is tried.
        before: the load average before any of it was started.

    Raises:
        CenotaphError: something that was waited for did not come.
    """
    composition = Composition(running.settings, running.endpoints)
    known = facts(2 * forgets + 2)
    try:
        async with AsyncCenotaph(running.url, timeout_s=GIVE_UP_S) as door:
            scope = await _scope(composition, running)
            person = Person(door.for_subject(running.key, SUBJECT), composition, scope)
            phases = Phases(running, person, readers)
            await person.forget(await person.remember(known[0].text))  # warms up, and is not counted
            quiet = await phases.phase(known[2 : forgets + 2])
            load = Load(door, running.key, composition.log("prober"), scope.subject_id)
            async with phases.asking() as read:  # as they will be asking while it is measured
                memory = await person.remember(known[1].text)
                await read.tell(memory_id=str(memory), query=known[1].value)
                flat, tried = await load.highest(seconds)
            beginning = flat or tried[-1].rate
            loaded, window = await phases.under_load(load, beginning, known[forgets + 2 :])
            purged = await Everything(composition).purge()
            return {
                "without_load": quiet,
                "under_load": loaded,
                "purge": purged,
                "rates_tried": [each.figures() for each in tried],
                "goals": {"propagated_p50_ms": 500, "propagated_p99_ms": 2000, "hits": 0},
                "invalid_because": [
                    *weaknesses(await durability(running.endpoints.database_url)),
                    *_invalid(
                        {
                            "other programs kept the processors busy when it began": before[0] > _IDLE,
                            "no rate was flat": flat is None,
                            "turns waited ever longer while it was measured": not window.flat,
                            "a phase without reads proves nothing": not (quiet["reads"] and loaded["reads"]),
                            "a second receipt is missing": purged["second_receipts"] != person.forgotten,
                        }
                    ),
                ],
                "cpus": os.cpu_count(),
                "load_average": {"before": before, "after": os.getloadavg()},
            }
    finally:
        await composition.close()


def _invalid(reasons: Mapping[str, bool]) -> list[str]:
    return [reason for reason, holds in reasons.items() if holds]


async def _scope(composition: Composition, running: Up) -> Scope:
    tenant = await composition.tenant_of(running.key)
    subject = await composition.vault("keeper").subject(TenantId(tenant), SUBJECT)
    return Scope(tenant_id=TenantId(tenant), subject_id=SubjectId(subject))


def main(forgets: int, readers: int, seconds: float) -> dict[str, object]:
    """Run everything on a `cenotaph up` of its own."""
    before = os.getloadavg()
    with up() as running:
        return asyncio.run(measure(running, forgets, readers, seconds, before))


def table(result: dict[str, object]) -> str:
    """Lay the figures out for reading."""
    lines = []
    for name in ("without_load", "under_load"):
        phase = result[name]
        assert isinstance(phase, dict)  # noqa: S101  # narrows the type
        rest = {key: value for key, value in phase.items() if key not in {"since_commit", "floor"}}
        lines.append(f"{name}: {json.dumps(rest)}")
        for part in ("since_commit", "floor"):
            lines.append(f"  {part:18}{'n':>6}{'p50':>10}{'p95':>10}{'p99':>10}{'max':>10}  ms")
            lines += [
                f"    {step:16}{s['n']:>6}{s['p50_ms']:>10}{s['p95_ms']:>10}{s['p99_ms']:>10}{s['max_ms']:>10}"
                for step, s in phase[part].items()
            ]
    rest = {name: value for name, value in result.items() if name not in {"without_load", "under_load"}}
    return "\n".join([*lines, *(f"{name}: {json.dumps(value)}" for name, value in rest.items())])
