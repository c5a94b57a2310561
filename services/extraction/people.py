"""Stage 4b, people: who somebody is to the person at work or next door: my manager is Ms Teng. Family is apart."""

import re

from events.model import Kind
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause

_ZH = re.compile(
    r"^我(?:们)?(?:现在|目前|如今)?(?:的)?(?:新)?"
    r"(?P<s>老板|上司|经理|主管|领导|导师|房东|会计|律师|教练|老师|班主任|搭档|合伙人|助理|组长|店长|师傅|室友|队长|"
    r"编辑|经纪人|辅导员)(?:现在|目前|已经|如今|就)*(?:(?:叫(?:做)?|姓)(?P<v>[^,，。的我你他她是有个在说]{1,8}?)|"
    r"(?:是|换成了?|改成了?|变成了?) ?(?P<v2>[a-z]{2,20}|[^,，。的我你他她有个在说]{0,6}?"
    r"(?:总|经理|老师|女士|先生|姐|哥|工|教授|博士|主任|师傅|太太|队)))(?: ?了)?$"
)
_EN = re.compile(
    r"^my (?:new |current |present )?(?P<s>boss|manager|line manager|supervisor|landlord|landlady|accountant|"
    r"solicitor|lawyer|coach|"
    r"tutor|teacher|assistant|editor|agent|business partner|vet|dentist|trainer|mentor|flatmate|roommate)"
    r"(?:'s name)? is (?:now )?(?:called |named )?(?P<v>[a-z][\w' .-]{1,30}?)(?: now)?$"
)


def match_person(clause: Clause, text: Text) -> Proposal | None:
    """Return the name of somebody the person has to do with, under the part they play."""
    match = _ZH.match(clause.text) or _EN.match(clause.text)
    if match is None:
        return None
    group = "v" if match["v"] else "v2"
    start, end = (clause.start + place for place in match.span(group))
    if match.re is _EN and not text.shown[start].isupper():
        return None
    return Proposal(
        frame="attribute",
        kind=Kind.FACT,
        key=f"{match['s'].replace(' ', '_')}.name",
        value=text.shown[start:end],
        content=text.shown[clause.start : clause.end],
        start=clause.start,
        end=clause.end,
        features=frozenset({"attribute"}),
    )
