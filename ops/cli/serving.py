"""Running parts of the system in this process until somebody stops it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from events.keyfile import write_once
from ops.cli.places import tenant_key
from ops.composition import Composition
from ops.embedded import Embedded, Endpoints
from ops.ending import Ending
from ops.heap import settled
from ops.run import Running
from ops.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Plan:
    """What to run: which workers, whether to serve HTTP, whether to act as the owner of both clusters first."""

    workers: tuple[str, ...]
    door: bool
    owner: bool = False


def serve(
    settings: Settings,
    endpoints: Endpoints,
    plan: Plan,
    ready: Callable[[str | None], None],
    embedded: Embedded | None = None,
) -> None:
    """Run until SIGINT or SIGTERM; call from the main thread. A second signal, or `LIMIT_S`, ends the process.

    Args:
        settings: what the operator set.
        endpoints: where the stores are.
        plan: what to run.
        ready: called with the address once everything runs.
        embedded: servers to bring back when they die.
    """
    ending = Ending()
    ending.take_over()
    try:
        asyncio.run(_serve(settings, endpoints, plan, ready, embedded, ending=ending))
    except asyncio.CancelledError:
        log.info("stopped_while_starting")


async def _serve(
    settings: Settings,
    endpoints: Endpoints,
    plan: Plan,
    ready: Callable[[str | None], None],
    embedded: Embedded | None,
    *,
    ending: Ending,
) -> None:
    task = asyncio.current_task()
    assert task is not None, "asyncio.run made it"  # noqa: S101 - narrows the type
    ending.by(task.cancel)
    composition = Composition(settings, endpoints)
    try:
        await (
            establish(composition)
            if plan.owner
            else composition.check([*plan.workers, *(["api"] if plan.door else [])])
        )
    except BaseException:
        await composition.close()
        raise
    async with Running(composition, plan.workers, door=plan.door) as running:
        with settled():
            ready(f"http://{settings.host}:{running.port}" if plan.door else None)
            log.info("started", workers=plan.workers, port=running.port)

            def check() -> None:
                running.check()
                revive(embedded)

            await ending.wait(check)
            log.info("stopping")


async def establish(composition: Composition) -> None:
    """Bring the schema up to date and make the default tenant the first time.

    Raises:
        CenotaphError: a restore into it has not ended, or the second place is another log's.
        UnavailableError: a cluster does not answer.
    """
    await composition.require_whole()
    await composition.migrate()
    await composition.require_own_place(None)
    path = tenant_key(composition.settings)
    if not path.exists():
        _, key = await composition.create_tenant()
        write_once(path, key.encode("ascii") + b"\n")


def revive(embedded: Embedded | None) -> None:
    """Start again what died; the loop stands still meanwhile, as a child must be started by the main thread."""
    if embedded is None:
        return
    for name in embedded.dead():
        log.error("embedded_server_died", server=name)
        embedded.revive(name)
        log.info("embedded_server_revived", server=name)
