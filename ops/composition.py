"""The one place where everything is wired: a process takes from here what it runs."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import time, timedelta
from functools import cached_property

import redis.asyncio as redis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client import CollectorRegistry
from redis.exceptions import RedisError

from events.checkpointer import Checkpointer
from events.errors import BadInputError, UnavailableError
from events.keyfile import key_file
from events.leases import AHEAD
from events.log import EventLog
from events.model import Kind, MemoryId, Scope, TenantId
from events.origins import current
from events.place import Folder, Place
from events.postgres import Database
from events.provider import FileProvider
from events.roll import Roller
from events.schedule import Schedule
from events.sealer import Sealer
from events.vault import Vault
from ops.backend import System
from ops.backup import wall
from ops.backup.proof import Proof
from ops.backup.restore import Target
from ops.backup.write import Sources
from ops.embedded import Endpoints
from ops.keystore import ApiKeys
from ops.logins import logins_of, password_of
from ops.migrations import check, migrate
from ops.reading import budget_of, model_of, rewriter_of, rules_of
from ops.residue import Installation
from ops.settings import Settings
from projections.embedding import Embedder
from projections.facts import Facts
from projections.follower import Follower
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.milvus import Milvus
from projections.mirror import Mirror, TablesMirror
from projections.model import READ_MODELS, Projection, Tables
from projections.models import Models
from projections.sessions import Sessions
from projections.tasks import Tasks
from projections.vector_index import VectorIndex, VectorsBeside
from projections.vector_mirror import VectorsMirror
from services.access.keys import tenant_of
from services.access.tokens import TokenSigner
from services.describing.matcher import Matcher
from services.extraction.extractor import Extractor
from services.extraction.model.budget import Budget
from services.forgetting.append_only import AppendOnlyFile
from services.forgetting.backups import BackupKeys, BackupProbe
from services.forgetting.caches import CacheLayer, CacheProbe
from services.forgetting.exported import Exported, ExportProbe
from services.forgetting.finisher import Finisher
from services.forgetting.foreign.directory import Directory
from services.forgetting.forget import Forgetter
from services.forgetting.keywords import KeywordProbe
from services.forgetting.layers import Registry
from services.forgetting.letters import DeadLetterProbe, DeadLetters
from services.forgetting.previews import Previews
from services.forgetting.purge import Purger
from services.forgetting.queues import QueueProbe
from services.forgetting.receipt import Signer
from services.forgetting.receipts import Receipts
from services.forgetting.reclaim import Reclaiming, Vacuumed, VaultTables, VectorFiles
from services.forgetting.retention import Retention
from services.forgetting.second_place import Tombstones
from services.forgetting.semantic import Answer, ReadPathProbe, VectorLayer, VectorLayerProbe
from services.forgetting.suspend import Suspender
from services.forgetting.tables import Followed, KeyProbe, Reads, table_probes
from services.forgetting.where import Locations, Locator
from services.forgetting.whole import Whole
from services.forgetting.whole_probes import AgentProbe, BodiesProbe, RowsProbe, VaultProbe, VectorsProbe
from services.forgetting.working import SUMMARIES, TASKS, WorkingTexts, WorkingTextsProbe
from services.governance.judge import GATES, Gate
from services.governance.policy import shipped_policy
from services.recall.cache import RecallCache
from services.recall.catalogue import Catalogue
from services.recall.contexts import Contexts
from services.recall.explain import Explainer
from services.recall.export import Exporter
from services.recall.reads import Traces
from services.recall.recall import Recall
from services.recall.register import Register
from services.remembering.choose import Chooser
from services.remembering.inbox import Inbox
from services.remembering.ingest import Ingest
from services.remembering.proposals import Proposals
from services.remembering.remember import Rememberer
from services.replay.asof import History
from services.replay.diff import Differ
from services.replay.journal import Journal
from services.summaries.expiry import SummaryExpiry
from services.summaries.rules import Rules as SummaryRules
from services.summaries.summaries import Summaries
from services.tasks.expiry import TaskExpiry
from services.tasks.tasks import Tasks as TaskStates
from services.upkeep.embedding import Embedding
from services.upkeep.expiry import Expiry, Shredder
from services.upkeep.fading import Capacity, Decay
from services.upkeep.merge import Merge, separate
from services.upkeep.reindex import Reindex
from services.upkeep.round import Round
from services.upkeep.rules import UpkeepRules, shipped_rules
from services.upkeep.tiers import Tiers, Use
from services.upkeep.withdrawal import Withdrawal
from services.wire.limits import Limits
from workers import backups, compare, erase, project, reclaim, remember, rewrite, roll, seal, upkeep
from workers.delivery import Delivery, Route
from workers.ingest import TurnStream
from workers.jobs import ERASE, REMEMBER, TURNS, Jobs
from workers.letters import LetterBox

Closer = Callable[[], Awaitable[None]]
Work = Callable[[], Awaitable[None]]

_PROBE_ANSWERS = 10
_PURGE_S = 120.0
_LAYERS: Mapping[str, str] = {"keywords": "keyword_index", "sessions": "recent_turns", "tasks": "task_state"}
_SIGN_S = 2.0
_TURNS_AT_ONCE = 2
_EMBEDDED_AT_ONCE = 50


@dataclass
class Composition:
    """Builds parts on first use and closes what it built.

    Args:
        settings: what the operator set.
        endpoints: where the stores are.
        gates: the gates of the judge; fewer only where it is measured what one is worth.
        extractor: what reads the turns, where it is not what the settings say.
    """

    settings: Settings
    endpoints: Endpoints
    gates: Sequence[Gate] = GATES
    extractor: Extractor | None = None
    _pools: dict[tuple[str, str | None], Database] = field(default_factory=dict)
    _vaults: dict[str, Vault] = field(default_factory=dict)
    _closers: list[Closer] = field(default_factory=list)

    async def migrate(self) -> None:
        """Bring both clusters to the newest schema; takes their owners."""
        await migrate(self.endpoints.database_url, "log", self.settings.logins)
        await migrate(self.endpoints.vault_url, "vault", self.settings.logins)

    async def require_whole(self) -> None:
        """See that no restore into the log is unfinished; takes its owner.

        Raises:
            CenotaphError: one is.
        """
        async with self.log(None).connection() as connection:
            await wall.require_none(connection)

    async def check(self, parts: Iterable[str]) -> None:
        """See whether both clusters have the schema that these parts need, as far as they may log in.

        Raises:
            CenotaphError: one has not, or lets them not in; says what to do.
        """
        held = logins_of(parts)
        for role in held.log:
            await check(self.log(role), "log")
        for role in held.vault:
            await check(self._pool(self.endpoints.vault_url, f"vault_{role}"), "vault")

    async def close(self) -> None:
        """Close everything that was built, newest first."""
        while self._closers:
            await self._closers.pop()()

    # ── stores ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def log(self, role: str | None) -> Database:
        """Return the pool of the log's cluster that logs in as a role, `cenotaph_` left out; None for the owner."""
        return self._pool(self.endpoints.database_url, role and f"cenotaph_{role}")

    def vault(self, role: str) -> Vault:
        """Return the vault under a role, `vault_` left out; one for all, so that their requests share statements."""
        if role not in self._vaults:
            pool = self._pool(self.endpoints.vault_url, f"vault_{role}")
            ahead = 0 if role == "eraser" else AHEAD  # who forgets leaves no key behind
            self._vaults[role] = Vault(pool, FileProvider(self.settings.keys), ahead)
        return self._vaults[role]

    @property
    def roller(self) -> Roller:
        """What rolls the vault's keys."""
        return Roller(self._pool(self.endpoints.vault_url, "vault_roller"), FileProvider(self.settings.keys))

    @property
    def schedule(self) -> Schedule:
        """When they roll."""
        settings = self.settings
        return Schedule(
            time.fromisoformat(settings.key_roll_at),
            timedelta(hours=settings.key_roll_every_h),
            timedelta(days=settings.key_copies_days),
        )

    def _pool(self, url: str, role: str | None) -> Database:
        if (url, role) not in self._pools:
            pool = Database(url, role, password=role and password_of(self.settings.logins, role))
            self._pools[url, role] = pool
            self._closers.append(pool.close)
        return self._pools[url, role]

    @cached_property
    def events(self) -> EventLog:
        """The log's write path."""
        log = EventLog(self.log("appender"))
        self._closers.append(log.close)
        return log

    @cached_property
    def milvus(self) -> Milvus:
        """The connection to the vector index."""
        milvus = Milvus(self.endpoints.milvus_uri, answer_s=self.settings.vectors_within_ms / 1000)
        self._closers.append(milvus.close)
        return milvus

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector index."""
        return VectorIndex(self.milvus, IndexReader(self.vault("opener")))

    @cached_property
    def beside(self) -> VectorsBeside:
        """The vector index of another model, while there is one."""
        return VectorsBeside(self.milvus, IndexReader(self.vault("opener")))

    @property
    def embedding(self) -> Embedding:
        """Makes the vectors of another model."""
        return Embedding(self.log("eraser"), self.vault("eraser"), self.models)

    @property
    def reindex(self) -> Reindex:
        """Changes the model of the vector index."""
        projector, eraser, opener = self.log("projector"), self.log("eraser"), self.vault("opener")
        return Reindex(projector, eraser, opener, self.embedding, self.beside, self.models)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        embedder = Embedder()

        async def close() -> None:
            embedder.close()

        self._closers.append(close)
        return embedder

    @cached_property
    def models(self) -> Models:
        """Every embedding model of this build, loaded when it is asked."""
        models = Models(lambda: self.embedder)

        async def close() -> None:
            models.close()

        self._closers.append(close)
        return models

    @cached_property
    def jobs(self) -> Jobs:
        """Where jobs are queued."""
        jobs = Jobs(self.endpoints.redis_url)
        self._closers.append(jobs.close)
        return jobs

    # ── services ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def limits(self) -> Limits:
        """How much one request may carry."""
        return Limits(
            max_messages=self.settings.max_messages,
            max_message_chars=self.settings.max_message_chars,
            max_skew=timedelta(seconds=self.settings.max_future_skew_s),
            max_body_bytes=self.settings.max_body_bytes,
        )

    @cached_property
    def tokens(self) -> TokenSigner:
        """Mints and checks short tokens."""
        return TokenSigner(Ed25519PrivateKey.from_private_bytes(key_file(self.settings.keys / "tokens.key")))

    @cached_property
    def recall(self) -> Recall:
        """Finds memories."""
        rewriter = rewriter_of(self.settings, self.model_budget)
        if rewriter is not None:
            self._closers.append(rewriter.close)
        parts = (self.log("reader"), self.vault("keeper"), self.vectors, self.models, self.recall_cache)
        return Recall(*parts, rewriter=rewriter)

    @cached_property
    def model_budget(self) -> Budget:
        """What this process may use of a model in a day."""
        return budget_of(self.settings)

    @cached_property
    def recall_cache(self) -> RecallCache:
        """What recall found lately."""
        return RecallCache(self.settings.recall_cache_s, self.counters)

    @cached_property
    def counters(self) -> CollectorRegistry:
        """What `/metrics` shows of this process."""
        return CollectorRegistry()

    @cached_property
    def matcher(self) -> Matcher:
        """Finds what somebody describes."""
        return Matcher(self.embedder, shipped_policy().about)

    @cached_property
    def reader_of_turns(self) -> Extractor:
        """What reads the turns."""
        if self.extractor is not None:
            return self.extractor
        rules = rules_of(self.embedder)
        model = model_of(self.settings, rules, self.model_budget, self.counters)
        if model is None:
            return rules
        self._closers.append(model.close)
        return model

    @cached_property
    def ingest(self) -> Ingest:
        """Stores turns."""
        return Ingest(self.vault("keeper"), self.events, self.log("reader"), self.log("appender"))

    @cached_property
    def letters(self) -> DeadLetters:
        """Keeps what could not be handled."""
        return DeadLetters(self.log("eraser"), self.vault("keeper"))

    @property
    def _parking(self) -> DeadLetters:
        """The dead letters of those who may only add to them."""
        return DeadLetters(self.log("appender"), self.vault("keeper"))

    @cached_property
    def api_keys(self) -> ApiKeys:
        """The callers' keys; adding one takes the owner."""
        return ApiKeys(self.log("reader"))

    async def tenant_of(self, key: str) -> TenantId:
        """Return whose API key this is.

        Raises:
            BadInputError: nobody's.
        """
        tenant = await tenant_of(self.api_keys, key)
        if tenant is None:
            raise BadInputError("the API key is not valid")
        return tenant

    async def create_tenant(self) -> tuple[TenantId, str]:
        """Make a tenant with an API key; the key is shown once."""
        tenant = await self.vault("keeper").create_tenant()
        return tenant, await ApiKeys(self.log(None)).create(tenant)

    async def register_system(self, tenant: TenantId, system: str, owns: frozenset[str]) -> str:
        """Register a business system of a tenant as the owner of semantic keys; its key is shown once."""
        return await ApiKeys(self.log(None)).register(tenant, system, owns)

    @cached_property
    def backend(self) -> System:
        """Everything behind the door."""
        reader, keeper = self.log("reader"), self.vault("keeper")
        return System(
            ingest=self.ingest,
            proposals=Proposals(self.ingest, self.api_keys),
            contexts=Contexts(reader, keeper, self.recall, shipped_policy()),
            catalogue=Catalogue(reader, keeper),
            forgetter=Forgetter(self.log("appender"), reader, keeper),
            previews=Previews(reader, keeper, self.embedder, self.matcher),
            suspender=Suspender(self.events, reader),
            chooser=Chooser(keeper, self.events, reader, shipped_policy()),
            waiting=Inbox(keeper, self.events, reader, self.embedder),
            explainer=Explainer(reader, keeper),
            locations=Locations(reader),
            traces=Traces(reader, keeper),
            exporter=Exporter(reader, keeper, Catalogue(reader, keeper), Register(reader)),
            register=Register(reader),
            receipt_book=Receipts(reader, keeper, self.schedule),
            task_states=TaskStates(keeper, self.log("appender"), reader),
            vault=keeper,
            keys=self.api_keys,
            reader=reader,
            stores=self.signs,
        )

    @property
    def signs(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """How to ask each store for a sign of life."""
        return {
            "log": self._sign_of_log,
            "vault": self._sign_of_vault,
            "redis": self._sign_of_redis,
            "vectors": self._sign_of_vectors,
        }

    async def _sign_of_log(self) -> None:
        async with self.log("reader").connection() as connection:
            await connection.fetchval("select 1")

    async def _sign_of_vault(self) -> None:
        async with self._pool(self.endpoints.vault_url, "vault_keeper").connection() as connection:
            await connection.fetchval("select 1")

    async def _sign_of_redis(self) -> None:
        client = redis.from_url(self.endpoints.redis_url)
        try:
            await client.ping()
        except RedisError as error:
            raise UnavailableError("redis does not answer") from error
        finally:
            await client.aclose()

    async def _sign_of_vectors(self) -> None:
        await self.milvus.read(lambda: self.milvus.call("", lambda client: client.list_collections(timeout=_SIGN_S)))

    @cached_property
    def registry(self) -> Registry:
        """Every layer that may hold a memory, and the probe that asks it."""
        eraser, prober = self.log("eraser"), self.log("prober")
        letters_read = DeadLetters(prober, self.vault("opener"))
        vectors = VectorLayerProbe(prober, self.endpoints.milvus_uri)
        queues = QueueProbe(self.endpoints.redis_url)
        self._closers += [vectors.close, queues.close]
        return Registry(
            layers=(
                Followed("facts", "facts", eraser),
                Followed("keyword_index", "keywords", eraser),
                Followed("recent_turns", "sessions", eraser),
                VectorLayer(eraser, self.vectors),
                WorkingTexts(TASKS, eraser, self.vault("eraser")),
                WorkingTexts(SUMMARIES, eraser, self.vault("eraser")),
                Reads(eraser),
                CacheLayer(self.recall_cache),
                Exported(eraser),
                DeadLetters(eraser, self.vault("eraser")),
                self.append_only_file,
            ),
            probes=(
                *table_probes(prober),
                KeywordProbe(prober),
                KeyProbe(self.vault("opener")),
                vectors,
                ReadPathProbe(self._ask),
                queues,
                DeadLetterProbe(letters_read),
                CacheProbe(self.recall_cache),
                WorkingTextsProbe(TASKS, prober, self.vault("opener")),
                WorkingTextsProbe(SUMMARIES, prober, self.vault("opener")),
                ExportProbe(prober),
                BackupProbe(prober),
            ),
            foreign=self.directory,
        )

    @cached_property
    def whole_registry(self) -> Registry:
        """Every layer, and its probe, of a person or a tenant that is forgotten as a whole."""
        eraser, prober = self.log("eraser"), self.log("prober")
        queues = QueueProbe(self.endpoints.redis_url)
        self._closers.append(queues.close)
        tables = [model for model in READ_MODELS if model != self.vectors.name]
        return Registry(
            layers=(
                *(Followed(_LAYERS.get(model, model), model, eraser) for model in tables),
                VectorLayer(eraser, self.vectors),
                Whole(eraser, self.vault("eraser")),
                CacheLayer(self.recall_cache),
                Exported(eraser),
                self.append_only_file,
            ),
            probes=(
                BodiesProbe(prober),
                *(RowsProbe(_LAYERS.get(model, model), prober, model) for model in tables),
                RowsProbe("records", prober, None),
                VaultProbe(self.vault("opener")),
                VectorsProbe(prober, self.endpoints.milvus_uri),
                AgentProbe(self._ask),
                queues,
                CacheProbe(self.recall_cache),
                ExportProbe(prober),
                RowsProbe(SUMMARIES.layer, prober, SUMMARIES.model),
                BackupProbe(prober),
            ),
            wait_s=_PURGE_S,
            answer_s=_PURGE_S,
            foreign=self.directory,
        )

    @cached_property
    def append_only_file(self) -> AppendOnlyFile:
        """The file that Redis writes."""
        file = AppendOnlyFile(self.endpoints.redis_url)
        self._closers.append(file.close)
        return file

    async def _ask(self, scope: Scope, text: str) -> Sequence[Answer]:
        """Ask the read path as an agent would."""
        found = await self.recall.recall(scope, text)
        self.recall_cache.drop(scope)  # what was asked here is what was forgotten
        if found.degraded:
            raise UnavailableError("a path of recall does not answer, so what it would return is not known")
        return [
            Answer(each.fact.memory_id, each.body, min(each.fact.occurred_at, each.fact.recorded_at))
            for each in found.recalled[:_PROBE_ANSWERS]
        ]

    @cached_property
    def finisher(self) -> Finisher:
        """Carries out erasures."""
        return Finisher(
            self.log("eraser"),
            self.vault("eraser"),
            self.registry,
            Tombstones(self.second_place),
            Signer(self.settings.keys),
            whole=self.whole_registry,
            schedule=self.schedule,
        )

    @cached_property
    def directory(self) -> Directory:
        """The layers of other applications."""
        directory = Directory(self.log("eraser"), self.log("prober"), self.settings.keys)
        self._closers.append(directory.close)
        return directory

    @property
    def owners_directory(self) -> Directory:
        """The same, where it may be changed."""
        return Directory(self.log(None), self.log(None), self.settings.keys)

    @cached_property
    def locator(self) -> Locator:
        """Says where a memory is."""
        return Locator(self.log("eraser"), self.log("prober"), self.registry)

    # ── workers ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def projections(self) -> dict[str, Projection]:
        """Return every read model by name (`projections.model.READ_MODELS`)."""
        index = IndexReader(self.vault("opener"))
        models: tuple[Projection, ...] = (Facts(index), Keywords(index), Sessions(), Tasks(), self.vectors)
        return {model.name: model for model in models}

    def differ(self, *names: str, batch: int = 500, rest: float = 0) -> Differ:
        """Compare read models with the log: those named, or all."""
        mirrors: dict[str, Mirror] = {
            name: TablesMirror(model)
            if isinstance(model, Tables)
            else VectorsMirror(self.milvus, IndexReader(self.vault("opener")))
            for name, model in self.projections().items()
            if not names or name in names
        }
        return Differ(self.log("projector"), mirrors, batch=batch, rest=rest)

    @cached_property
    def journal(self) -> Journal:
        """Reads the log again, for one tenant."""
        return Journal(self.log("prober"), self.log("reader"), self.vault("opener"))

    @cached_property
    def history(self) -> History:
        """Reads one person's memory as it was."""
        return History(self.log("reader"), self.vault("opener"))

    def delivery(self, *routes: Route) -> Delivery:
        """Consume Redis streams."""
        return Delivery(self.endpoints.redis_url, routes, self.settings.delivery_cap, self.settings.reclaim_idle_ms)

    def workers(self) -> dict[str, tuple[Sequence[Work], Sequence[Callable[[], Route]]]]:
        """Return every worker by name: loops it runs, and routes it consumes."""
        comparing = [self._compare] if self.settings.compare_every_s else []
        return {
            # what starts last is stopped first: the last checkpoint covers all that was sealed
            "seal": ([self._checkpoint, lambda: seal.seal(Sealer(self.log("sealer")))], []),
            "project": ([self._project, self._reclaim_vectors, *comparing], []),
            "ingest": ([self._rewrite], [lambda: self._turns().route()]),
            "remember": (
                [self._sweep],
                [lambda: self._remembering(self._parking).route(self._turns_at_once)],
            ),
            "upkeep": ([self._upkeep, self._expire_backup_keys], []),
            "erase": (
                [
                    lambda: erase.resume(self.finisher),
                    lambda: erase.locate(self.locator, self.log("eraser").url),
                    self._reclaim_tables,
                ],
                [lambda: erase.EraseJobs(self.finisher, self.letters).route()],
            ),
            "roll": ([lambda: roll.roll(self.roller, self.schedule)], []),
        }

    @property
    def letter_box(self) -> LetterBox:
        """Dead letters, with the handlers of their streams."""
        return LetterBox(
            DeadLetters(self.log("eraser"), self.vault("eraser")),
            {
                TURNS: self._turns,
                REMEMBER: lambda: self._remembering(self._parking),
                ERASE: lambda: erase.EraseJobs(self.finisher, self.letters),
            },
        )

    def _turns(self) -> TurnStream:
        return TurnStream(self.ingest, self.tokens.verifier, self._parking, self.limits)

    @property
    def second_place(self) -> Place:
        """Where lies what must not depend on the database."""
        return Folder(self.settings.second_place)

    @property
    def installation(self) -> Installation:
        """Where the raw files are; takes the owner of both clusters."""
        owners = {"log": self.log(None), "vault": self._vault_owner}
        return Installation(self.settings, self.log("prober"), owners, self.vectors)

    @property
    def backed_up(self) -> Sources:
        """What a backup is taken of; takes the owner of both clusters."""
        place, keys = current(self.second_place), self.settings.keys
        return Sources(self.log(None), self._vault_owner, FileProvider(keys), Checkpointer(self.log(None), place, keys))

    @property
    def target(self) -> Target:
        """Where a backup is restored to; takes the owner of both clusters."""
        owner, settings = self.log(None), self.settings
        return Target(
            owner,
            self._vault_owner,
            FileProvider(settings.keys),
            self.second_place,
            settings.keys,
            self.projections(),
            Proof(owner, self.vault("opener"), self.endpoints.milvus_uri),
        )

    @property
    def _vault_owner(self) -> Database:
        return self._pool(self.endpoints.vault_url, None)

    @property
    def checkpointer(self) -> Checkpointer:
        """Signs the log's head."""
        return Checkpointer(self.log("sealer"), current(self.second_place), self.settings.keys)

    async def _checkpoint(self) -> None:
        settings = self.settings
        await seal.checkpoint(self.checkpointer, settings.checkpoint_every_s, settings.checkpoint_every_events)

    @cached_property
    def expiry(self) -> Round:
        """Ends what was kept as long as it may be; looked at all the time."""
        eraser = self.log("eraser")
        return Round(Expiry(eraser, self.settings.message_days), TaskExpiry(eraser), SummaryExpiry(eraser))

    def tidying(self, rules: UpkeepRules | None = None, capacity: Mapping[Kind, int] | None = None) -> Round:
        """What upkeep looks at once a day, in the order in which one job prepares for the next."""
        eraser, rules = self.log("eraser"), rules or shipped_rules()
        forgetter = Forgetter(self.log("appender"), self.log("reader"), self.vault("keeper"))
        return Round(
            Withdrawal(eraser, self.vault("eraser"), forgetter),
            Use(eraser, rules),
            Decay(eraser, rules),
            Merge(eraser, self.vault("eraser"), rules),
            Capacity(eraser, capacity or shipped_policy().capacity, rules),
            Tiers(eraser, rules),
        )

    async def separate(self, memory: MemoryId) -> None:
        """Let a merged memory stand for itself again."""
        await separate(self.log("eraser"), memory)

    @cached_property
    def retention(self) -> Retention:
        """Ends the record of reads."""
        return Retention(self.log("eraser"), self.settings.read_days)

    @cached_property
    def shredder(self) -> Follower:
        """Destroys what has expired."""
        return Follower(Shredder(self.vault("eraser")), self.log("eraser"))

    async def _upkeep(self) -> None:
        every_s = (self.settings.upkeep_every_s, self.settings.tidy_every_s)
        rounds = (self.expiry, self.tidying(), self.retention)
        followers = (self.shredder, Follower(self.embedding, self.log("eraser"), _EMBEDDED_AT_ONCE))
        await upkeep.upkeep(*rounds, followers, self.log("eraser").url, every_s)

    async def _expire_backup_keys(self) -> None:
        await backups.expire(BackupKeys(self.log("eraser")), self.settings.upkeep_every_s)

    @cached_property
    def purger(self) -> Purger:
        """Signs second receipts."""
        queues = QueueProbe(self.endpoints.redis_url)
        self._closers.append(queues.close)
        return Purger(
            self.log("eraser"),
            self.vault("opener"),
            queues,
            Signer(self.settings.keys),
            copies=self.schedule.copies,
            within=timedelta(hours=self.settings.purge_within_h),
        )

    @property
    def reclaiming_tables(self) -> Reclaiming:
        """Vacuums the tables of both clusters."""
        eraser = self.log("eraser")
        return Reclaiming(eraser, Vacuumed(eraser), VaultTables(self.vault("eraser")))

    @property
    def reclaiming_vectors(self) -> Reclaiming:
        """Writes the vector index anew, in the process that writes to it."""
        projector = self.log("projector")
        return Reclaiming(projector, VectorFiles(Follower(self.vectors, projector), projector))

    async def _reclaim_tables(self) -> None:
        tables = self.reclaiming_tables

        async def step() -> int:
            await tables.step()
            await self.append_only_file.reclaim()
            return await self.purger.step()

        await reclaim.reclaim(step, self.settings.purge_every_s)

    async def _reclaim_vectors(self) -> None:
        await reclaim.reclaim(self.reclaiming_vectors.step, self.settings.purge_every_s)

    async def _rewrite(self) -> None:
        await rewrite.rewrite(self.append_only_file, self.settings.rewrite_every_s)

    async def _sweep(self) -> None:
        # a turn that a model is still reading is not lost
        reading_s = self.settings.model_within_s if self.settings.model_url else 0
        await remember.sweep(self.log("projector"), self.jobs, self.settings.sweep_after_s + reading_s)

    @property
    def _turns_at_once(self) -> int:
        return max(_TURNS_AT_ONCE, self.settings.model_at_once if self.settings.model_url else 0)

    async def _project(self) -> None:
        projector = self.log("projector")
        models = [*self.projections().values(), self.beside, project.Dispatch(self.jobs)]
        followers = [Follower(model, projector) for model in models]
        await project.project(followers, projector.url, self.reindex.retire)

    async def _compare(self) -> None:
        # small batches and as much rest as work: the same event loop may serve requests
        differ = self.differ(batch=100, rest=1)
        await compare.compare(compare.Comparison(self.log("projector"), differ, self.settings.compare_every_s))

    @cached_property
    def summaries(self) -> Summaries:
        """Writes summaries of sessions."""
        appender, reader = self.log("appender"), self.log("reader")
        return Summaries(self.vault("keeper"), appender, reader, SummaryRules(), days=self.settings.message_days)

    def _remembering(self, letters: DeadLetters) -> remember.RememberJobs:
        return remember.RememberJobs(self._rememberer(), letters, self.summaries)

    def _rememberer(self) -> Rememberer:
        return Rememberer(
            self.vault("keeper"),
            self.events,
            projector=self.log("projector"),
            reader=self.log("reader"),
            embedder=self.embedder,
            extractor=self.reader_of_turns,
            policy=shipped_policy(),
            gates=self.gates,
            owners=self.api_keys,
        )
