"""Which folders hold the raw files of an installation, and searching all of them (R43)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from events.errors import CenotaphError, UnavailableError
from events.model import EventId
from events.postgres import Database
from ops.settings import Settings
from projections.follower import place_of
from projections.vector_index import VectorIndex
from services.residue.needle import Doubt, Needle
from services.residue.receipt import needles_of
from services.residue.search import Search, search_files

_BACKUPS = "select backup_id, log_at, keys_at, keys_destroyed_at from ops.backup where dropped_at is null"


@dataclass(frozen=True)
class Installation:
    """Where things are.

    Args:
        settings: what the operator set.
        prober: a pool under `cenotaph_prober`.
        owners: pools of the owners of both clusters by name, to have them write what they hold in memory.
        vectors: the vector index.
    """

    settings: Settings
    prober: Database
    owners: Mapping[str, Database]
    vectors: VectorIndex

    async def search(
        self, receipt: EventId, texts: Sequence[str], raw: Mapping[str, bytes], also: Sequence[Path]
    ) -> Search:
        """Search every file for what a deletion was to remove.

        Args:
            receipt: the deletion.
            texts: what was said.
            raw: bytes that were kept before it, by name.
            also: further folders.

        Raises:
            BadInputError: there is no such deletion.
        """
        async with self.prober.connection() as connection:
            needles = [
                *await needles_of(connection, receipt),
                *(Needle(text=text, name=f"line {number} of the text") for number, text in enumerate(texts, 1)),
                *(Needle(raw=content, name=name) for name, content in raw.items()),
            ]
            backups = await connection.fetch(_BACKUPS)
        search = Search(doubts={*await self._settled(), *self._elsewhere(also)})
        folders = [self.settings.data, self.settings.second_place, self.settings.keys, *also]
        for backup in backups:
            for folder in (Path(backup["log_at"]), Path(backup["keys_at"])):
                if folder.is_dir():
                    folders.append(folder)
                else:
                    search.doubts.add(Doubt(str(folder), f"backup {backup['backup_id']} cannot be reached from here"))
        for folder in _outermost(folders):
            found = await asyncio.to_thread(search_files, folder, needles)
            search |= found.below(folder)
        return search

    async def _settled(self) -> list[Doubt]:
        """Have every store write what it holds in memory."""
        doubts = []
        for name, owner in self.owners.items():
            try:
                async with owner.connection() as connection:
                    await connection.execute("checkpoint")
            except (asyncpg.InsufficientPrivilegeError, UnavailableError):
                doubts.append(Doubt(name, "its owner may not have it write its pages (pg_checkpoint)"))
        try:
            async with self.prober.connection() as connection:
                place = await place_of(connection, "vectors")
            await self.vectors.flush(place)
        except CenotaphError:
            doubts.append(Doubt("vector index", "it does not write what it holds in memory"))
        return doubts

    def _elsewhere(self, also: Sequence[Path]) -> Iterable[Doubt]:
        given = {
            "log": self.settings.database_url,
            "vault": self.settings.vault_url,
            "redis": self.settings.redis_url,
            "vector index": self.settings.milvus_uri,
        }
        if not also:
            yield from (
                Doubt(name, "its files are not below the data directory; name their folder with --also")
                for name, url in given.items()
                if url is not None
            )


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """Leave out what lies below another folder, and what is not there."""
    there = sorted({folder.resolve() for folder in folders if folder.exists()})
    return [folder for folder in there if not any(other in folder.parents for other in there)]
