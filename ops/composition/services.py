"""What stands behind the door, and what reads and remembers turns."""

from datetime import timedelta
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client import CollectorRegistry

from events.errors import BadInputError
from events.keyfile import key_file
from events.model import TenantId
from ops.backend import System
from ops.composition.read_models import ReadModels
from ops.keystore import ApiKeys
from ops.reading import budget_of, drafter_of, model_of, rewriter_of, rules_of
from services.access.keys import tenant_of
from services.access.tokens import TokenSigner
from services.describing.matcher import Matcher
from services.extraction.extractor import Extractor
from services.extraction.model.budget import Budget
from services.forgetting.forget import Forgetter
from services.forgetting.letters import DeadLetters
from services.forgetting.previews import Previews
from services.forgetting.receipts import Receipts
from services.forgetting.suspend import Suspender
from services.forgetting.where import Locations
from services.governance.policy import shipped_policy
from services.recall.cache import RecallCache
from services.recall.catalogue import Catalogue
from services.recall.contexts import Contexts
from services.recall.explain import Explainer
from services.recall.export import Exporter
from services.recall.profile import Profiles
from services.recall.reads import Traces
from services.recall.recall import Recall
from services.recall.register import Register
from services.remembering.choose import Chooser
from services.remembering.inbox import Inbox
from services.remembering.ingest import Ingest
from services.remembering.move import Mover
from services.remembering.proposals import Proposals
from services.remembering.remember import Rememberer
from services.summaries.rules import Rules as SummaryRules
from services.summaries.summaries import Summaries
from services.tasks.tasks import Tasks as TaskStates
from services.wire.limits import Limits


class Services(ReadModels):
    """What stands behind the door, and what reads and remembers turns."""

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
    def counters(self) -> CollectorRegistry:
        """What `/metrics` shows of this process."""
        return CollectorRegistry()

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
    def summaries(self) -> Summaries:
        """Writes summaries of sessions."""
        model = drafter_of(self.settings, self.model_budget)
        if model is not None:
            self._closers.append(model.close)
        appender, reader, drafter = self.log("appender"), self.log("reader"), model or SummaryRules()
        return Summaries(self.vault("keeper"), appender, reader, drafter, days=self.settings.message_days)

    @property
    def rememberer(self) -> Rememberer:
        """Turns what was said into memories."""
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

    @cached_property
    def backend(self) -> System:
        """Everything behind the door."""
        reader, keeper = self.log("reader"), self.vault("keeper")
        return System(
            ingest=self.ingest,
            proposals=Proposals(self.ingest, self.api_keys),
            contexts=Contexts(reader, keeper, self.recall, shipped_policy()),
            catalogue=Catalogue(reader, keeper),
            profiles=Profiles(reader, keeper, shipped_policy().profile),
            forgetter=Forgetter(self.log("appender"), reader, keeper),
            previews=Previews(reader, keeper, self.embedder, self.matcher),
            suspender=Suspender(self.events, reader),
            chooser=Chooser(keeper, self.events, reader, shipped_policy()),
            mover=Mover(keeper, self.events, reader, self.embedder),
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
