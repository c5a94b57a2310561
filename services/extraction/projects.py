"""Which project a sentence speaks of: what is said of one project holds there and nowhere else (R20)."""

import re
from dataclasses import replace

from events.model import Kind
from services.extraction.cues import starts
from services.extraction.naming import subject_name
from services.extraction.normalise import Text
from services.extraction.person import of_another
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence
from services.extraction.wording import tidy_span

_KIND_EN = r"(?:projects?|repo(?:sitory)?|code ?base|campaign)"
_WORK_EN = (
    r"indent|commit|deploy|write|use|name|release|ship|test|build|document|host|track|log|code|review|branch|merge|squash|"
    r"format|run|store|sign|invoice|bill|file|publish|print"
)
# What only a piece of software has, and what is only done with one: its name needs no word for a project.
_PART_EN = (
    r"(?:back ?end|front ?end|database|db|api|repo(?:sitory)?|code ?base|ci|pipeline|schema|main branch|default branch|"
    r"server|test suite)"
)
_PART_ZH = r"(?:后端|前端|数据库|接口|仓库|代码库?|持续集成|流水线|分支|服务端|客户端)"
_MADE_EN = (
    r"(?:is|was) (?:now )?(?:written in|built (?:with|on|in)|hosted (?:on|at)|deployed (?:on|to|with)|powered by|"
    r"compiled with|based on)"
)
_OF_ONE = (
    re.compile(
        rf"^(?P<n>[a-z][\w-]{{2,20}})'s (?P<s>{_PART_EN}) (?:is|are|uses?|runs? on) (?:now )?(?P<v>[^,;!?\n]{{1,40}})$"
    ),
    re.compile(rf"^(?P<n>[a-z][\w-]{{2,20}}) {_MADE_EN} (?P<v>[^,;!?\n]{{1,40}})$"),
    re.compile(
        rf"^(?P<n>[a-z][\w-]{{2,20}}) ?的 ?(?P<s>{_PART_ZH})(?:现在|目前|也|都|已经|就)*"
        r"(?:是用?|用的是|用|换成了?|改成了?|改用|跑在|放在)(?P<v>[^,，。]{1,20}?)(?:写|做|搭)?(?:的|了)?$"
    ),
    re.compile(
        r"^(?:在 ?)?(?P<n>[a-z][\w-]{2,20}) ?(?:里|这边|那边|上)(?:面)?(?:我们|咱们)(?:现在|都|统一)*"
        r"(?:用的是|用|跑在|部署在)(?P<v>[^,，。的着得过不]{1,20}?)(?:写|做|搭)?(?:的|了)?$"
    ),
)
_NAMED = (
    re.compile(
        rf"(?<![a-z])(?:(?:the|our|my) )?(?P<n>[a-z][\w-]{{1,20}}(?: [a-z][\w-]{{1,20}}){{0,2}}?) {_KIND_EN}(?![a-z])"
    ),
    re.compile(r"(?<![a-z])project (?P<n>[a-z][\w-]{1,20})(?![a-z])"),
    re.compile(
        rf"^(?:on|for) (?P<n>[a-z][\w-]{{2,20}}),? (?:(?:we|i|please|always|only|now|never|do not|don't) )+"
        rf"(?:{_WORK_EN})(?![a-z])"
    ),
    re.compile(rf"^(?P<n>[a-z][\w-]{{2,20}})'s {_PART_EN}(?![a-z])"),
    re.compile(rf"^(?P<n>[a-z][\w-]{{2,20}}) {_MADE_EN} "),
)
_NAMED_ZH = re.compile(
    r"(?:^|[,，。\s给在为对把的])(?:做|搞|推进|负责|参与|接手|维护)?"
    r"(?P<n>[「『“\"《]?[^\s,，。、的我你他她这那个各每本该哪几在给把对为和跟有是]{1,10}?[」』”\"》]?) ?(?:这个|那个)?"
    r"(?:项目|课题|仓库|工程)(?!经理|组|管理|名|书|负责人|部|师|款)"
)
_LATIN_ZH = re.compile(
    rf"^(?:在 ?)?(?P<n>[a-z][\w-]{{2,20}}) ?(?:的 ?{_PART_ZH}|"
    r"(?:里|这边|那边|上)(?:面)?(?:我们|咱们)(?:现在|都|统一)*(?:用|跑在|部署在))"
)
_ANY = re.compile(
    r"(?:(?:this|that|these|the|a|an|my|our|your|new|old|side|pet|big|small|same|other|another|every|each|any|all|whole|current|"
    r"next|last|first|open[- ]source|group|school|personal|work|for|on|in|of|with|about|and|or|to|at|by|is|are|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|now)(?: |$))+|"
    r"新|老|大|小|开源|副业|主|其他|别的|同一?|下一?|上一?|手头|现在|目前|当前|公司|团队|咱们|外包|重点|所有|全部|整体?|实际|多|"
    r"以后|每次|一起|任何"
)
_OPENING = re.compile(
    r"(?:(?:for|on|in|of|with|about|and|the|our|my|at|by|to|is|are|we|i|have|has|from|use|run|new|old) )+"
)
_QUOTES = '「」『』“”"《》'
_OF_PROJECTS = frozenset({"rule", "attribute", "tool_use", "exemplar", "statement", "requirement", "convention"})


def project_of(folded: str, shown: str) -> str | None:
    """Return the name of the project a sentence limits itself to, as it is written; None where it names none.

    Args:
        folded: the sentence, to match on.
        shown: the same characters as the person wrote them; an English name is written large, or stands behind "the".
    """
    for pattern in _NAMED:
        for match in pattern.finditer(folded):
            start, end = match.span("n")
            opening = _OPENING.match(folded, start, end)
            start = opening.end() if opening else start
            definite = folded[:start].endswith(("the ", "our ", "my ")) and pattern is _NAMED[0]
            if start < end and _ANY.fullmatch(folded, start, end) is None and (definite or shown[start].isupper()):
                return shown[start:end]
    latin = _LATIN_ZH.match(folded)
    if latin is not None and shown[latin.start("n")].isupper():
        return shown[slice(*latin.span("n"))]
    chinese = _NAMED_ZH.search(folded)
    if chinese is None or _ANY.fullmatch(chinese["n"].strip(_QUOTES)):
        return None
    return shown[slice(*chinese.span("n"))].strip(_QUOTES) or None


def match_projects(sentence: Sentence, text: Text) -> list[Proposal]:
    """Return what a sentence says of a project by its bare name: a part that only software has, what it is made of."""
    for clause in sentence.clauses:
        start, end = tidy_span(clause.text, 0, len(clause.text))
        body = clause.text[start:end]
        match = next((found for pattern in _OF_ONE if (found := pattern.match(body))), None)
        if match is None or not text.shown[clause.start + start + match.start("n")].isupper():
            continue
        if _ANY.fullmatch(match["n"]) or of_another(body) or starts("state", match["v"]):
            continue
        part = match.groupdict().get("s")
        first, last = (clause.start + start + place for place in match.span("v"))
        return [
            Proposal(
                frame="attribute",
                kind=Kind.FACT,
                key=f"{subject_name(part)}.is" if part else "project.requirement",
                value=text.shown[first:last].strip(),
                content=text.shown[clause.start + start : clause.start + end],
                start=clause.start,
                end=clause.end,
                features=frozenset({"attribute"}),
            )
        ]
    return []


def in_project(proposal: Proposal, sentence: Sentence, text: Text) -> Proposal:
    """Return a claim about work with the project it holds in, where its sentence names one; any other as it is."""
    if proposal.frame not in _OF_PROJECTS or proposal.scope != "personal":
        return proposal
    name = project_of(text.folded[sentence.start : sentence.end], text.shown[sentence.start : sentence.end])
    if name is None:
        return proposal
    said = proposal.content if name.lower() in proposal.content.lower() else f"{name}: {proposal.content}"
    return replace(proposal, scope=f"project:{name.lower()}", content=said)
