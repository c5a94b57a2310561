"""The two small protocols of erasure: a layer forgets, a probe asks it afterwards without sharing its code."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Protocol
from uuid import UUID

import structlog

from events.envelope import StoredEvent
from events.model import LayerFinding, Scope, TenantId
from services.forgetting.question import Question

log = structlog.get_logger(__name__)

State = Literal["absent", "purged", "masked", "drained", "unreclaimed", "not_configured", "cannot_prove", "present"]
REPORTED: Final = frozenset(
    {"neighbours", "asked", "entries", "exports", "backups", "of", "queries", "since_s", "lives_s"}
)
"""Counts that are no hits: they are only told."""


class Layer(Protocol):
    """Something that may hold a memory and can forget it. Idempotent; resumed by simply asking again."""

    @property
    def name(self) -> str:
        """The layer's name in receipts and logs."""

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Make the layer forget what the tombstone names."""


class Probe(Protocol):
    """A raw read of one layer over a connection of its own."""

    @property
    def layer(self) -> str:
        """The layer's name in receipts."""

    async def ask(self, question: Question) -> LayerFinding:
        """Look for what must be gone; the state is computed from the counts it returns."""

    async def readers(self) -> Sequence[str]:
        """Say who may read what lies in the layer: roles of its database, or what else opens it."""


class ForeignLayerAndProbe(Layer, Probe, Protocol):
    """A layer of another application, and its probe."""


class Foreign(Protocol):
    """Which layers of other applications a tenant has registered."""

    async def of(self, tenant: TenantId) -> Sequence[ForeignLayerAndProbe]:
        """Open them."""

    async def forget(self, tenant: TenantId) -> None:
        """Drop the registrations of a tenant that was forgotten, with their secrets."""


@dataclass(frozen=True)
class Registry:
    """Every layer there is. "Gone everywhere" is a loop over it; a store that is not here is a fault.

    Args:
        layers: what forgets.
        probes: what is asked afterwards.
        wait_s: how long a layer may take to forget.
        answer_s: how long a probe may take to answer.
        foreign: the layers of other applications, where there may be some.
    """

    layers: Sequence[Layer]
    probes: Sequence[Probe]
    wait_s: float = 5.0
    answer_s: float = 5.0
    foreign: Foreign | None = None

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Ask every layer to forget; one that fails does not stop the others."""
        layers = [*self.layers, *await self._foreign(question.scope)]
        results = await asyncio.gather(
            *(self._bounded(layer, tombstone, question) for layer in layers), return_exceptions=True
        )
        for layer, result in zip(layers, results, strict=True):
            if isinstance(result, BaseException):
                log.warning(
                    "layer_not_erased", layer=layer.name, error=type(result).__name__, tombstone=str(tombstone.event_id)
                )

    async def ask(self, question: Question) -> list[LayerFinding]:
        """Ask every probe; one that cannot answer has proven nothing."""
        return [found for _, found in await self.answers(question)]

    async def answers(self, question: Question) -> list[tuple[Probe, LayerFinding]]:
        """Ask every probe; return each with what it answered.

        Raises:
            UnavailableError: which layers other applications have is not known.
        """
        probes = [*self.probes, *await self._foreign(question.scope)]
        results = await asyncio.gather(*(self._answer(probe, question) for probe in probes))
        return list(zip(probes, results, strict=True))

    async def _foreign(self, scope: Scope) -> "Sequence[ForeignLayerAndProbe]":
        return () if self.foreign is None else await self.foreign.of(scope.tenant_id)

    async def _bounded(self, layer: Layer, tombstone: StoredEvent, question: Question) -> None:
        await asyncio.wait_for(layer.erase(tombstone, question), self.wait_s)

    async def _answer(self, probe: Probe, question: Question) -> LayerFinding:
        try:
            return await asyncio.wait_for(probe.ask(question), self.answer_s)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the layer has proven nothing
            log.warning("probe_failed", layer=probe.layer, error=type(error).__name__)
            return finding(probe.layer, {}, "cannot_prove", {})


def finding(
    layer: str,
    checks: Mapping[str, int],
    gone: State,
    queries: Mapping[str, str],
    *,
    position: int | None = None,
    versions: Sequence[int] = (),
    holders: Sequence[UUID] = (),
) -> LayerFinding:
    """Compute a layer's state from its counts: any hit means it is still there.

    Args:
        layer: the layer's name.
        checks: counts by the name of the check.
        gone: the state if nothing was found.
        queries: what each check asked, without values; a state that no query is named for proves nothing.
        position: how far a layer that follows the log had followed it.
        versions: of the memory, that were found.
        holders: exports that hold it.
    """
    return LayerFinding(
        layer=layer,
        state="present" if hits(checks) else gone,
        checks=dict(checks),
        queries=dict(queries),
        versions=tuple(versions),
        holders=tuple(holders),
        position=position,
        at=datetime.now(UTC),
    )


def hits(checks: Mapping[str, int]) -> int:
    """Count what was found and must not be; what is only told is no hit."""
    return sum(count for name, count in checks.items() if name not in REPORTED)
