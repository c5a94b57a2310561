"""By which signs a text tells that a thing has become another: words of change, of now, of the old one's end. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from services.extraction.lexicon import compiled, load
from services.extraction.vocabulary import tool_of
from services.extraction.wording import is_chinese

_CUES = ("changed", "now", "done", "gone", "added", "once", "denied", "renamed")
_TELLING = frozenset({"changed", "now", "done", "gone", "renamed"})
_CLAUSE = re.compile(
    r"(?<!\d)[,，]|[,，](?!\d)|[。;；!！]|[:：](?!\d)|(?<=[啦了吧])\s|\s(?=but )|\s(?=so (?:it's|i|we|now) )|"
    r"\s(?=and (?:i|i'm|we|it's) )"
)
_LEAD = re.compile(
    r"(?:[^,，。我]{1,8}?(?:说|通知)(?!明)[,，:：]?)?(?:(?:从?(?:[这本上下]个?(?:周|月|学期|学年|期|季度|星期)|今天|今年|明年)(?:起|开始)?|开始|对了|话说|现在|如今|以后|今后|往后|最近|终于|终究|后来|我们?家?|咱们?|又|都|刚|已经|也|就|全|家里|大家)的?|"
    r"since (?:[a-z]+ ){1,3}?(?=(?:we|i|our|my)(?![a-z]))|"
    r"(?:and|so|but|well|oh|now|btw|fyi|by the way|turns out|finally|also|just|because|since|as|my|our|"
    r"the|a|all)(?![a-z])[ ,]*)*"
)
_PRONOUN = re.compile(r"(?:so |and |but |now |现在)*(?:他|她|(?:he|she|they)(?![a-z]))")
_ME = re.compile(r"(?:给|让|叫|批|帮)我|(?<![a-z])(?:me|us)(?![a-z])")
_VERB_ZH = re.compile(
    r"(?:现在|如今|今年|以后|今后|最近|已经|终于|都|又|也|全|就|刚|只|再|还|要|直接|一般|最后|上个?月|上周|这周|这学期|这个月|让|被|把)*"
    r"(?:改|换|挪|搬|迁|转|调|推|延|提前|升|涨|加|降|砍|放|定|用|是|在|叫|写|开|给|发|看|上|去|有|喝|吃|跑|练|学|住|走了|退|离|辞|卖|"
    r"戒|停|关|满|切|出|不|没|变|坐|骑|做|当|养|玩|拿|找|跟|教|买|到|[0-9一二三四五六七八九十])"
)
_VERB_EN = (
    r"(?:'s|'re)?(?: (?:all|also|just|now|finally))? (?:is|are|was|were|has|have|had|got|gets?|went|goes|go|moved|"
    r"switched|changed|lives?|runs?|takes?|took|comes?|came|joined|left|started|starts|gave|put|drives?|cycles|meets?|opens?|arrived|"
    r"died|needs?|hired|charged|liked|wrote|fixed|said|says|rang|fell|sold|retired|uses?|swears|sent|slipped|ran|bought|will|"
    r"up|to)(?![a-z])|'s(?= )|'ve(?= )"
)
_THING_EN = re.compile(rf"(?P<s>[a-z][a-z0-9'&-]*?(?: [a-z0-9][a-z0-9&-]*?){{0,3}}?)(?:{_VERB_EN})")
_MOVED_EN = re.compile(
    r"(?:moved?|switch(?:ed)?|trad(?:ed|e)|swapp?(?:ed)?|dropped|changed?|migrated?|rebook|put|bumped|pushed|renamed|closed|"
    r"packed in|given up|gave up|gone off|migrated off) "
    r"(?:all )?(?:of )?(?:my |our |the )?"
    r"(?P<s>(?!to |for |over |in |on |up |off |back |out |it )[a-z][a-z0-9'&-]*(?: [a-z0-9&-]+){0,2}?)"
    r"(?: (?:to|for|over|from|onto|into|in|back|off|account)(?![a-z])|$|,)"
)
_NEW = re.compile(
    r"^(?:new|third|second|other|one|brand new) | (?:time|date|day|deadline|place|location|venue)$|新的?|"
    r"(?<=[\u4e00-\u9fff]{2})的?(?:时间|日期|地点|数量|人数)$"
)
_NO_THING = frozenset(
    [
        *(
            "i",
            "we",
            "you",
            "it",
            "he",
            "she",
            "they",
            "there",
            "this",
            "that",
            "these",
            "those",
            "who",
            "what",
            "me",
            "us",
        ),
        *("everything", "all", "i'm", "we're", "it's", "he's", "she's", "they're", "i've", "we've", "they've", "them"),
        *("one", "two", "three", "four", "five", "had", "have", "been", "turns", "two more", "finally", "back"),
    ]
)
_NO_THING_ZH = re.compile(
    r"[我咱你您他她它们的这那个儿里又也都就]|大家|自己|现在|一|两|对了|最后|后来|时间|地点|地方|日子|开始"
)


_NUMBER_EN = (
    r"(?:\d[\d,.]*|(?<![a-z])(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|"
    r"fifty|sixty|eighty|hundred))"
)
_COUNT = re.compile(
    r"(?P<of_zh>\d[\d,.]*|[零一二两三四五六七八九十百千万]+) ?"
    r"(?P<zh>[个只条名位人句块元岁天次页字台辆周间张件份斤亩米层桌箱节门支双套户组班家度袋棵头吨把口艘架盏筐届]"
    r"(?:[\u4e00-\u9fff](?<![了吧啦啊呢]))?)|"
    rf"(?P<of_en>{_NUMBER_EN}) (?P<en>(?!and |or |to |on |in |at |of |a\.?m|p\.?m|now|these|is |are )[a-z]{{2,}})|"
    rf"(?P<before>(?<![a-z])(?!to|at|by|for|from|on|in|of|is|are|the|up|about|over|under|only|just|than|until|till|and|or|"
    rf"day|each|it)[a-z]{{3,}}) (?P<behind>{_NUMBER_EN})(?![a-z])"
)


@dataclass(frozen=True, slots=True)
class Saying:
    """One clause: its cues, whom else than the person it is about, and which thing it says something of."""

    cues: frozenset[str]
    other: str | None
    thing: str | None


@dataclass(frozen=True, slots=True)
class Signs:
    """What a folded text shows: its cues, its values by their sort, the parts of life, and what its clauses say."""

    cues: frozenset[str]
    sorts: dict[str, frozenset[str]]
    fields: frozenset[str]
    sayings: tuple[Saying, ...]

    @property
    def tells(self) -> bool:
        """Whether anything in it tells of a change."""
        return bool(self.cues & _TELLING)

    @property
    def telling(self) -> tuple[Saying, ...]:
        """The clauses that tell of a change; all where none does."""
        return tuple(each for each in self.sayings if each.cues & _TELLING) or self.sayings


@lru_cache(maxsize=4096)
def signs_of(folded: str) -> Signs:
    """Return the signs of a folded text."""
    sorts = {name: frozenset(m.group() for m in p.finditer(folded)) for name, p in _patterns("sorts").items()}
    if (tool := tool_of(folded)) is not None:
        sorts[tool.name] = frozenset({tool.value})
    clauses = [clause.strip() for clause in _CLAUSE.split(folded) if clause.strip()]
    return Signs(
        _cues(folded),
        {name: values for name, values in sorts.items() if values},
        frozenset(name for name, pattern in _patterns("fields").items() if pattern.search(folded)),
        _sayings(clauses),
    )


def _sayings(clauses: Iterable[str]) -> tuple[Saying, ...]:
    """Read clauses one after the other: "he" is whom the one before was about."""
    found: list[Saying] = []
    for clause in clauses:
        saying = _saying(clause)
        if found and saying.other is None and _PRONOUN.match(clause):
            saying = replace(saying, other=found[-1].other)
        found.append(saying)
    return tuple(found)


def _saying(clause: str) -> Saying:
    lead = _LEAD.match(clause)
    rest = clause[lead.end() if lead else 0 :]
    other = next((name for name, pattern in _patterns("others").items() if pattern.match(rest)), None)
    mine = _ME.search(clause) is not None
    return Saying(_cues(clause), None if mine else other, None if mine and other else _thing(rest))


def _cues(folded: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _patterns("cues").items() if pattern.search(folded))


def _thing(clause: str) -> str | None:
    """Return what a clause says something of: what stands before its verb, or what was moved."""
    if is_chinese(clause):
        verb = _VERB_ZH.search(clause)
        thing = _NO_THING_ZH.sub("", _NEW.sub("", clause[: verb.start()])).strip() if verb else ""
        return None if not thing or _is_value(thing) else thing
    match = _MOVED_EN.search(clause) or _THING_EN.match(clause)
    thing = _NEW.sub("", match["s"]) if match else ""
    return None if not thing or thing in _NO_THING or thing.split()[0] in _NO_THING or _is_value(thing) else thing


def _is_value(thing: str) -> bool:
    return any(pattern.fullmatch(thing) for pattern in _patterns("sorts").values())


@lru_cache(maxsize=4096)
def counts_of(folded: str) -> dict[str, str]:
    """Return the number of each thing that a folded text counts once: 七个伙计, "nine hives", "seats 40"."""
    found: dict[str, list[str]] = {}
    for match in _COUNT.finditer(folded):
        unit = match["zh"] or match["en"] or match["before"]
        found.setdefault(unit, []).append(match["of_zh"] or match["of_en"] or match["behind"])
    return {unit: numbers[0] for unit, numbers in found.items() if len(numbers) == 1}


@lru_cache(maxsize=4)
def _patterns(part: str) -> dict[str, re.Pattern[str]]:
    return {name: compiled(words) for name, words in load("signs.yaml")[part].items()}
