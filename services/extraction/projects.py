"""Which project a sentence speaks of: what is said of one project holds there and nowhere else (R20)."""

import re
from dataclasses import replace

from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence

_KIND_EN = r"(?:projects?|repo(?:sitory)?|code ?base|campaign)"
_WORK_EN = (
    r"indent|commit|deploy|write|use|name|release|ship|test|build|document|host|track|log|code|review|branch|merge|squash|"
    r"format|run|store|sign|invoice|bill|file|publish|print"
)
_NAMED = (
    re.compile(
        rf"(?<![a-z])(?:(?:the|our|my) )?(?P<n>[a-z][\w-]{{1,20}}(?: [a-z][\w-]{{1,20}}){{0,2}}?) {_KIND_EN}(?![a-z])"
    ),
    re.compile(r"(?<![a-z])project (?P<n>[a-z][\w-]{1,20})(?![a-z])"),
    re.compile(rf"^(?:on|for) (?P<n>[a-z][\w-]{{2,20}}),? (?:we|i) (?:always |only |now )?(?:{_WORK_EN})(?![a-z])"),
)
_NAMED_ZH = re.compile(
    r"(?:^|[,，。\s给在为对把的])(?:做|搞|推进|负责|参与|接手|维护)?"
    r"(?P<n>[「『“\"《]?[^\s,，。、的我你他她这那个各每本该哪几在给把对为和跟有是]{1,10}?[」』”\"》]?) ?(?:这个|那个)?"
    r"(?:项目|课题|仓库|工程)(?!经理|组|管理|名|书|负责人|部|师|款)"
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
    chinese = _NAMED_ZH.search(folded)
    if chinese is None or _ANY.fullmatch(chinese["n"].strip(_QUOTES)):
        return None
    return shown[slice(*chinese.span("n"))].strip(_QUOTES) or None


def in_project(proposal: Proposal, sentence: Sentence, text: Text) -> Proposal:
    """Return a claim about work with the project it holds in, where its sentence names one; any other as it is."""
    if proposal.frame not in _OF_PROJECTS or proposal.scope != "personal":
        return proposal
    name = project_of(text.folded[sentence.start : sentence.end], text.shown[sentence.start : sentence.end])
    if name is None:
        return proposal
    said = proposal.content if name.lower() in proposal.content.lower() else f"{name}: {proposal.content}"
    return replace(proposal, scope=f"project:{name.lower()}", content=said)
