"""`cenotaph backup` and `cenotaph restore`: a copy of what cannot be made again, and bringing it back (R44)."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from events.errors import BadInputError
from events.keyfile import write_once
from ops import logs
from ops.backup.drill import rehearsal
from ops.cli.options import Place
from ops.cli.output import bar, out
from ops.cli.places import require_outside, settings_of, stores_of, tenant_key
from ops.cli.wiring import choose_backup, compose, load_backup, write_backup
from ops.embedded import Embedded
from ops.settings import Settings
from ops.state import claim

if TYPE_CHECKING:
    from ops.backup.manifest import Manifest
    from ops.backup.restore import Chosen, Done

Shown = Callable[[int, int], None]
_MB = 1e6

Backup = Annotated[Path, typer.Argument(help="Folder of the backup's log part.", metavar="DIR")]
Keys = Annotated[
    Path | None,
    typer.Option(help="Folder of the keys, kept apart; else DIR with .keys behind its name.", metavar="DIR"),
]


def backup(folder: Backup, *, place: Place, keys: Keys = None) -> None:
    """Copy log and what is not memory into one folder, the vault's keys into another, while everything runs.

    Neither lies in a folder of cenotaph itself, nor one in the other. The keys may be used for
    CENOTAPH_BACKUP_KEY_DAYS; then their secret is destroyed, and they are refused.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    log_at, keys_at = folder.absolute(), _keys_of(folder, keys)
    require_outside(settings, log_at, keys_at)
    _require_apart(log_at, keys_at)
    composition = compose(settings, stores_of(settings))

    async def run() -> "tuple[Manifest, Manifest]":
        try:
            return await write_backup(composition, log_at, keys_at, timedelta(days=settings.backup_key_days))
        finally:
            await composition.close()

    log_part, keys_part = asyncio.run(run())
    _carry(tenant_key(settings), keys_at / tenant_key(settings).name)
    out.print(
        f"[green]backed up[/] {log_part.size} events of {log_part.origin}: {_size(log_part)} in {log_at}; keys, to be"
        f" kept apart: {_size(keys_part)} in {keys_at}, to be used until {keys_part.keys_die_by:%Y-%m-%d %H:%M} UTC"
    )


def restore(
    folder: Backup,
    *,
    place: Place,
    keys: Keys = None,
    living_vault: Annotated[
        bool, typer.Option("--living-vault", help="Use the vault that still lives instead of the backup's keys.")
    ] = False,
    drill: Annotated[
        bool, typer.Option("--drill", help="Try it while the log lives, beside a copy of its second place.")
    ] = False,
    old_log_is_gone: Annotated[
        bool, typer.Option("--old-log-is-gone", help="Go on in its stead, in its second place.")
    ] = False,
) -> None:
    """Bring a backup back into an empty installation. Needs the second place, which knows what was forgotten since.

    What was forgotten is left out and looked for before anybody may read. Interrupted, it is simply run again. Either
    the log it was taken of is gone and this one goes on in its second place, or it is a drill.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    if drill == old_log_is_gone:
        raise BadInputError(
            "say which: --drill to try the backup beside a log that lives, whose second place is copied and not written"
            " to; or --old-log-is-gone to go on in its stead, in its second place"
        )
    if drill and living_vault:
        raise BadInputError("a drill never uses the vault that lives; bring the keys of the backup")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the servers that were started
    keys_at = None if living_vault else _keys_of(folder, keys)
    chosen = choose_backup(folder.absolute(), keys_at, settings.second_place)
    with ExitStack() as stack:
        stack.enter_context(claim(settings.data))
        if drill:
            settings = rehearsal(settings)
        embedded, shown = stack.enter_context(Embedded(settings)), stack.enter_context(bar("events"))

        def step(name: str) -> Shown:
            task = shown.add_task(name, total=None)
            return lambda done, of: shown.update(task, completed=done, total=of)

        done = asyncio.run(_restored(settings, embedded, chosen, step))
    if keys_at is not None:
        _carry(keys_at / tenant_key(settings).name, tenant_key(settings))
    out.print(
        f"[green]restored[/] {done.events} events; {done.late} tombstones were newer than the backup, {done.left_out}"
        f" bodies were left out, {done.probed} tombstones were looked for and nothing was found"
    )
    if chosen.ahead:
        out.print(f"[yellow]lost[/] at least {chosen.ahead} events that were signed after the backup")
    if drill:
        out.print(
            f"[green]a drill[/]: nothing was written to the second place of the log that lives. Look at it with"
            f" CENOTAPH_DATA={settings.data} and no CENOTAPH_SECOND_PLACE, then delete that folder"
        )


async def _restored(settings: Settings, embedded: Embedded, chosen: "Chosen", step: Callable[[str], Shown]) -> "Done":
    composition = compose(settings, embedded.endpoints)
    try:
        return await load_backup(composition, chosen, step)
    finally:
        await composition.close()


def _keys_of(folder: Path, keys: Path | None) -> Path:
    return (keys or folder.with_name(f"{folder.name}.keys")).absolute()


def _require_apart(folder: Path, keys: Path) -> None:
    """See that no copy of the one part takes the other along.

    Raises:
        BadInputError: they are one folder, or one lies in the other.
    """
    log_at, keys_at = folder.resolve(), keys.resolve()
    if log_at.is_relative_to(keys_at) or keys_at.is_relative_to(log_at):
        raise BadInputError(f"{keys} and {folder} are one folder, or one lies in the other; keep the keys apart")


def _carry(key: Path, into: Path) -> None:
    """Take the API key of the default tenant along, where there is one: `up` would make another tenant."""
    if key.exists():
        write_once(into, key.read_bytes())


def _size(part: "Manifest") -> str:
    return f"{sum(listed.bytes for listed in part.files) / _MB:.1f} MB"
