"""Stage 4b: what something of the person's is, where it is, what it is called: my X is Y."""

import re
from dataclasses import replace
from functools import lru_cache

from events.model import Kind
from services.extraction.cues import has, lexicon, starts
from services.extraction.forms import (
    CHINESE,
    ENGLISH,
    ENGLISH_IS,
    HELD_AT,
    HELD_ON,
    ITS,
    LATELY,
    MOVED_TO,
    NOW,
    ON_A_DAY,
    WE_USE,
)
from services.extraction.lexicon import load
from services.extraction.naming import subject_name
from services.extraction.normalise import Text
from services.extraction.people import match_person
from services.extraction.person import of_another
from services.extraction.projects import project_of
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause, Sentence
from services.extraction.vocabulary import holds_several, respect, tool_of, topics, vocabulary
from services.extraction.wording import is_pronoun, tidy_span, tidy_value

_VERB_IN_SUBJECT = re.compile(
    r"(?<![周例年晚班早月聚约协书友长乐览动流享论讨谈告布话新舞酒宴生工事唱学员团])会(?!议)|(?:觉|想|说|知|要|能|看|希望|打算|去|做|吃|喝|玩|听|不|没|被|把|让|给|跟|和|与)|喜欢|认为|以为|发现|今天|明天|昨天|这|那|最近|刚才|有|什么|哪|怎|最|唯一|兴趣|一些"
)
_MOVED_TO = re.compile(
    r"(?:migrate|switch|move) ?(?:到|成|去)了?|(?:搬|迁|迁移|转移|挪)(?:到|去|至)了?|换成了?|改用了?|换到了?|切换?到了?"
)
_OF_THE_TALK = re.compile(r"的?(?:问题|疑问|答案|意思|想法|看法|感觉|建议|草稿|理解)")  # what is talked about, no thing
_SHORT_SUBJECT = 8
_PLACED = re.compile(
    r"在[^,，。]{0,20}?(?:[路街巷弄楼层区县市镇村园站]|大厦|广场|中心|号|附近|旁边|隔壁|对面|门口)(?:[上里边内]|附近|对面)?$"
)
_NO_THING = re.compile(r"脸|心情|手|头|眼|天气|云|雨|风|太阳|月亮|味道|^[现正都人就也还家]$")
_WHERE = re.compile(r"(?:(?<![现正])在|[搬挪换转迁][到去至]了?)(?![a-z ]).$")
_SET = re.compile(
    r"叫(?:做)?(?![我你他她])|(?:每|逢)(?:个)?(?:周|星期|礼拜)|(?:搬|挪|移|迁|换|转)(?:到|去)|用的是|换成|改成|改用|放在|存在|定在|名叫|有(?=[\d一二两三四五六七八九十百千万几])|升级到|(?:定|安排|排)(?:在|到)|(?:写|搭|开发|实现|搭建)的$"
)
_MOVED = re.compile(
    r"(?:改|挪|移|换|调|放|定|排)(?:到|成|在| ?(?=每?(?:周|星期|礼拜)|(?:mon|tues|wednes|thurs|fri|satur|sun)day))"
)
_OVER = re.compile(r"了[\s,，。!！吧啊]*(?:$|[,，])|已经|现在|如今")
_CALLED = re.compile(r"的?名字$")
_DONE = re.compile(r"已经|了|现在|目前|如今|正式|以后|今后")
_NAME = re.compile(r"[a-z][\w .-]{0,30}")
_ING = re.compile(r"[a-z]+ing(?![a-z])")
_PRESENT = re.compile(
    r"^(?:(?:现在|目前|如今|当前)(?:的|这[个位家])? ?|(?:current|present) )|(?:已经|全部|全都|统统|基本)+(?:都)?$"
)
_MOVED_MINE = re.compile(r"they(?:'ve| have)? moved (?:my|our) ")
_OCCASION = re.compile(r"休[\u4e00-\u9fff]?$")
_ONE_DAY = re.compile(r"(?<![a-z])(?:today|tonight|tomorrow|yesterday|this|next|last)(?![a-z])")
_HAVING = frozenset({"have", "do", "attend", "take", "play"})
_NO_CLOCK = frozenset({"choice", "order", "language", "length", "tone", "file", "layout", "colour", "theme"})
_KEY_ASPECTS = frozenset(
    {"day", "hours", "timezone", "language", "tense", "file", "layout", "colour", "clock", "orientation", "seat"}
)


@lru_cache(maxsize=1)
def _renamings() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(source) for source in load("renamed.yaml"))


def match_attributes(sentence: Sentence, text: Text, earlier: str | None) -> list[Proposal]:
    """Return what the clauses of a sentence say of the person's things; `earlier` is the topic that "it" means."""
    found: list[Proposal] = []
    repaired = has("repair", sentence.text)
    takes_back = repaired and starts("takeback", sentence.text)
    for clause in sentence.clauses:
        start, end = tidy_span(clause.text, 0, len(clause.text))
        inner = Clause(clause.start + start, clause.start + end, clause.text[start:end])
        if (person := match_person(inner, text)) is not None:
            found.append(person)
        elif inner.text and (not of_another(inner.text) or _MOVED_MINE.match(inner.text)):
            standing = has("standing", clause.text)
            known = standing or bool(found)
            proposal = (
                _renamed(inner, text)
                or _chinese(inner, text, sentence.text, corrected=repaired, takes_back=takes_back, owned=bool(found))
                or _english(inner, text, known=known, corrected=takes_back)
                or (_english_now(_whole(clause), text) if standing else None)
                or _its(inner, text, earlier)
            )
            if proposal:
                found.append(proposal)
    return found


def _whole(clause: Clause) -> Clause:
    """Return a clause without marks around it, with the words of duration that may end it."""
    start = len(clause.text) - len(clause.text.lstrip(" ,，"))
    body = clause.text.strip(" ,.，。!！")
    return Clause(clause.start + start, clause.start + start + len(body), body)


def _renamed(clause: Clause, text: Text) -> Proposal | None:
    """Return that something has another name now, which replaces whatever is kept under the old one."""
    match = next((found for pattern in _renamings() if (found := pattern.search(clause.text))), None)
    proposal = _proposal(clause, text, match["s"].strip(), match.span("v")) if match else None
    if match is None or proposal is None:
        return None
    first, last = tidy_value(clause.text, *match.span("s"))
    return replace(proposal, correction=True, replaces=text.shown[clause.start + first : clause.start + last])


def _fleeting(subject: str) -> bool:
    """Say whether a phrase ends in a word for what is no thing of the person: "my only question"."""
    return any(match.end() == len(subject) for match in lexicon()["fleeting"].finditer(subject))


def _timed(value: str) -> bool:
    """Say whether a value is a day or a time of day."""
    ruled = respect(value)
    return ruled is not None and ruled.name in {"day", "hours", "timezone", "duration"}


def _chinese(
    clause: Clause, text: Text, whole: str, *, corrected: bool, takes_back: bool, owned: bool
) -> Proposal | None:
    if (held := HELD_ON.match(clause.text)) is not None:
        return _proposal(clause, text, held.group("s"), held.span("v"))
    for pattern in CHINESE:
        match = pattern.match(clause.text)
        if match is None:
            continue
        subject = match.group("s").strip().removeprefix("的").removesuffix("我")
        if (done := match.groupdict().get("a")) and _OCCASION.search(done):
            subject = done  # 我们店每周一店休 says when it is closed, not when the shop is
        named = topics(subject)
        ends_in_topic = bool(named) and named[-1].end == len(subject)
        again = takes_back and bool(topics(_CALLED.sub("", subject)))  # "typo: the dog's name is …"
        ends_in_topic = ends_in_topic or (again and _CALLED.search(subject) is not None)
        own = bool(match.group("own")) or project_of(subject, subject) is not None
        own = own or ((owned or again) and ends_in_topic)  # "our project is …, the backend is …"
        if (
            not subject
            or _OF_THE_TALK.fullmatch(subject)
            or _VERB_IN_SUBJECT.search(subject.removeprefix("常去的").removeprefix("的"))
        ):
            continue
        sort = own and _SET.search(clause.text) is not None
        name = (corrected or _SET.search(clause.text) is not None) and _NAME.fullmatch(subject) is not None
        moved = _MOVED.search(clause.text) is not None and _timed(match.group("v"))
        renewed = _MOVED_TO.search(clause.text) is not None and _OVER.search(whole) is not None
        moved = moved or (renewed and len(subject) <= _SHORT_SUBJECT and not _NO_THING.search(subject))
        sort = sort or (own and _PLACED.search(clause.text) is not None and not _NO_THING.search(subject))
        if not (ends_in_topic or name or sort or moved or (own and "的" in match.group("s"))):
            continue
        if not (own or name or moved or (has("change", clause.text) and _DONE.search(whole))):
            continue
        aspect = "place" if _WHERE.search(clause.text[: match.start("v") + 1]) else "is"
        return _proposal(clause, text, subject, match.span("v"), verb=aspect)
    return None


def _english(clause: Clause, text: Text, *, known: bool, corrected: bool) -> Proposal | None:
    match = ENGLISH.match(clause.text) or ENGLISH_IS.match(clause.text)
    if match is None:
        return _english_now(clause, text)
    subject = match.group("s")
    named = topics(subject)
    timed = respect(match.group("v"), without=_NO_CLOCK) is not None and has("change", clause.text)
    due = match.group("v").startswith("due ")
    amends = match.group("own") == "the" and not (
        ((known or corrected or has("change", clause.text)) and named) or timed or due
    )
    if amends and not corrected and not has("change", clause.text):
        return None
    if _fleeting(subject) or (_ING.match(match.group("v")) or starts("state", match.group("v"))):
        return None
    found = _proposal(clause, text, subject, match.span("v"), verb=match.group("verb"))
    return replace(found, amends=True, value=found.value.removesuffix(" now")) if found and amends else found


def _english_now(clause: Clause, text: Text) -> Proposal | None:
    """Return what a clause without "my" says: "choir is on Wednesdays now", "we use X for Y"."""
    if (now := NOW.match(clause.text)) is not None:
        return _proposal(clause, text, now.group("s"), now.span("v"))
    lately = LATELY.match(clause.text)
    if lately is not None and _timed(lately.group("v")):
        return _proposal(clause, text, lately.group("s"), lately.span("v"))
    if (use := WE_USE.match(clause.text)) is not None:
        which = "" if use.group("s") else "2"
        return _proposal(clause, text, use.group(f"s{which}"), use.span(f"v{which}"))
    return _moved(clause, text) or _on_a_day(clause, text)


def _moved(clause: Clause, text: Text) -> Proposal | None:
    """Return when something is held, or to when it was moved, which says nothing of what is unknown."""
    held = HELD_AT.match(clause.text)
    if held is not None and _timed(held.group("v")):
        return _proposal(clause, text, held.group("s"), held.span("v"))
    moved = MOVED_TO.match(clause.text)
    if moved is None or not _timed(f"at {moved.group('v')}") or _ONE_DAY.search(moved.group("v")):
        return None
    found = _proposal(clause, text, moved.group("s"), moved.span("v"))
    return replace(found, correction=True, amends=True) if found else None


def _on_a_day(clause: Clause, text: Text) -> Proposal | None:
    """Return on which day something is done: "I have yoga on Wednesdays"."""
    day = ON_A_DAY.match(clause.text)
    if day is None:
        return None
    what = day.group("o") if day.group("s") in _HAVING and day.group("o") else f"{day.group('s')}{day.group('o')}"
    return _proposal(clause, text, what.strip(), day.span("v"))


def _its(clause: Clause, text: Text, earlier: str | None) -> Proposal | None:
    match = ITS.match(clause.text)
    if match is None or earlier is None:
        return None
    shown = text.shown[clause.start : clause.end]
    return Proposal(
        frame="attribute",
        kind=Kind.FACT,
        key=f"{earlier}.content",
        value=text.shown[clause.start + match.start("v") : clause.start + match.end("v")],
        content=f"{earlier.replace('_', ' ')}: {shown}",
        start=clause.start,
        end=clause.end,
        features=frozenset({"attribute"}),
    )


def _proposal(clause: Clause, text: Text, subject: str, span: tuple[int, int], verb: str = "is") -> Proposal | None:
    start, end = tidy_value(clause.text, *span)
    subject = _PRESENT.sub("", subject)
    if start >= end or is_pronoun(clause.text[start:end]) or "n't" in subject:
        return None
    ruled = respect(clause.text[start:end], without=frozenset({"choice", "order"}))
    tool = tool_of(clause.text[start:end])
    thing = subject_name(subject)
    aspect = ruled.name if ruled and ruled.name in _KEY_ASPECTS else _verb_name(verb)
    if ruled and ruled.name in _KEY_ASPECTS:
        start, end = start + ruled.start, start + ruled.end
    return Proposal(
        frame="attribute",
        kind=Kind.FACT,
        key=tool.name
        if tool and tool.start == 0 and not holds_several(tool.name)
        else f"tool.{thing}"  # "my car is a …" is what "I drive a …" says
        if aspect == "is" and f"tool.{thing}" in vocabulary()
        else f"{thing}.{aspect}",
        value=text.shown[clause.start + start : clause.start + end],
        content=re.sub(
            r"^(?:我们?(?:家里?(?![具电庭人乡长政务常在有]))?的?|my |our )",
            "",
            text.shown[clause.start : clause.end],
            flags=re.IGNORECASE,
        ),
        start=clause.start,
        end=clause.end,
        correction=has("change", clause.text),
        features=frozenset({"attribute"}),
    )


def _verb_name(verb: str) -> str:
    if verb in {"is", "are", "'s", "use", "uses", "run on", "runs on", "run", "runs"} or verb.endswith(" to"):
        return "is"
    first = verb.split(maxsplit=1)[0]
    return "has" if first in {"has", "have"} else first.removesuffix("s")
