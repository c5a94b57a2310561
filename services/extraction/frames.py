"""Stage 4a: what is claimed by a sentence of known form: who one is, where one lives, what one likes."""

import re
from dataclasses import replace
from functools import lru_cache
from typing import Self

from pydantic import Field, model_validator

from events.model import Frozen, Kind
from services.extraction.cues import lexicon
from services.extraction.lexicon import expand, load, macros
from services.extraction.naming import subject_name
from services.extraction.normalise import Text
from services.extraction.person import in_relative_clause, of_another
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence
from services.extraction.vocabulary import respect, taste_of, tool_of, topics, vocabulary
from services.extraction.wording import bare_thing, is_chinese, is_pronoun, tidy_value, timeless

_FIRST_PERSON = re.compile(r"(?<![a-z])i(?:'m|'ve)?(?![a-z'])")
_SELF = re.compile(r"^[^,，。]{0,8}(?<![给帮替跟对叫让向为陪问教])我(?!们?的)")
_OF_OTHERS = re.compile(r"我[^,，。]{0,6}(?:他|她|它|别人|大家|朋友|同事)[^的]")
_SPEAKS = re.compile(r"我|咱|(?<![a-z])(?:i|we|my|our|me|us)(?![a-z])")
_OTHER = re.compile(r"[^,，。]{0,4}(?:你|他|她|它|谁|大家)")
_THING = re.compile(r"一?[个道本部只条家间首款种台辆位名](?:新|叫)?[^,，。]{1,8}$")
_SHARED = re.compile(
    r"(?<= )and(?= (?:also |then |now |just |recently |really |still |don't |do not |can't ){0,2}"
    r"(?:am|work|live|have|play|love|like|enjoy|prefer|hate|joined|moved|teach|studied|study|run|own|speak|"
    r"collect|drive|started|became|got|bought|adopted|sing|paint|dance|volunteer|coach|eat|drink)(?![a-z]))"
)
_WEEKLY = re.compile(
    r"每(?:个)?(?:周|星期|礼拜)[一二三四五六日天末](?:都|会|要|早上|晚上|下午|上午)*(?:去|来)?"
    r"(?:打|练|上|学|跑|游|做|踢|弹|跳)?(?P<s>[^,，。]{1,8})$|"
    r"(?:go|do|play|take|attend|have) (?:to )?(?:my |the |a )?(?P<s2>[a-z][a-z ]{1,20}?) "
    r"(?:classes |lessons |class |lesson )?(?:every|on) (?:mon|tues|wednes|thurs|fri|satur|sun)days?$"
)
_INGESTED = frozenset({"taste.thing", "taste.food", "taste.drink"})
_BY_VERB = (
    ("taste.drink", re.compile(r"喝|(?<![a-z])(?:drink|sip)")),
    ("taste.food", re.compile(r"吃|(?<![a-z])(?:eat|cook)")),
    ("taste.music", re.compile(r"听|(?<![a-z])listen")),
    ("taste.reading", re.compile(r"读|(?<![a-z])read")),
)
_MADE_TO = "让叫请帮替劝逼"  # 别让我打语音: what somebody has the person do is no claim of theirs
_NOMINAL = 3  # characters up to which a value that ends in 的 names a sort of thing
_PREDICATE = re.compile(
    rf"(?!还有)(?:{macros()['adv']}|平时|最近)*(?:住|在|做|当|是|养|有|喜欢|爱|开|用|教|弹|会|擅长|负责|经营|属|换|戒|讨厌|不喜欢|不吃|不再|不喝|对|来自|姓|叫|毕业|打算|改|每)"
)


class Frame(Frozen):
    """A form of sentence and what it claims."""

    name: str
    key: str | None = None
    zh: tuple[str, ...] = ()
    en: tuple[str, ...] = ()
    say: dict[str, str] = Field(default_factory=dict)
    deny: dict[str, str] = Field(default_factory=dict)
    neg: str | None = None
    positive: bool = True
    taste: bool = False
    tool: bool = False
    habit: bool = False
    whole: bool = False
    gone: bool = False
    drop: bool = False

    @model_validator(mode="after")
    def _key_exists(self) -> Self:
        if self.key and not self.tool and self.key not in vocabulary():
            raise ValueError(f"frame {self.name} names the unknown key {self.key}")
        return self


@lru_cache(maxsize=1)
def frames() -> tuple[tuple[Frame, tuple[re.Pattern[str], ...]], ...]:
    """Return the frames of the data file with their compiled patterns."""
    read = [Frame.model_validate(entry) for name in ("frames.yaml", "life.yaml") for entry in load(name)]
    return tuple((frame, tuple(re.compile(_mixed(expand(p))) for p in (*frame.zh, *frame.en))) for frame in read)


def _mixed(pattern: str) -> str:
    """Let a Chinese subject stand before an English verb: 我 prefer …, 我 live in …."""
    pattern = pattern.replace("(?<![a-z])i(?:", "(?:(?<![a-z])i|我)(?:")
    pattern = pattern.replace("(?<![a-z])(?:i|we)(?:", "(?:(?<![a-z])(?:i|we)|我们?)(?:")
    for subject in ("(?<![a-z])i ", "(?<![a-z])(?:i'm|i am|im)(?![a-z]) "):
        pattern = pattern.replace(subject, f"(?:{subject}|我 ?)")
    return pattern


def _with_subject(folded: str) -> str:
    """Say the subject again before an English verb that shares it: "I live in Oslo and work there"; offsets stay."""
    return _SHARED.sub("  i", folded)


def match_frames(sentence: Sentence, text: Text) -> list[Proposal]:
    """Return what the frames claim of a sentence, also in clauses that leave out the subject said before."""
    if _FIRST_PERSON.search(sentence.text):
        sentence = replace(sentence, text=_with_subject(sentence.text))
    found, taken = _match(sentence, text)
    found = [each for each in found if not _of_others(each, sentence)]
    self_speaks = False
    for clause in sentence.clauses:
        free = not any(start < clause.end and clause.start < end for start, end in taken)
        thing = clause.text.startswith("叫") and _THING.search(
            sentence.text[: max(0, clause.start - sentence.start - 1)]
        )
        if self_speaks and free and not thing and _PREDICATE.match(clause.text):
            # The subject takes the place of the comma before the clause, so that offsets stay.
            carried = Sentence(clause.start - 1, clause.end, f"我{clause.text}", (clause,), asks=False)
            found += _match(carried, text)[0]
        of_self = (
            _SELF.match(clause.text) is not None
            and _OF_OTHERS.search(clause.text) is None
            and not of_another(clause.text)
            and not _about_another(clause.text)
        )
        self_speaks = of_self or (self_speaks and not _OTHER.match(clause.text))
    return found


def _of_others(proposal: Proposal, sentence: Sentence) -> bool:
    """Say whether a claim leaves out its subject, and the one said before it is somebody else, or a thing of theirs."""
    index = sentence.clause_at(proposal.end - 1)
    if _SPEAKS.search(sentence.clauses[index].text):
        return False
    for clause in reversed(sentence.clauses[:index]):
        if _about_another(clause.text):
            return True
        if _SPEAKS.search(clause.text):
            return False
    return False


def _about_another(clause: str) -> bool:
    """Say whether a clause speaks of somebody else or a thing of theirs, and of the person not at all."""
    body = clause.strip()
    other = lexicon()["third"].match(body)
    return other is not None and not body.endswith("的") and _SPEAKS.search(body, other.end()) is None


def _match(sentence: Sentence, text: Text) -> tuple[list[Proposal], list[tuple[int, int]]]:
    """Return claims and the stretches of the text they have; the first frame that matches a stretch has it."""
    taken: list[tuple[int, int]] = []
    found: list[Proposal] = []
    for frame, patterns in frames():
        for pattern in patterns:
            for match in pattern.finditer(sentence.text):
                if any(match.start() < end and start < match.end() for start, end in taken):
                    continue
                if match.group().startswith("i") and in_relative_clause(sentence.text, match.start()):
                    continue
                if match.group().startswith("我") and sentence.text[max(0, match.start() - 1)] in _MADE_TO:
                    continue
                if frame.drop:
                    taken.append(match.span())
                    continue
                proposal = _propose(frame, match, sentence, text)
                if proposal:
                    taken.append(match.span())
                    found.append(proposal)
    return found, [(sentence.start + start, sentence.start + end) for start, end in taken]


def _propose(frame: Frame, match: re.Match[str], sentence: Sentence, text: Text) -> Proposal | None:
    start, end = timeless(sentence.text, *tidy_value(sentence.text, *match.span("v")))
    if start >= end:
        return None
    key, kind = _key(frame, match, sentence.text[start:end])
    if frame.tool:
        tool = tool_of(sentence.text[start:end])
        if tool is None:
            return None
        start, end = start + tool.start, start + tool.end
    denied = bool(frame.neg and match.group(frame.neg)) if frame.neg and frame.neg in match.groupdict() else False
    value = text.shown[sentence.start + start : sentence.start + end]
    if frame.taste and end - start > _NOMINAL and sentence.text[end - 1] == "的":
        end -= 1  # 挺喜欢吃榴莲的 is about 榴莲; 爱吃酸的 is about what is 酸的
        value = value[:-1]
    # "a cortado is my usual": what stands behind the value says of what it is
    until = match.end() if frame.whole and match.end() > match.end("v") else end
    said = text.shown[sentence.start + match.start() : sentence.start + until]
    thing = bare_thing(sentence.text, start, end) if frame.taste else start
    return Proposal(
        frame=frame.name,
        kind=kind,
        key=key,
        value=text.shown[sentence.start + thing : sentence.start + end],
        content=_say(frame, match, value, denied=denied, shown=said),
        start=sentence.start + match.start(),
        end=sentence.start + max(match.end(), end),
        positive=frame.positive and not denied,
        features=frozenset({"frame"} | ({"pronoun"} if is_pronoun(sentence.text[thing:end]) else set())),
        replaces=value if frame.gone else match.groupdict().get("old"),
    )


def _key(frame: Frame, match: re.Match[str], value: str) -> tuple[str | None, Kind]:
    if frame.habit and (weekly := _WEEKLY.match(value)) is not None:
        return f"{subject_name(weekly.group('s') or weekly.group('s2'))}.day", Kind.PREFERENCE
    if frame.tool:
        tool = tool_of(value)
        return (tool.name if tool else None), Kind.FACT
    if frame.taste:
        ruled = respect(value, without=frozenset({"choice", "order", "hours", "day"}))
        about = topics(value)
        eaten = taste_of(value) in {"taste.food", "taste.drink"}  # Cantonese cuisine is no language
        if frame.name == "prefer" and (ruled or about) and not eaten:
            name = about[-1].name if about else "ui" if ruled and ruled.name == "theme" else "reply"
            return (f"{name}.{ruled.name}" if ruled else None), Kind.PREFERENCE
        heads = [match.group(g) for g in ("head", "head2", "head3") if match.groupdict().get(g)]
        taste = taste_of(" ".join([value, *heads]))
        if taste in _INGESTED:  # what is drunk is a drink, whatever it is made of
            taste = next((key for key, verbs in _BY_VERB if verbs.search(match.group())), taste)
        return taste, Kind.PREFERENCE
    return frame.key, vocabulary()[frame.key].kind if frame.key else Kind.PREFERENCE


def _say(frame: Frame, match: re.Match[str], value: str, *, denied: bool, shown: str) -> str:
    if frame.whole:  # the sentence says more than the value: keep its words without the subject
        return re.sub(r"^[\s,，、:：]*(?:我|I(?:'m| am)? |d |[Mm]y (?=favou?rite))?", "", shown).strip()
    templates = frame.deny if denied else frame.say
    template = templates.get("zh" if is_chinese(match.group()) else "en") or next(iter(templates.values()))
    groups = {name: group or "" for name, group in match.groupdict().items()}
    return template.format(**{"verb": "", **groups, "v": value})
