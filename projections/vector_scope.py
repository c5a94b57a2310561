"""Whose rows a call to the vector index may touch: the partition and the filter, in one place to be audited (R30)."""

from collections.abc import Collection
from hashlib import blake2b
from re import compile as pattern
from typing import Final
from uuid import UUID

from events.errors import ScopeError
from events.model import MemoryId, Reach, Scope, SubjectId, TenantId

PARTITIONS: Final = 256
_HEX = pattern(r"[0-9a-f]{32}")


def hexed(value: UUID) -> str:
    """Return 32 hex digits, or refuse.

    Raises:
        ScopeError: The value is no UUID, or is nil.
    """
    if not isinstance(value, UUID) or _HEX.fullmatch(text := value.hex) is None or value.int == 0:
        raise ScopeError("a filter is made of UUIDs other than nil only; nothing was asked")
    return text


def scope_filter(
    tenant: TenantId,
    subject: SubjectId,
    memories: Collection[MemoryId] | None = None,
    *,
    reach: Reach | None = None,
    upper: bool = False,
) -> str:
    """Write the filter that every search, query and delete carries. Nothing else in this system writes one.

    Milvus Lite has no filter parameters, an empty filter means everything, and a quote in a value would end it. So the
    only values are 32 hex digits taken from UUIDs.

    Args:
        tenant: whose.
        subject: whose.
        memories: only these; None for all of that person's, never empty.
        reach: how far the reader reaches; None for all of that person's.
        upper: the partition writes its ids in upper case (`projections/vector_partitions.py`).

    Raises:
        ScopeError: A value is no UUID, is nil, or the ids are an empty collection.
    """
    scope = f'tenant_id == "{hexed(tenant)}" and subject_id == "{hexed(subject)}"' + _within(reach)
    if memories is None:
        return scope
    if not memories:
        raise ScopeError("a filter on no ids at all would be a filter on nothing; nothing was asked")
    ids = ", ".join(f'"{hexed(memory).upper() if upper else hexed(memory)}"' for memory in memories)
    return f"{scope} and id in [{ids}]"


def _within(reach: Reach | None) -> str:
    """Write what `Reach.admits` says, in the words of the index: rows for no project, task … have an empty one."""
    if reach is None:
        return ""
    project = "" if reach.project is None else f' and project == "{hexed(reach.project)}"'
    return project + _own("task", reach.task) + _own("assistant", reach.assistant) + _own("purpose", reach.purpose)


def _own(field: str, own: UUID | None) -> str:
    return f' and {field} == ""' if own is None else f' and {field} in ["", "{hexed(own)}"]'


def tenant_filter(tenant: TenantId) -> str:
    """Write the filter that forgets a whole tenant carries: the one that names no person."""
    return f'tenant_id == "{hexed(tenant)}"'


def partition_of(scope: Scope) -> str:
    """Return the partition of a person's rows, `p000` to `p255`."""
    digest = blake2b(scope.tenant_id.bytes + scope.subject_id.bytes, digest_size=8).digest()
    return f"p{int.from_bytes(digest) % PARTITIONS:03d}"
