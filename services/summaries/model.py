"""Summaries that a model writes: they are compared like any other, and where it fails the rules write (R51)."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any, Final

import structlog
import yaml
from pydantic import Field, StringConstraints, ValidationError

from events.model import Frozen, Origin, SummarySlot, TenantId
from services.extraction.cues import has
from services.extraction.model.booked import ask
from services.extraction.model.breaker import Breaker
from services.extraction.model.budget import Budget
from services.extraction.model.endpoint import Endpoint
from services.extraction.model.excerpt import Count
from services.extraction.model.failure import Fallback, ModelError
from services.extraction.wording import is_chinese
from services.governance.folding import plain
from services.governance.secrets import redact
from services.summaries.draft import ORDER, Draft, Heard, Line, Material
from services.summaries.rules import Rules
from services.summaries.wording import about, sentences

FORM: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "slot": {"type": "string", "enum": [slot.value for slot in ORDER]},
                    "text": {"type": "string"},
                    "sources": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["slot", "text", "sources"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["lines"],
    "additionalProperties": False,
}
_MOST: Final = 40
_GROUNDED: Final = 0.5
_CLOSING: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
log = structlog.get_logger(__name__)


class _Line(Frozen):
    slot: SummarySlot
    text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]
    sources: Annotated[tuple[int, ...], Field(max_length=50)]


class _Answer(Frozen):
    lines: Annotated[tuple[_Line, ...], Field(max_length=_MOST)]


class _Prompt(Frozen):
    version: int
    zh: str
    en: str


@dataclass(frozen=True, slots=True)
class _Source:
    """Something that may be summed up, and the line that would say just that; `heard` where it is a message."""

    kind: str
    line: Line
    heard: Heard | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a summary waits for the model, and how much it is shown and may write."""

    within_s: float
    input_tokens: int
    output_tokens: int


class ModelDrafter:
    """Asks a model for the lines of a summary; whatever goes wrong, the rules write it and the log says why.

    Of a line the model says what it rests on, by numbers that stand for messages, memories and older lines. References
    of tools and open questions are taken from there and not from the model.

    Args:
        model: the model's name.
        endpoint: where it is asked, with the form of the answer.
        budget: what may be used in a day, shared with whoever else asks models.
        breaker: leaves an endpoint alone that keeps failing.
        bounds: what one summary may cost.
        count: how many tokens a text costs.
    """

    def __init__(  # noqa: PLR0917 - the parts of one thing, each of its own type
        self, model: str, endpoint: Endpoint, budget: Budget, breaker: Breaker, bounds: Bounds, count: Count
    ) -> None:
        self.name = f"model/{_prompt().version}:{model}"
        self._endpoint = endpoint
        self._budget = budget
        self._breaker = breaker
        self._bounds = bounds
        self._count = count
        self._rules = Rules()

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self._endpoint.close()

    async def draft(self, tenant: TenantId, material: Material) -> Draft:
        """Let the model write the lines; the rules where it does not."""
        try:
            with self._breaker.guard():
                try:
                    async with asyncio.timeout(self._bounds.within_s):
                        return Draft(await self._ask(tenant, material), self.name)
                except TimeoutError:
                    raise ModelError(Fallback.TOO_SLOW) from None
        except ModelError as error:
            reason = error.reason
        except Exception as error:  # noqa: BLE001 - whatever a model's answer meets, a summary is written
            reason = Fallback.FAILED
            log.warning("model_broke_off", error=type(error).__name__)
        log.warning("rules_summed_up", reason=reason.value)
        return await self._rules.draft(tenant, material)

    async def _ask(self, tenant: TenantId, material: Material) -> tuple[Line, ...]:
        sources = _fitting(_sources(material), self._bounds.input_tokens, self._count)
        messages = _messages(sources, material.constraints)
        text = await ask(self._endpoint, self._budget, tenant, messages, self._count, self._bounds.output_tokens)
        try:
            written = _Answer.model_validate_json(text).lines
        except ValidationError:
            raise ModelError(Fallback.BAD_ANSWER) from None
        lines = [line for each in written if (line := _line(each, sources)) is not None]
        return tuple(sorted(dict.fromkeys(lines), key=lambda line: ORDER.index(line.slot)))


def _sources(material: Material) -> list[_Source]:
    """Number what may be summed up, the newest first; what the person said not to remember is not shown to a model."""
    found = [_Source("before", line) for line in material.before]
    found += [
        _Source("memory", Line(SummarySlot.FACT, each.content, (each.memory_id,), each.messages))
        for each in material.known
    ]
    found += [
        _Source(each.origin.value, Line(SummarySlot.FACT, each.text, messages=(each.message_id,)), each)
        for each in reversed(material.heard)
        if not has("forget_not", plain(each.text))
    ]
    return found


def _fitting(sources: Iterable[_Source], tokens: int, count: Count) -> list[_Source]:
    """Take as many as a request may hold; a text of a tool is shown by its reference alone."""
    taken: list[_Source] = []
    used = 0
    for each in sources:
        used += count(_shown(each)) + 20
        if used > tokens:
            break
        taken.append(each)
    return taken


def _shown(source: _Source) -> str:
    tool = source.heard is not None and source.heard.origin is Origin.TOOL
    return source.heard.reference if tool and source.heard is not None else source.line.text


def _line(written: _Line, sources: Sequence[_Source]) -> Line | None:
    """Read a line with what it rests on; None where it says nothing, or nothing of what it must be taken from."""
    named = [sources[number - 1] for number in dict.fromkeys(written.sources) if 0 < number <= len(sources)]
    text = redact(written.text).text
    memories = tuple(dict.fromkeys(memory for each in named for memory in each.line.memories))
    messages = tuple(dict.fromkeys(message for each in named for message in each.line.messages))
    if written.slot is SummarySlot.RESULT:
        tools = [each.heard for each in named if each.heard is not None and each.heard.origin is Origin.TOOL]
        return Line(written.slot, tools[0].reference, messages=(tools[0].message_id,)) if tools else None
    if written.slot is SummarySlot.QUESTION:
        asked = [sentence for each in named for sentence in sentences(each.line.text)]
        best = max(asked, key=lambda sentence: about(text, sentence), default="")
        return Line(written.slot, best, memories, messages) if about(text, best) >= _GROUNDED else None
    return Line(written.slot, text, memories, messages) if text else None


def _messages(sources: Sequence[_Source], constraints: Sequence[str]) -> list[dict[str, str]]:
    """Write a request: instructions in the language of what was said, then that as JSON, which no text gets out of."""
    shown = [
        {"id": number, "from": each.kind, "slot": each.line.slot.value if each.kind == "before" else None, "text": text}
        for number, each in enumerate(sources, 1)
        if (text := _shown(each))
    ]
    data = json.dumps({"said": shown, "task": list(constraints)}, ensure_ascii=False).translate(_CLOSING)
    chinese = is_chinese("".join(each.line.text for each in sources))
    return [
        {"role": "system", "content": _prompt().zh if chinese else _prompt().en},
        {"role": "user", "content": f"<data>\n{data.encode('utf-8', 'replace').decode()}\n</data>"},
    ]


@lru_cache(maxsize=1)
def _prompt() -> _Prompt:
    return _Prompt.model_validate(yaml.safe_load((files(__package__) / "model.yaml").read_text("utf-8")))
