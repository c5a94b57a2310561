"""Copying tables out of one snapshot, whichever columns they have."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from events.postgres import Connection
from ops.backup.folder import TableFile
from ops.backup.manifest import Listed

SCHEMAS: Final = ("log", "ops")
"""What a backup holds: the log, and what is not memory. Read models are made anew."""

_TABLES = """
select format('%I.%I', t.schemaname, t.tablename) as name,
       (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
        where a.attrelid = format('%I.%I', t.schemaname, t.tablename)::regclass and a.attnum > 0 and not a.attisdropped
       ) as columns
from pg_tables t where t.schemaname = any($1::text[]) order by 1"""


async def tables_of(connection: Connection, schemas: Sequence[str] = SCHEMAS) -> dict[str, tuple[str, ...]]:
    """Name every table of some schemas with its columns, in order."""
    rows = await connection.fetch(_TABLES, list(schemas))
    return {row["name"]: tuple(row["columns"]) for row in rows}


async def copy_out(connection: Connection, table: str, columns: Sequence[str], folder: Path) -> Listed:
    """Copy a table into a file of its own."""
    with TableFile(folder, table, columns) as file:
        names = ", ".join(f'"{column}"' for column in columns)
        status = await connection.copy_from_query(
            f"select {names} from {table}",  # noqa: S608 - names of the catalogue
            output=file.take,
            format="binary",
        )
    return file.listed(int(status.removeprefix("COPY ")))
