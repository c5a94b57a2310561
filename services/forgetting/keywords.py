"""The probe of the keyword index: by id, and by the keyed terms the forgotten versions were found by (R42)."""

from collections.abc import Sequence
from typing import ClassVar

from events.model import LayerFinding
from events.postgres import Connection, Database, readers_of
from projections.follower import position_of
from services.forgetting.layers import State, finding
from services.forgetting.question import Question, Target

_BY_ID = """
select count(*) as by_id, count(*) filter (where tenant_id <> $2) as by_id_other_tenant,
  coalesce(array_agg(distinct version order by version), '{}') as versions
from keywords.entry where memory_id = any($1::uuid[])
"""
# the same terms, equally often; the fact beside a row says whether it is about the same thing and when it was said;
# what lives on in its own right, as the same said for other readers does (tags know no readers), is no trace
_BY_TERMS = """
select k.memory_id = any($1::uuid[]) or m.memory_id is null
         or (m.tag is not distinct from $5::bytea and least(m.occurred_at, m.recorded_at) <= $6
             and m.memory_id <> all($7::uuid[])) as hit
from keywords.entry k left join facts.memory m using (tenant_id, memory_id, version)
where k.tenant_id = $2 and k.subject_id = $3 and k.terms @> $4::bigint[]
  and (select array_agg(term order by term) from unnest(k.terms) as term) = $4::bigint[]
"""
_QUERIES = {"by_id": _BY_ID, "by_id_other_tenant": _BY_ID, "stored_keywords": _BY_TERMS, "neighbours": _BY_TERMS}


class KeywordProbe:
    """Raw reads of the table over the prober's own connection; the terms are asked for as they were stored."""

    layer: ClassVar[str] = "keyword_index"

    def __init__(self, prober: Database) -> None:
        self._prober = prober

    async def ask(self, question: Question) -> LayerFinding:
        """Look for the rows, and for rows of the same words about the same thing under another id."""
        async with self._prober.connection() as connection:
            # the position first: what is counted afterwards is at least as new
            position = await position_of(connection, "keywords")
            row = await connection.fetchrow(_BY_ID, list(question.memories), question.scope.tenant_id)
            assert row is not None, "an aggregate has one row"  # noqa: S101 - narrows the type
            checks = {name: row[name] for name in ("by_id", "by_id_other_tenant")}
            checks |= {"stored_keywords": 0, "neighbours": 0}
            for target in question.targets:
                for hit in await _by_terms(connection, question, target):
                    checks["stored_keywords" if hit else "neighbours"] += 1
        state: State = "absent" if question.prepared else "cannot_prove"
        return finding(self.layer, checks, state, _QUERIES, position=position, versions=row["versions"])

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select from the index."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, "keywords.entry")


async def _by_terms(connection: Connection, question: Question, target: Target) -> list[bool]:
    if not target.terms:  # no words to ask by; a held candidate is in no index
        return []
    rows = await connection.fetch(
        _BY_TERMS,
        list(question.memories),
        question.scope.tenant_id,
        question.scope.subject_id,
        sorted(target.terms),
        None if target.tag is None else bytes.fromhex(target.tag),
        question.forgotten_at,
        list(question.spared),
    )
    return [row["hit"] for row in rows]
