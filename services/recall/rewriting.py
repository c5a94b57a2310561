"""Rewriting a query with a model (HyDE, Gao et al. 2023): a note as it might answer it lies nearer to one that does.

What the model writes is never kept and never shown: it becomes part of one vector. Whatever goes wrong, the query
stands as it is.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any, Final

import structlog
import yaml
from pydantic import StringConstraints, ValidationError

from events.model import Frozen, TenantId
from services.extraction.model.booked import ask
from services.extraction.model.breaker import Breaker
from services.extraction.model.budget import Budget
from services.extraction.model.endpoint import Endpoint
from services.extraction.model.excerpt import Count
from services.extraction.model.failure import Fallback, ModelError
from services.extraction.wording import is_chinese

OUTPUT_TOKENS: Final = 200
FORM: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"note": {"type": "string"}},
    "required": ["note"],
    "additionalProperties": False,
}
_CLOSING: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
log = structlog.get_logger(__name__)


class _Answer(Frozen):
    note: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


@dataclass(frozen=True)
class Rewriter:
    """Asks a model for a note that would answer a query.

    Args:
        endpoint: where, with the form of the answer.
        budget: what may be used in a day, shared with whoever else asks models.
        breaker: leaves an endpoint alone that keeps failing.
        within_s: how long a recall waits for it.
        count: how many tokens a text costs.
    """

    endpoint: Endpoint
    budget: Budget
    breaker: Breaker
    within_s: float
    count: Count

    async def rewrite(self, tenant: TenantId, query: str) -> str | None:
        """Return a note that would answer the query, None where the model gives none."""
        try:
            with self.breaker.guard():
                try:
                    async with asyncio.timeout(self.within_s):
                        return await self._ask(tenant, query)
                except TimeoutError:
                    raise ModelError(Fallback.TOO_SLOW) from None
        except ModelError as error:
            reason = error.reason
        except Exception as error:  # noqa: BLE001 - whatever a model's answer meets, the query is asked as it is
            reason = Fallback.FAILED
            log.warning("model_broke_off", error=type(error).__name__)
        log.warning("query_not_rewritten", reason=reason.value)
        return None

    async def _ask(self, tenant: TenantId, query: str) -> str:
        messages = _messages(query)
        text = await ask(self.endpoint, self.budget, tenant, messages, self.count, OUTPUT_TOKENS)
        try:
            return _Answer.model_validate_json(text).note
        except ValidationError:
            raise ModelError(Fallback.BAD_ANSWER) from None

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self.endpoint.close()


def _messages(query: str) -> list[dict[str, str]]:
    """Write a request: instructions in the language of the query, then the query as JSON, which no text gets out of."""
    data = json.dumps({"query": query}, ensure_ascii=False).translate(_CLOSING)
    return [
        {"role": "system", "content": _prompt()["zh" if is_chinese(query) else "en"]},
        {"role": "user", "content": f"<data>\n{data.encode('utf-8', 'replace').decode()}\n</data>"},
    ]


@lru_cache(maxsize=1)
def _prompt() -> Mapping[str, str]:
    read: Mapping[str, str] = yaml.safe_load((files(__package__) / "rewriting.yaml").read_text("utf-8"))
    return read
