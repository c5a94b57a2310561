"""Stage 4d: how the person wants things done: standing wishes of any topic, and wishes for this once."""

import re

from events.model import Kind
from services.extraction.about import key_of, topic_of
from services.extraction.colouring import adds_nothing
from services.extraction.cues import Tempo, has, lexicon, tempo
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause, Sentence
from services.extraction.vocabulary import Respect, respect, scope_of, topics
from services.extraction.wish import directs, is_wish
from services.extraction.wording import is_chinese, short, tidy_span, without_reasons

_CONDITION = re.compile(
    r"^(?:(?:when(?:ever)?|if|on|for|in|before|after|every time)(?![a-z])|"
    r"跟|对|给|在|如果|只要|遇到|凡是|除了?|关于|每次|我看|我用)"
)
_ADDRESSED = re.compile(r"^(?:再|老|总|[给帮替跟]我|ever |(?:send|show|give)(?:ing)? me |me )+")
_IN_REPLIES = re.compile(
    r",? (?:when(?:ever)?|if) you (?:reply|answer|respond|write|talk|text|message|"
    r"speak)(?: (?:back )?to)?(?: me| us)?$|"
    r" (?:in|with) (?:your |the |any |all )?(?:replies|answers|responses|messages)(?: to me)?$"
)
_ANAPHOR = re.compile(r"(?:就|都)?(?:它|那个|这个|这样|that|this|it)了?$")
_POINTING = re.compile(
    r"(?<![a-z])(?:that's|that is|this is|it's|it is|and|please|an?|the|my|for me)(?![a-z])|"
    r"这是|我的|请|的|都|如此|这样|这么|长期|一直|照此"
)
_REFERS = re.compile(
    r"(?:照|按|用|以|依)(?:着)?(?:这个|这种|这样|这套|此|上述|上面)|(?:that|this|the same) (?:way|order|format|style)"
)
_AS_SAID = re.compile(  # what is to stay is named before: "…，这种写法往后就固定下来"
    r"(?:就|那)?(?:这|那)(?:种|个|套|样)(?:写法|做法|格式|方式|风格|顺序|排法|样子|办法|规矩|习惯|排版|叫法)|"
    r"(?:let's |please )?(?:keep|make|have) (?:it|that|this) "
    r"(?:that way|like (?:that|this)|so|the standard|the default|the rule)"
)
_OF_BEFORE = re.compile(r"^ ?(?:but )?(?:please )?keep (?:them|it|those)(?![a-z])")
_WHENEVER = re.compile(r"(?:whenever|when|if|every time|each time|any ?time)(?![a-z])[^,]*$")
_ANNOUNCES = re.compile(
    r"(?<![a-z])(?:about|regarding|as for|concerning|when it comes to)(?![a-z])|关于|说到|至于|的事|这块|方面"
)
_STRESS = re.compile(
    r"(?:and |but )?(?:i (?:really )?mean (?:this|it|that)|this is|i'm serious|seriously|please)|"
    r"我是?说真的|认真的|听好"
)
_NAMELESS = re.compile(
    r"^(?:(?:please|so|and|also) )*(?:keep|bear) (?:that|this|it) in mind(?: .*)?$|"
    r"^(?:(?:please|so|and|also) )*(?:never|don't|do not|stop|always) [a-z]+(?:ing)? (?:them|it|these|those)$"
)
_SHORTEST = 2
_ARTEFACTS = frozenset(
    {
        *("explanation", "summary", "document", "email", "code", "report", "meeting_notes", "weekly_report", "letter"),
        *("monthly_report", "title", "article", "contract", "invoice", "slides", "chart", "table", "list", "recipe"),
        *("quote", "plan_doc", "digest", "newsletter", "commit_message", "pr_description", "code_comment", "message"),
        *("signature", "translation", "image"),
    }
)
_MAKES = re.compile(
    r"(?:起草|草拟|撰写|编写|生成|制作|润色|写|做|画|列|拟|出|排版)(?!作业|饭|菜|梦|完|客)|"
    r"(?<![a-z])(?:write|draft|make|draw|generate|compose|produce|prepare|format|list|design)(?:s|ing)?(?![a-z])"
)
_NOT_OF_FORM = frozenset(
    {"day", "hours", "timezone", "duration", "cc", "channel", "choice", "seat", "budget", "spice", "sugar", "order"}
)
_FORM_OF_REPLIES = frozenset({"layout", "sections", "file", "length", "language"})


def match_rules(sentence: Sentence, text: Text, earlier: str | None, *, for_good: bool = False) -> list[Proposal]:
    """Return the wishes of a sentence; `earlier` is the topic of the sentence before.

    `for_good` says that the next sentence makes it a standing one ("please stick to that").
    """
    texts = [clause.text for clause in sentence.clauses]
    tempos = [tempo(texts, index) for index in range(len(texts))]
    if not is_wish(sentence, tempos) and not (
        for_good
        and (
            topics(sentence.text)
            or respect(sentence.text)
            or any(directs(c.text) for c in sentence.clauses)
            or (is_chinese(sentence.text) and "我" not in sentence.text)
        )
    ):
        return []
    once = not for_good and Tempo.STANDING not in tempos and Tempo.ONCE in tempos
    kept = _kept(sentence, tempos, once=once)
    groups = _groups(kept)
    shared = topics(kept[0].text)
    about = shared[-1].name if shared else _announced(sentence, kept[0])
    if about is None and _ANAPHOR.search(sentence.text):
        about = earlier
    found = [_rule(group, text, about, once=once) for group in groups if for_good or not _points_only(group)]
    return [proposal for proposal in found if proposal is not None]


def _announced(sentence: Sentence, first: Clause) -> str | None:
    """Return the topic that the clause before the wish announces: "changed my mind about estimates: …"."""
    before = next((c for c in reversed(sentence.clauses) if c.start < first.start), None)
    named = topics(before.text) if before is not None and _ANNOUNCES.search(before.text) else []
    return named[-1].name if named else None


def _kept(sentence: Sentence, tempos: list[Tempo], *, once: bool) -> list[Clause]:
    """Return the clauses the wish consists of: from its marker or condition on, without reasons."""
    clauses = list(sentence.clauses)
    if once:
        return without_reasons(clauses)
    first = next((i for i, c in enumerate(clauses) if has("standing", c.text)), 0)
    if _AS_SAID.match(clauses[first].text.strip()):
        first = 0
    last = len(clauses) - 1
    while first > 0 and (
        _bare(clauses[first])
        or _OF_BEFORE.search(clauses[first].text)
        or _REFERS.search(clauses[first].text)
        or (first == last and _WHENEVER.match(clauses[first].text.strip()))
        or _CONDITION.match(clauses[first - 1].text.strip())
    ):
        first -= 1
    while first + 1 < len(clauses) and _only_stresses(clauses[first].text):
        first += 1
    chosen = [c for c, found in zip(clauses[first:], tempos[first:], strict=True) if found is not Tempo.ONCE]
    while len(chosen) > 1 and adds_nothing(chosen[-1].text):
        chosen.pop()
    return without_reasons(chosen or clauses)


def _only_stresses(clause: str) -> bool:
    """Say whether a clause only stresses that what follows is for good: "and I mean this for good"."""
    rest = lexicon()["standing"].sub("", clause)
    return _STRESS.fullmatch(rest.strip(" ,，")) is not None


def _bare(clause: Clause) -> bool:
    rest = _POINTING.sub("", lexicon()["standing"].sub("", clause.text)).strip(" ,，就了")
    return len(rest) < _SHORTEST + 1


def _groups(clauses: list[Clause]) -> list[list[Clause]]:
    """Return the clauses grouped into wishes: a clause that rules another respect or topic begins a wish of its own."""
    groups: list[list[Clause]] = []
    held: tuple[str, str] | None = None
    for clause in clauses:
        mine = _ruled(clause)
        joined = "".join(c.text for c in groups[-1]) if groups else ""
        if held is None and groups and (order := respect(joined)) is not None and order.name == "order":
            held = ("", "order")
        if not groups or (mine is not None and held is not None and _differs(mine, held)):
            groups.append([clause])
            held = mine
        else:
            groups[-1].append(clause)
            held = held or mine
    return groups


def _differs(mine: tuple[str, str], held: tuple[str, str]) -> bool:
    """Say whether a clause rules something else; "…, names may stay English" is an exception, not a rule of its own."""
    return mine[1] != held[1] or bool(mine[0] and mine[0] != held[0])


def _ruled(clause: Clause) -> tuple[str, str] | None:
    ruled = respect(clause.text, without=frozenset({"choice", "order"}))
    named = topics(clause.text)
    if ruled and ruled.name == "channel":  # 不用发邮箱了: the thing named is the way, not what goes by it
        named = [topic for topic in named if topic.end <= ruled.start or ruled.end <= topic.start]
    return (named[-1].name if named else "", ruled.name) if ruled else None


def _rule(clauses: list[Clause], text: Text, about: str | None, *, once: bool) -> Proposal | None:
    start, end = clauses[0].start, clauses[-1].end
    folded = text.folded[start:end]
    first, last = tidy_span(folded, 0, len(folded))
    shown = text.shown[start + first : start + last].strip()
    if len(shown) < _SHORTEST or not any(char.isalnum() for char in shown):
        return None
    ruled = _respect(clauses, folded)
    named = topics(folded)
    topic = topic_of(named, ruled, folded) or about
    negative = _negative(folded, ruled)
    key = key_of(topic, ruled, folded, negative=negative is not None)
    value = text.shown[start + ruled.start : start + ruled.end] if ruled and key else negative or shown
    return Proposal(
        frame="rule",
        kind=Kind.FORMAT if _of_form(topic, ruled, folded) else Kind.PREFERENCE,
        key=key,
        value=short(value),
        content=short(shown),
        start=start,
        end=end,
        positive=negative is None,
        ephemeral=once,
        scope=scope_of(folded),
        correction=has("change", folded),
        features=frozenset({"rule"} | ({"topic"} if topic else set()) | ({"aspect"} if ruled else set())),
    )


def _of_form(topic: str | None, ruled: Respect | None, folded: str) -> bool:
    """Say whether a wish is about the form of what is made for the person, which whoever makes it has to know (R31)."""
    if ruled is not None and ruled.name in _NOT_OF_FORM:
        return ruled.name == "order" and topic in _ARTEFACTS
    if topic == "reply":  # what answers look like holds for every one of them; how one is spoken to is a taste
        return ruled is not None and ruled.name in _FORM_OF_REPLIES
    return topic in _ARTEFACTS or _MAKES.search(folded) is not None


def _points_only(clauses: list[Clause]) -> bool:
    """Say whether a wish only points: "…, never recommend them": what the clause before it says is the memory."""
    start, end = tidy_span(clauses[0].text, 0, len(clauses[0].text))
    return len(clauses) == 1 and _NAMELESS.search(clauses[0].text[start:end]) is not None


def _respect(clauses: list[Clause], folded: str) -> Respect | None:
    """Return the first aspect that a clause rules, else that the clauses rule together, with offsets in `folded`."""
    for clause in clauses:
        found = respect(clause.text)
        if found is not None:
            offset = clause.start - clauses[0].start
            return found.model_copy(update={"start": found.start + offset, "end": found.end + offset})
    return respect(folded)


def _negative(folded: str, ruled: Respect | None) -> str | None:
    """Return what a prohibition forbids; a limit ("no more than five") forbids nothing by itself."""
    found = lexicon()["negative"].search(folded)
    if found is None:
        return None
    if ruled is not None and (ruled.start <= found.start() or ruled.name in {"limit", "budget"}):
        return None
    before = re.split(r"[,，。]", folded[: found.start()])[:-1]
    if any(directs(clause) for clause in before):
        return None  # "use A, do not use B" wants A
    rest = re.split(r"[,，。]", folded[found.end() :].strip(" ,，"))[0]
    rest = _IN_REPLIES.sub("", _ADDRESSED.sub("", rest))
    _, end = tidy_span(rest, 0, len(rest))
    return rest[:end].strip() or None
