"""What "it" and 这个 mean: the thing the person named just before; a claim about nothing named is dropped."""

import re
from collections.abc import Sequence
from dataclasses import replace

from services.extraction.cues import lexicon
from services.extraction.normalise import Text, normalise
from services.extraction.proposal import Proposal
from services.extraction.repair import takes_back
from services.extraction.segment import Sentence
from services.extraction.wording import short

_OBJECT = re.compile(
    r"(?:please |and |so |just |also )*(?:don't |do not |never |always |stop |avoid )?"
    r"[a-z]+(?:ing)? (?:them|those|these|it)(?![a-z])"
    r"(?: (?:all|out|off|away|in|up|down|alone|altogether|again|any ?more))*|"
    r"(?:以后|今后|往后|请|就|也|都|别|不要|不用|再|给我|一律|统一|全)*[\u4e00-\u9fff]{0,2}(?:它们?|这些|那些|这个|那个|这种|那种)(?:东西)?(?:了|吧)*|"
    r"(?:以后|今后|往后|请|就|也|都|把)+(?:它们?|这些|那些|这种|那种)(?:东西)?(?:都|就|全)*[\u4e00-\u9fff]{1,4}"
)
_MANNER = re.compile(
    r"(?:照|按|依)着?(?:这个|这种|这样|这套|此)(?:格式|样子|做法|方式|顺序|风格|标准)?(?:来|做|办|写|弄|排|出|走|画)|"
    r"(?<![a-z])(?:like (?:this|that)|(?:this|that|the same) way|in (?:this|that|the same) (?:format|style|order))"
    r"(?:,? (?:too|as well|please))?(?=[,.;!?]|$)"
)
_OF_NOW = re.compile(r"(?:这次|这回|刚才|今天|这份|这个)的?|(?:this time|today|just now),? ?", re.IGNORECASE)
_PRAISE = re.compile(
    r"[,，]\s*(?:我(?:觉得|看|很喜欢|喜欢)|(?:挺|很|非常|真|蛮|还)?(?:好|不错|清楚|舒服|方便)|看着|看起来|"
    r"(?:and |which )?i (?:really )?(?:like|love)|(?:and )?(?:it|that|this)(?:'s| is| looks)|"
    r"(?:looks?|works?) (?:good|great|fine|nice|well)|(?:perfect|great|nice|good)(?![a-z])).*$",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"(?<![a-z])(?:is|are) (?:the (?:one |only |sole )?exceptions?|(?:fine|ok|okay|allowed) though|exempt)(?![a-z])|"
    r"^(?:the )?(?:only |one |sole )?exceptions?(?: to (?:that|this|it))?(?: is| are|:)|^(?:except|apart from|"
    r"other than|save for) (?!that|this|it)|"
    r"(?:除外|例外|不算在内|不受限)(?:[,，。了哈]|$)|^(?:只有|就|唯独|除了)[^,，。]{1,16}(?:可以|例外|不用管|不限|行)"
)
_BEFORE = 120  # characters of the sentence that an order points back to
_TASTE = "taste."
_OPENING = 200  # characters in which a message takes back what was said before it
_BACK = re.compile(
    r"它|这个|那个|这些|那些|[改换搬调挪][回到成]|又[改换搬调挪]|"
    r"\b(?:it|it's|that|this|them|these|those|back (?:to|on|in))\b",
    re.IGNORECASE,
)


def points_back(text: str) -> bool:
    """Say whether a text may mean something that was named before it, or takes it back."""
    return _BACK.search(text) is not None or opens_by_taking_back(text)


def opens_by_taking_back(text: str) -> bool:
    """Say whether a text takes back what was said before it."""
    return takes_back(normalise(text[:_OPENING]).folded)


def with_antecedent(proposal: Proposal, said: Sequence[Proposal]) -> Proposal | None:
    """Return a proposal whose value stands alone: as it is, with the last thing named before it, or None."""
    if "pronoun" not in proposal.features:
        return proposal
    named = _last_named(said)
    return None if named is None else replace(_about(proposal, named), start=min(proposal.start, named.start))


def names_nothing(folded: str) -> bool:
    """Say whether a text is nothing but an order whose object is a pronoun: "never recommend them"."""
    said = lexicon()["standing"].sub("", folded).strip(" ,，")
    return (_OBJECT.fullmatch(said) or _OBJECT.fullmatch(folded.strip(" ,，"))) is not None


def orders_it(sentence: Sentence, before: Sentence) -> bool:
    """Say whether a sentence is nothing but an order about what the one before it names: "never add them again"."""
    return not before.asks and len(before.text) <= _BEFORE and names_nothing(sentence.text)


def _as_before(sentence: Sentence, before: Sentence) -> bool:
    """Say whether a sentence orders things to be done as the one before it says: "do all reports like this"."""
    return not before.asks and len(before.text) <= _BEFORE and _MANNER.search(sentence.text) is not None


def with_object(proposal: Proposal, sentence: Sentence, before: Sentence | None, text: Text) -> Proposal:
    """Return a wish whose object is a pronoun with the sentence that names it: "those emoji again. Leave them out."."""
    if proposal.frame != "rule" or "aspect" in proposal.features or before is None:
        return proposal
    manner = _as_before(sentence, before)
    if not manner and ("topic" in proposal.features or not orders_it(sentence, before)):
        return proposal
    named = text.shown[before.start : before.end].strip()
    if manner:
        named = _OF_NOW.sub("", _PRAISE.sub("", named), count=1).strip()
    content = short(f"{named}: {proposal.content}")
    value = content if proposal.value == proposal.content else named
    return replace(proposal, content=content, value=short(value), start=before.start)


def with_exception(said: Sequence[Proposal], sentence: Sentence, text: Text) -> Proposal | None:
    """Return the wish said last with the exception that a sentence makes of it: "the vet is the one exception"."""
    last = said[-1] if said else None
    if last is None or last.frame != "rule" or last.ephemeral or _EXCEPTION.search(sentence.text) is None:
        return None
    shown = text.shown[sentence.start : sentence.end].strip()
    return replace(last, content=short(f"{last.content}; {shown}"), end=max(last.end, sentence.end))


def with_recalled(proposal: Proposal, before: Sequence[Proposal]) -> Proposal | None:
    """Return a proposal about what the turn before named, less sure; None unless it turns that very attitude round.

    In between the agent spoke, and "I like it" may mean what it said; "I hate it now" means what the person liked.
    """
    named = _last_named(before)
    tastes = named is not None and named.key is not None and named.key.startswith(_TASTE)
    if named is None or not tastes or "pronoun" not in proposal.features or named.positive == proposal.positive:
        return None
    whole = _about(proposal, named)
    return replace(whole, features=whole.features | {"recalled"})


def _last_named(said: Sequence[Proposal]) -> Proposal | None:
    return next((p for p in reversed(said) if p.key and (p.key.startswith(_TASTE) or p.frame == "possession")), None)


def _about(proposal: Proposal, named: Proposal) -> Proposal:
    return replace(
        proposal,
        key=named.key if named.key and named.key.startswith(_TASTE) else proposal.key,
        value=named.value,
        content=proposal.content.replace(proposal.value, named.value),
        features=proposal.features - {"pronoun"},
        sensitivity=proposal.sensitivity or named.sensitivity,
    )
