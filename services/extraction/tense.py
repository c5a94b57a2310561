"""Whether a sentence tells of what is over: then "on Friday" is the Friday behind, and in no other case."""

import re

_TOLD_EN = re.compile(
    r"(?<![a-z])(?:i|we)(?: (?:just|also|finally|only|actually|both|all|then|even)){0,2} "
    r"(?!(?:booked|planned|decided|scheduled|signed|registered|arranged|reserved|need|wanted|hoped|intended|agreed)(?![a-z]))"
    r"(?:[a-z]{2,}ed|went|was|were|had|did|saw|took|ran|met|made|ate|drank|flew|drove|rode|swam|sang|wrote|read|spoke|slept|"
    r"came|left|lost|won|fell|felt|got|gave|built|bought|sold|caught|taught|thought|heard|held|kept|spent|stood|sat|"
    r"hurt|cut|broke|woke|wore|began|became|found|led|paid|sent|told|threw|tore|shot|lit|hit|put|let|set|quit)(?![a-z])"
)
_TOLD_ZH = re.compile(r"(?<![订定买约报抢请要好])[了过](?!头|分|敏|程|于|来|得|不|解|没)")
_AHEAD_ZH = re.compile(r"要|会|得|将|打算|准备|计划|预计|想|希望|[订定买约报抢]了|[订定买约报抢]好")
_AHEAD_EN = re.compile(
    r"(?<![a-z])(?:will|going to|gonna|shall|plan(?:ning)? to|hope to|about to|might|[a-z]+'ll)(?![a-z])"
)


def tells_of_past(folded: str) -> bool:
    """Say whether a folded sentence says what the person did, and nothing of what they are going to do."""
    english = _TOLD_EN.search(folded) is not None and _AHEAD_EN.search(folded) is None
    return english or ("我" in folded and _TOLD_ZH.search(folded) is not None and _AHEAD_ZH.search(folded) is None)
