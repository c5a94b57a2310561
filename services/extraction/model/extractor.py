"""The model extractor: what of its proposals is grounded stands, and where it fails the rules stand in for it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
from prometheus_client import CollectorRegistry, Counter
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from events.model import TenantId, Turn, TurnStatus
from services.extraction.extract import distinct
from services.extraction.extractor import Extracted, Rules
from services.extraction.model.answer import Proposed, read_answer
from services.extraction.model.booked import ask
from services.extraction.model.breaker import Breaker
from services.extraction.model.budget import Budget
from services.extraction.model.endpoint import Endpoint
from services.extraction.model.excerpt import Count, excerpt
from services.extraction.model.failure import PASSING, Fallback, ModelError
from services.extraction.model.grounding import ground
from services.extraction.model.prompt import prompt

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one turn may cost.

    `within_s` bounds everything, waiting and further tries included; `tries` says how often a turn is sent at most,
    with pauses from `pause_s` on; `at_once` how many turns are sent side by side; `input_tokens` and `output_tokens`
    how much of a turn is shown and how much may be answered.
    """

    within_s: float
    tries: int
    at_once: int
    input_tokens: int
    output_tokens: int
    pause_s: float = 0.5


class ModelExtractor:
    """Asks a model what a turn says; whatever goes wrong, the rules' candidates stand and the reason is named.

    Args:
        model: the model's name.
        endpoint: where it is asked.
        budget: what may be used in a day.
        breaker: leaves an endpoint alone that keeps failing.
        limits: what one turn may cost.
        registry: where turns that the rules read instead are counted, by reason.
        count: how many tokens a text costs.
        rules: what reads a turn first, and alone where the model fails.
    """

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        *,
        budget: Budget,
        breaker: Breaker,
        limits: Limits,
        count: Count,
        rules: Rules,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self.name = f"model/{prompt().version}:{model}"
        self._rules = rules
        self._endpoint = endpoint
        self._budget = budget
        self._breaker = breaker
        self._limits = limits
        self._count = count
        self._fallbacks = Counter(
            "cenotaph_model_fallbacks",
            "Turns that the rules read because the model failed.",
            ("reason",),
            registry=registry or CollectorRegistry(),
        )
        self._places = asyncio.Semaphore(limits.at_once)

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self._endpoint.close()

    async def extract(self, tenant: TenantId, turn: Turn) -> Extracted:
        """Propose what a finished turn says about the person.

        What not to remember comes from the rules alone, and before anything is sent: it is not shown to the model.
        """
        rules = await self._rules.extract(tenant, turn)
        if turn.status is not TurnStatus.COMPLETED:
            return rules
        try:
            return await self._read(tenant, turn, rules)
        except ModelError as error:
            reason = error.reason
        except Exception as error:  # noqa: BLE001 - whatever a model's answer meets, the turn is read all the same
            reason = Fallback.FAILED
            log.warning("model_broke_off", error=type(error).__name__)
        log.warning("rules_stood_in", reason=reason.value)
        self._fallbacks.labels(reason.value).inc()
        return rules.model_copy(update={"fallback": reason.value})

    async def _read(self, tenant: TenantId, turn: Turn, rules: Extracted) -> Extracted:
        found = rules.extraction
        shown = await asyncio.to_thread(excerpt, turn, found.suppressions, self._limits.input_tokens, self._count)
        if not shown.said:
            return rules
        proposed = await self._ask(tenant, [said.shown for said in shown.said])
        candidates, notes = await asyncio.to_thread(ground, proposed, shown, turn.occurred_at)
        if shown.cut:  # what the model could not be shown, the rules have read
            candidates = tuple(distinct([*candidates, *(each for each in found.candidates if shown.missed(each))]))
            notes["cut"] = shown.cut
        extraction = found.model_copy(update={"candidates": candidates})
        return Extracted(extraction=extraction, extractor=self.name, notes=dict(notes))

    async def _ask(self, tenant: TenantId, said: list[str]) -> tuple[Proposed, ...]:
        messages = prompt().messages(said)
        deadline = asyncio.get_running_loop().time() + self._limits.within_s
        async with self._place(deadline):
            with self._breaker.guard():
                try:
                    async with asyncio.timeout_at(deadline):
                        return await self._retrying()(self._try, tenant, messages)
                except TimeoutError:
                    raise ModelError(Fallback.TOO_SLOW) from None

    @asynccontextmanager
    async def _place(self, deadline: float) -> AsyncIterator[None]:
        """Wait for one of the places side by side; that none comes free is no fault of the endpoint."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._places.acquire()
        except TimeoutError:
            raise ModelError(Fallback.BUSY) from None
        try:
            yield
        finally:
            self._places.release()

    async def _try(self, tenant: TenantId, messages: Sequence[dict[str, str]]) -> tuple[Proposed, ...]:
        output = self._limits.output_tokens
        return read_answer(await ask(self._endpoint, self._budget, tenant, messages, self._count, output))

    def _retrying(self) -> AsyncRetrying:
        limits = self._limits
        return AsyncRetrying(
            stop=stop_after_attempt(limits.tries) | stop_before_delay(limits.within_s),
            wait=self._pause,
            retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.reason in PASSING),
            reraise=True,
        )

    def _pause(self, state: RetryCallState) -> float:
        """Wait as long as the endpoint asks, else longer each time and by chance, so that not all come back at once."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait_s if isinstance(error, ModelError) else None
        return max(asked or 0.0, wait_random_exponential(self._limits.pause_s)(state))
