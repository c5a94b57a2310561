"""Looking for a needle in every table of a database; the files are for `services/residue/search.py`."""

from collections.abc import Iterable

from events.postgres import Connection
from services.residue.needle import Find, Needle, forms_of


async def search_tables(connection: Connection, needles: Iterable[Needle]) -> set[Find]:
    """Search every row of every table of a database, also of the catalogue, which holds statistics of the columns."""
    forms = forms_of(needles)
    tables = await connection.fetch(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables union all"
        " select 'pg_catalog.pg_stats' union all select 'pg_catalog.pg_stat_activity'"
    )
    found = set()
    for table in tables:
        for row in await connection.fetch(f"select t::text as row from {table['name']} t"):  # noqa: S608 - names of the catalogue
            raw = row["row"].encode()
            found |= {
                Find(needle, table["name"], name)
                for needle, name, form in forms
                if form in raw or (b"\\x" in raw and form.hex().encode() in raw)
            }
    return found
