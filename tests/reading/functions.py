"""The table of everything that queries a store, and how each is asked from outside its scope."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final
from uuid import UUID

import asyncpg

from events import log
from events.envelope import memory_stream
from events.keyring import Keyring
from events.model import (
    MEMORY_PART,
    CommandId,
    EventId,
    KeyId,
    Kind,
    MemoryId,
    MessageId,
    Position,
    Scope,
    SessionId,
    TaskId,
    TurnId,
)
from events.postgres import Connection
from projections import around, briefs, facts, keywords, moment, sessions, summaries, tasks, working
from services.access import permission
from services.forgetting import selection
from services.remembering import ingest

LONG_AGO: Final = datetime(2020, 1, 1, tzinfo=UTC)
START: Final = Position(-1)


@dataclass(frozen=True)
class Ids:
    """Everything of a victim that somebody could ask for."""

    scope: Scope
    memories: Sequence[MemoryId]
    turns: Sequence[TurnId]
    messages: Sequence[MessageId]
    sessions: Sequence[SessionId]
    contexts: Sequence[UUID]
    events: Sequence[EventId]
    commands: Sequence[CommandId]
    keys: Sequence[KeyId]
    task: TaskId
    series: UUID
    terms: Sequence[int]
    tags: Sequence[bytes]
    position: Position

    @property
    def said(self) -> frozenset[str]:
        """All of them as text."""
        every = (*self.memories, *self.turns, *self.messages, *self.sessions, *self.contexts, *self.events, *self.keys)
        return frozenset({*map(str, every), str(self.task)})


@dataclass(frozen=True)
class Asked:
    """One question: over whose transaction, under which scope as an argument, for which victim's ids."""

    connection: Connection
    keyring: Keyring
    scope: Scope
    ids: Ids

    @property
    def stream(self) -> str:
        """The victim's memory stream."""
        return memory_stream(self.ids.scope.subject_id)


async def _present(asked: Asked) -> object:
    """Ask how far the person's streams have come and what holds; a transaction that is bound otherwise refuses."""
    with suppress(asyncpg.InsufficientPrivilegeError):
        found = await moment.present_of(asked.connection, asked.scope, 50)
        return found.moment.version, found.moment.turns, found.standing
    return None


async def _matching(asked: Asked) -> object:
    found = await keywords.matching(asked.connection, asked.scope, asked.ids.terms)
    return found.entries, found.count


async def _newer(asked: Asked) -> object:
    newer, version = await facts.newer_events(asked.connection, asked.scope)
    return newer, version


async def _bodies(asked: Asked) -> object:
    return await log.read_bodies(asked.connection, asked.ids.events)


Probe = Callable[[Asked], Awaitable[object]]

ENVELOPES: Final = MappingProxyType[str, Probe](
    {
        "events.log:read_stream": lambda a: log.read_stream(a.connection, a.scope, a.stream),
        "events.log:read_last": lambda a: log.read_last(a.connection, a.scope, a.stream),
        "events.log:read_choices": lambda a: log.read_choices(a.connection, a.scope, a.stream),
        "events.log:read_tombstones": lambda a: log.read_tombstones(a.connection, a.scope, a.stream, LONG_AGO),
        "events.log:read_embedded": lambda a: log.read_embedded(a.connection, a.scope, a.stream, 2**31),
        "events.log:read_commands": lambda a: log.read_commands(a.connection, a.ids.commands),
        "events.log:read_events": lambda a: log.read_events(a.connection, a.ids.events),
        "events.log:read_sealed": lambda a: log.read_sealed(a.connection, START, 10_000),
        "events.log:read_window": lambda a: log.read_window(
            a.connection, a.ids.scope.tenant_id, (START, a.ids.position), subject=a.ids.scope.subject_id, kind=None
        ),
        "events.log:read_stream_behind": lambda a: log.read_stream_behind(a.connection, a.scope, a.stream, START),
        "events.log:read_bodies": _bodies,
        "events.log:read_parts": lambda a: log.read_parts(a.connection, a.ids.events, MEMORY_PART),
        "events.log:fenced": lambda a: log.fenced(a.connection, a.scope, a.ids.memories),
        "events.log:expired": lambda a: log.expired(a.connection, a.scope, a.ids.memories),
        "projections.facts:newer_events": _newer,
        "projections.moment:present_of": _present,
        "projections.working:keys_resting_on": lambda a: working.keys_resting_on(
            a.connection, a.scope, a.ids.memories, a.ids.messages
        ),
    }
)
"""What reads envelopes and ciphertexts of one person, without content: another person's is not there. How far a
credential reaches within a person is asked of facts, turns and tasks below, and where a body is opened."""

PERSONAL: Final = MappingProxyType[str, Probe](
    {
        "projections.facts:read_memories": lambda a: facts.read_memories(a.connection, a.scope, a.ids.memories),
        "projections.briefs:read_briefs": lambda a: briefs.read_briefs(a.connection, a.scope, a.ids.memories),
        "projections.facts:memories_of_turns": lambda a: facts.memories_of_turns(
            a.connection, a.scope, a.ids.turns, 50
        ),
        "projections.facts:read_living": lambda a: facts.read_living(a.connection, a.scope, a.ids.tags, 50),
        "projections.facts:read_kinds": lambda a: facts.read_kinds(a.connection, a.scope, list(Kind)),
        "projections.facts:count_living": lambda a: facts.count_living(a.connection, a.scope),
        "projections.facts:read_page": lambda a: facts.read_page(
            a.connection, a.scope, ["current", "held", "forgotten"], 50, None
        ),
        "projections.keywords:matching": _matching,
        "projections.sessions:recent_turns": lambda a: sessions.recent_turns(
            a.connection, a.scope, a.ids.sessions[0], 50
        ),
        "projections.sessions:count_turns": lambda a: sessions.count_turns(a.connection, a.scope, a.ids.sessions[0]),
        "projections.around:said_around": lambda a: around.said_around(
            a.connection, a.scope, a.ids.turns, reach=5, each=50
        ),
        "projections.sessions:newest_messages": lambda a: sessions.newest_messages(a.connection, a.scope, 50),
        "projections.sessions:messages_of": lambda a: sessions.messages_of(a.connection, a.scope, a.ids.turns),
        "projections.sessions:turns_with_contexts": lambda a: sessions.turns_with_contexts(
            a.connection, a.scope, a.ids.contexts
        ),
        "projections.sessions:turns_resting_on": lambda a: sessions.turns_resting_on(
            a.connection, a.scope, a.ids.messages
        ),
        "projections.sessions:turns_of_session": lambda a: sessions.turns_of_session(
            a.connection, a.scope, a.ids.sessions[0]
        ),
        "projections.summaries:read_summary": lambda a: summaries.read_summary(
            a.connection, a.scope, a.ids.sessions[0]
        ),
        "projections.tasks:read_task": lambda a: tasks.read_task(a.connection, a.scope, a.ids.task),
        "projections.sessions:messages_by_id": lambda a: sessions.messages_by_id(a.connection, a.scope, a.ids.messages),
        "projections.tasks:recent_tasks": lambda a: tasks.recent_tasks(a.connection, a.scope, 50),
        "projections.tasks:rounds_of": lambda a: tasks.rounds_of(a.connection, a.scope, a.ids.series, 50),
        "services.access.permission:_injected": lambda a: permission._injected(a.connection, a.scope, a.ids.turns),
        "services.forgetting.selection:_injected": lambda a: selection._injected(a.connection, a.scope, a.ids.memories),
        "services.remembering.ingest:_held_what_is_forgotten": lambda a: ingest._held_what_is_forgotten(
            a.connection, a.scope, a.ids.contexts
        ),
        "events.keyring:Keyring.find": lambda a: a.keyring.find(("turn", "t1")),
        "events.keyring:Keyring.outside": lambda a: a.keyring.outside([*a.ids.turns, *a.ids.messages]),
    }
)
"""What reads a person's rows: neither another person's are there, nor those beyond what a credential is
bound to."""

VAULT: Final = MappingProxyType[str, Probe]({"events.keyring:Keyring.load": lambda a: a.keyring.load(a.ids.keys)})
"""Keys, which are a person's: what they open says `events.bodies.open_bodies`, within the reach of the scope."""

THROUGH: Final = MappingProxyType(
    {
        "GET /v1/receipts": ("services.forgetting.receipts:Receipts.page",),
        "GET /v1/receipts/{receipt_id}": ("services.forgetting.receipts:Receipts._view",),
        "POST /v1/receipts/{receipt_id}/close": ("services.forgetting.receipts:Receipts.close",),
        "GET /v1/memories/{memory_id}/where": ("services.forgetting.where:Locations.of",),
        "GET /v1/traces/{trace_id}": ("services.recall.reads:Traces.show",),
        "POST /v1/context": ("services.recall.reads:record",),
        "POST /v1/exports": ("events.vault:Vault.subjects",),
        "GET /v1/exports": ("services.recall.register:Register.page",),
        "GET /v1/exports/{export_id}": ("services.recall.register:Register.show",),
        "GET /v1/person/forget": ("services.forgetting.whole:count_whole",),
        "POST /v1/forget": ("services.forgetting.forget:Forgetter.forget_wanted",),
        "POST /v1/turns": (
            "services.remembering.ingest:Ingest._append_answered",
            "events.log:append_sealed",
            "events.keyring:_aliases",
            "events.vault:Vault._is_gone",
            "events.vault:Vault._read_people",
            "events.vault:Vault._read_tenant",
        ),
        "POST /v1/tasks": ("services.tasks.tasks:Tasks._append",),
        "POST /v1/tokens": ("ops.keystore:ApiKeys.find",),
        "POST /v1/facts": ("ops.keystore:ApiKeys.owners",),
        "POST /v1/memories/search": ("projections.vectors:Vectors._search_in",),
    }
)
"""What is asked from outside through a route of the door."""

NOBODYS: Final = frozenset(
    {
        "events.checkpointer:coverage",
        "events.log:head",
        "events.origins:own",
        "events.postgres:readers_of",
        "events.vault:Vault.oldest_epoch",
        "events.vault:Vault.create_tenant",
        "ops.backend:System._reach",
        "ops.backend:System.deletions",
        "ops.cli.status:_numbers",
        "ops.composition.stores:Stores._sign_of_log",
        "ops.composition.stores:Stores._sign_of_vault",
        "projections.exclusive:exclusive",
        "projections.follower:place_of",
        "projections.follower:position_of",
        "projections.unreadable:skipped",
        "projections.vector_index:model_of",
        "projections.vector_index:vector_places",
        "services.forgetting.append_only:rewritten",
        "services.replay.standing:standings",
    }
)
"""Positions, counts and names of the system: nothing of a person."""

ENDS_WITH_THE_PERSON: Final = frozenset(
    {
        "services.summaries.consolidate:Consolidate._write",
        "services.summaries.summaries:Summaries._write",
        "services.replay.asof:History.at",
    }
)
"""Run for one whole person, by a worker or the owner of the stores, under `cenotaph_reader` and that person's scope."""

SYSTEM: Final = MappingProxyType(
    {
        "log:sealer": (
            "events.checkpointer:Checkpointer._introductions",
            "events.checkpointer:Checkpointer._push",
            "events.checkpointer:Checkpointer._sign",
            "events.sealer:Sealer.seal",
            "events.sealer:read_nodes",
        ),
        "log:projector": (
            "projections.facts:Facts._apply_person",
            "projections.follower:Follower._rebuild",
            "projections.follower:Follower.step",
            "projections.mirror:_rows",
            "projections.mirror:_tables",
            "projections.sessions:waiting",
            "projections.vector_calls:read_by_ids",
            "projections.vector_calls:read_ids",
            "projections.vector_calls:read_rows",
            "projections.vector_calls:some_ids",
            "projections.vector_mirror:VectorsMirror.again",
            "projections.vector_mirror:VectorsMirror.built",
            "projections.vector_mirror:_Side.delete",
            "projections.vector_mirror:_Side.delete_whole",
            "projections.vector_mirror:_get",
            "projections.vector_mirror:_iterator",
            "projections.vectors:Vectors._held",
            "services.forgetting.reclaim:Reclaiming.step",
            "services.forgetting.reclaim:VectorFiles.reclaim",
            "services.forgetting.reclaim:covered_of",
            "services.replay.diff:_Run._checkpoint",
            "services.replay.diff:_Run._not_yet",
        ),
        "log:eraser": (
            "projections.summaries:lapsed_keys",
            "projections.summaries:lapsed_summaries",
            "projections.tasks:overdue",
            "projections.tasks:overdue_of",
            "services.forgetting.finisher:Finisher._destroy",
            "services.forgetting.finisher:Finisher._clear",
            "services.forgetting.purge:_copied",
            "services.forgetting.whole:Whole._sample_of",
            "services.upkeep.leases:Leases.due",
            "projections.sessions:quiet_people",
            "projections.sessions:quiet_sessions",
            "services.forgetting.finisher:Finisher._open",
            "services.forgetting.finisher:Finisher._question",
            "services.forgetting.finisher:Finisher.pending",
            "services.forgetting.foreign.directory:_read",
            "services.forgetting.foreign.layer:ForeignLayer._living",
            "services.forgetting.foreign.stores:PostgresStore.look",
            "services.forgetting.foreign.stores:_value",
            "services.forgetting.letters:DeadLetters.parked",
            "services.forgetting.letters:DeadLetters.remove",
            "services.forgetting.letters:_open",
            "services.forgetting.purge:Purger.step",
            "services.forgetting.reclaim:Vacuumed.reclaim",
            "services.forgetting.reclaim:vacuum",
            "services.forgetting.retention:Retention.step",
            "services.forgetting.backups:BackupKeys.expire",
            "services.forgetting.where:Locator.step",
            "services.forgetting.whole:Whole._everybody",
            "services.forgetting.whole:Whole.destroy",
            "services.forgetting.whole:Whole.sample",
            "services.forgetting.whole:tables_of",
            "services.forgetting.recent:RecentTurns.erase",
            "services.forgetting.recent:_lived",
            "services.forgetting.recent:_resting",
            "services.forgetting.working:WorkingTexts.erase",
            "services.forgetting.working:_open",
            "services.upkeep.expiry:Expiry.due",
            "services.upkeep.expiry:Expiry.plan",
            "services.upkeep.expiry:Shredder.apply",
            "services.upkeep.fading:Capacity.due",
            "services.upkeep.fading:Decay.due",
            "services.upkeep.fields:Fields.due",
            "services.upkeep.merge:Merge.due",
            "services.upkeep.merge:separate",
            "services.upkeep.reindex:Reindex._progress",
            "services.upkeep.reindex:Reindex._sealed",
            "services.upkeep.reindex:Reindex.compare",
            "services.upkeep.reindex:_rows",
            "services.upkeep.tiers:Tiers.due",
            "services.upkeep.tiers:Use.due",
            "services.upkeep.tiers:Use.plan",
            "services.upkeep.withdrawal:Withdrawal.due",
        ),
        "log:prober": (
            "projections.vector_probe:VectorProbe._get",
            "projections.vector_probe:VectorProbe.by_vector",
            "projections.vector_probe:VectorProbe.count",
            "services.audit.export:_checkpoints",
            "services.audit.export:_events",
            "services.audit.export:_keys",
            "services.audit.reading:_chunk",
            "services.audit.reading:_stores",
            "services.audit.reading:_strays",
            "services.audit.reading:evidence_of",
            "services.audit.reading:head_of",
            "services.forgetting.backups:BackupProbe.ask",
            "services.forgetting.exported:ExportProbe.ask",
            "services.forgetting.keywords:KeywordProbe.ask",
            "services.forgetting.keywords:_by_terms",
            "services.forgetting.tables:_ask",
            "services.forgetting.whole_probes:BodiesProbe.ask",
            "services.forgetting.whole_probes:RowsProbe.ask",
            "services.forgetting.whole_probes:VectorsProbe.ask",
            "services.forgetting.whole_probes:_query",
            "services.forgetting.recent:RecentTurnsProbe.ask",
            "services.forgetting.working:WorkingTextsProbe.ask",
            "services.residue.receipt:needles_of",
            "ops.residue:Installation.search",
        ),
        "log:owner": (
            "ops.backup.kept:_read",
            "services.forgetting.foreign.directory:Directory.add",
            "services.forgetting.foreign.directory:Directory.forget",
            "services.forgetting.foreign.directory:Directory.remove",
            "ops.backup.keypart:_batches",
            "ops.backup.keypart:write_keys",
            "ops.backup.load:Loading._bury",
            "ops.backup.load:Loading._verify",
            "ops.backup.load:Loading.load",
            "ops.backup.proof:Proof.prove",
            "ops.backup.restore:_done",
            "ops.backup.restore:_require_empty",
            "ops.backup.restore:_unlock",
            "ops.backup.restore:restore",
            "ops.backup.tables:copy_out",
            "ops.backup.tables:tables_of",
            "ops.backup.wall:raise_wall",
            "ops.backup.wall:stands",
            "ops.backup.write:back_up",
        ),
        "vault:eraser": (
            "events.vault:Vault.bar_tenant",
            "events.vault:Vault.dead_before",
            "events.vault:Vault.destroy",
            "events.vault:Vault.discard",
            "events.vault:Vault.drop_tenant",
            "events.vault:Vault.erase_person",
            "events.vault:Vault.left_of",
            "events.vault:Vault.people",
            "events.vault:Vault.present",
            "events.vault:Vault.vacuum",
        ),
        "vault:roller": (
            "events.rewrap:_drop",
            "events.rewrap:_rewrap_data_keys",
            "events.rewrap:rewrap_people",
            "events.roll:Roller._alone",
            "events.roll:Roller._check",
            "events.roll:Roller._destroy",
            "events.roll:Roller._finish",
            "events.roll:Roller._open",
            "events.roll:Roller._people",
            "events.roll:Roller._tenants",
            "events.roll:Roller.roll",
            "events.roll:Roller.state",
        ),
    }
)
"""What a role asks that no process with a door logs in as; what such a role may do says `test_roles.py`."""
