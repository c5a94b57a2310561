"""What a model is asked for, by the settings: to read turns and sum them up, with the rules behind it; queries."""

import structlog
from prometheus_client import CollectorRegistry

from ops.settings import Settings
from projections.embedding import Embedder
from services.context.tokenizer import count_tokens
from services.extraction.exemplars import sense_of, shipped
from services.extraction.extractor import Rules
from services.extraction.model.breaker import Breaker
from services.extraction.model.budget import Allowance, Budget
from services.extraction.model.endpoint import Endpoint
from services.extraction.model.extractor import Limits, ModelExtractor
from services.recall.rewriting import FORM, OUTPUT_TOKENS, Rewriter
from services.summaries.model import FORM as SUMMARY_FORM
from services.summaries.model import Bounds, ModelDrafter

log = structlog.stdlib.get_logger("cenotaph.reading")

_MAX_ANSWER_BYTES = 512 * 1024
_FAILURES = 5
_PAUSE_S = 30.0


def rules_of(embedder: Embedder) -> Rules:
    """Build the rules, with the examples where they are of the embedder's model."""
    exemplars = shipped()
    sense = sense_of(embedder, exemplars)
    if sense is None:
        log.warning("exemplars_of_another_model", learnt_for=exemplars.model_id, embedder=embedder.model_id)
    return Rules(sense, exemplars.version)


def budget_of(settings: Settings) -> Budget:
    """Return what a process may use of the model in a day, whatever it asks it for."""
    return Budget(
        process=Allowance(settings.model_calls_a_day, settings.model_tokens_a_day),
        tenant=Allowance(settings.model_tenant_calls_a_day, settings.model_tenant_tokens_a_day),
    )


def rewriter_of(settings: Settings, budget: Budget) -> Rewriter | None:
    """Build what rewrites queries; None where the settings do not ask for it."""
    if not settings.recall_rewrites or settings.model_url is None or settings.model_name is None:
        return None
    within_s = settings.recall_rewrite_ms / 1000
    endpoint = Endpoint(
        settings.model_url,
        settings.model_name,
        settings.model_key,
        try_s=within_s,
        max_bytes=_MAX_ANSWER_BYTES,
        max_tokens=OUTPUT_TOKENS,
        form=FORM,
    )
    return Rewriter(endpoint, budget, Breaker(_FAILURES, _PAUSE_S), within_s, count_tokens)


def drafter_of(settings: Settings, budget: Budget) -> ModelDrafter | None:
    """Build what lets the model write summaries; None where the settings do not ask for it."""
    if not settings.model_sums_up or settings.model_url is None or settings.model_name is None:
        return None
    endpoint = Endpoint(
        settings.model_url,
        settings.model_name,
        settings.model_key,
        try_s=settings.model_try_s,
        max_bytes=_MAX_ANSWER_BYTES,
        max_tokens=settings.model_output_tokens,
        form=SUMMARY_FORM,
    )
    bounds = Bounds(settings.model_within_s, settings.model_input_tokens, settings.model_output_tokens)
    return ModelDrafter(settings.model_name, endpoint, budget, Breaker(_FAILURES, _PAUSE_S), bounds, count_tokens)


def model_of(settings: Settings, rules: Rules, budget: Budget, registry: CollectorRegistry) -> ModelExtractor | None:
    """Build the extractor over the model of the settings, and the rules it falls back to; None where they name none."""
    if settings.model_url is None or settings.model_name is None:
        return None
    endpoint = Endpoint(
        settings.model_url,
        settings.model_name,
        settings.model_key,
        try_s=settings.model_try_s,
        max_bytes=_MAX_ANSWER_BYTES,
        max_tokens=settings.model_output_tokens,
    )
    limits = Limits(
        within_s=settings.model_within_s,
        tries=settings.model_tries,
        at_once=settings.model_at_once,
        input_tokens=settings.model_input_tokens,
        output_tokens=settings.model_output_tokens,
    )
    return ModelExtractor(
        settings.model_name,
        endpoint,
        budget=budget,
        breaker=Breaker(_FAILURES, _PAUSE_S),
        limits=limits,
        count=count_tokens,
        rules=rules,
        registry=registry,
    )
