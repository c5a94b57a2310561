"""Every layer that can hold a memory, and what erases, proves, purges and restores."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property

from events.checkpointer import Checkpointer
from events.errors import UnavailableError
from events.model import Scope
from events.provider import FileProvider
from ops.backup.proof import Proof
from ops.backup.restore import Target
from ops.backup.write import Sources
from ops.composition.services import Services
from ops.residue import Installation
from projections.model import READ_MODELS
from services.forgetting.append_only import AppendOnlyFile
from services.forgetting.backups import BackupProbe
from services.forgetting.caches import CacheLayer, CacheProbe
from services.forgetting.exported import Exported, ExportProbe
from services.forgetting.finisher import Finisher
from services.forgetting.foreign.directory import Directory
from services.forgetting.keywords import KeywordProbe
from services.forgetting.layers import Registry
from services.forgetting.letters import DeadLetterProbe, DeadLetters
from services.forgetting.purge import Purger
from services.forgetting.queues import QueueProbe
from services.forgetting.receipt import Signer
from services.forgetting.recent import RecentTurns, RecentTurnsProbe
from services.forgetting.reclaim import Reclaiming, Vacuumed, VaultTables, VectorFiles
from services.forgetting.second_place import Tombstones
from services.forgetting.semantic import Answer, ReadPathProbe, VectorLayer, VectorLayerProbe
from services.forgetting.tables import Followed, KeyProbe, Reads, table_probes
from services.forgetting.where import Locator
from services.forgetting.whole import Whole
from services.forgetting.whole_probes import AgentProbe, BodiesProbe, RowsProbe, VaultProbe, VectorsProbe
from services.forgetting.working import SUMMARIES, TASKS, WorkingTexts, WorkingTextsProbe

_PROBE_ANSWERS = 10
_PURGE_S = 120.0
_LAYERS: Mapping[str, str] = {"keywords": "keyword_index", "sessions": "recent_turns", "tasks": "task_state"}


class Erasing(Services):
    """Every layer that can hold a memory, and what erases, proves, purges and restores."""

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
                RecentTurns(eraser, self.vault("eraser")),
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
                RecentTurnsProbe(prober, self.vault("opener")),
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
            prepare_s=self.settings.prepare_within_ms / 1000,
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
        return Reclaiming(projector, VectorFiles(self.vectors, projector))

    @property
    def installation(self) -> Installation:
        """Where the raw files are; takes the owner of both clusters."""
        owners = {"log": self.log(None), "vault": self._vault_owner}
        return Installation(self.settings, self.log("prober"), owners, self.vectors)

    @property
    def backed_up(self) -> Sources:
        """What a backup is taken of; takes the owner of both clusters."""
        place, keys = self.second_place, self.settings.keys
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
