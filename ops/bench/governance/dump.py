"""What really lies in the stores: every body decrypted, every row, every queue, as text to search in."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path

import redis.asyncio as redis

from events.envelope import open_part, stored
from events.log import read_bodies
from events.model import KeyId, Scope
from events.postgres import Connection, Database
from ops.bench.governance.scenario import Hit
from ops.bench.governance.score import squeezed
from ops.composition import Composition

_FEWEST_DIGITS = 8
_BODIES = "select envelope from log.event where tenant_id = $1"


async def hits_of(composition: Composition, scope: Scope, needles: Sequence[str]) -> tuple[Hit, ...]:
    """Search everything that can be decrypted of one person: log bodies and dead letters."""
    found = [
        Hit(needle=needle, store=store)
        async for store, text in _own(composition, scope)
        for needle in needles
        if squeezed(needle) in squeezed(text)
    ]
    return tuple(dict.fromkeys(found))


async def _own(composition: Composition, scope: Scope) -> AsyncIterator[tuple[str, str]]:
    keyring = await composition.vault("opener").keyring(scope)
    async with composition.log(None).connection() as connection:
        rows = await connection.fetch(_BODIES, scope.tenant_id)
        events = {event.event_id: event for event in (stored(row["envelope"], None) for row in rows)}
        ciphertexts = await read_bodies(connection, events)
    refs = {(event.event_id, part.name): part for event in events.values() for part in event.parts}
    secrets = await keyring.load(KeyId(refs[place].key_id) for place in ciphertexts)
    for place, ciphertext in ciphertexts.items():
        opened = open_part(events[place[0]], refs[place], ciphertext, secrets[refs[place].key_id])
        yield "log.body", opened.decode()
    for letter in await composition.letters.of(scope):
        yield "ops.dead_letter", letter.text or ""


async def hits_in_stores(composition: Composition, needles: Iterable[str]) -> tuple[Hit, ...]:
    """Search every row of every table of both clusters, every stream of the queue, every file of the data directory.

    Not for a number of a few digits: positions, times and ids hold each of them by chance. What can be decrypted is
    searched for those too (`hits_of`).
    """
    wanted = {needle: squeezed(needle) for needle in needles if not _by_chance(needle)}
    found: dict[Hit, None] = {}
    async for store, text in _stores(composition):
        shown = squeezed(text)
        found |= {Hit(needle=needle, store=store): None for needle, form in wanted.items() if form in shown}
    found |= dict.fromkeys(await asyncio.to_thread(_in_files, composition.settings.data, tuple(wanted)))
    return tuple(found)


def _by_chance(needle: str) -> bool:
    form = squeezed(needle)
    return form.isdigit() and len(form) < _FEWEST_DIGITS


async def _stores(composition: Composition) -> AsyncIterator[tuple[str, str]]:
    for url in (composition.endpoints.database_url, composition.endpoints.vault_url):
        database = Database(url, None)
        try:
            async with database.connection() as connection:
                for name in await _tables(connection):
                    for row in await connection.fetch(f"select t::text as row from {name} t"):  # noqa: S608 - names of the catalogue
                        yield name, row["row"]
        finally:
            await database.close()
    client = redis.from_url(composition.endpoints.redis_url, decode_responses=True)
    try:
        async for key in client.scan_iter(_type="stream"):
            yield f"redis:{key}", repr(await client.xrange(key))
    finally:
        await client.aclose()


async def _tables(connection: Connection) -> list[str]:
    rows = await connection.fetch(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables"
        " where schemaname not in ('pg_catalog', 'information_schema')"
    )
    return [row["name"] for row in rows]


def _in_files(folder: Path, needles: Sequence[str]) -> list[Hit]:
    """Look for the bare bytes: what the index, the queue's append-only file and the write-ahead logs hold."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or not path.stat().st_size:
            continue
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            store = f"file:{path.relative_to(folder).parts[0]}"
            found += [Hit(needle=needle, store=store) for needle in needles if content.find(needle.encode()) >= 0]
    return found
