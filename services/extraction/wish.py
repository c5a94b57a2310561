"""Stage 4d, first half: whether a sentence is a wish about how the assistant should do things."""

import re

from services.extraction.cues import Tempo, has, lexicon, starts
from services.extraction.person import of_another
from services.extraction.segment import Sentence
from services.extraction.vocabulary import respect, scope_of, topics
from services.extraction.wording import is_chinese, tidy_span

_SETTING = re.compile(
    r"换成|定在|安排在|提前|就够了?$|改到|改回|换回|改为|改成|挪到|排在|(?<!不)我要|只认|should be|have to be|must be"
)
_PLURAL_OF_MINE = re.compile(r"(?<![a-z])my (?:[a-z]+ ){0,2}[a-z]+s(?![a-z])")
_WHEN_YOU = re.compile(r"^(?:when|whenever|if) (?:you|we|i)(?:'re|'m| )")
_CHANGE_OF_ONE = re.compile(r"(?:请|麻烦你?|帮我|帮忙|给我|替我|你|先|[,，\s])*[把将]")
_WANTS = re.compile(
    r"(?<![a-z])(?:i(?:'d| would)? (?:never |always |just |really |only |ever |don't |do not ){0,2}"
    r"(?:like|want|need|prefer|rather)|would (?:you|u) mind (?:(?:please|not|always|never|just) )*[a-z]+ing|"
    r"(?<!you )(?<!i )should|must|"
    r"you(?:'ll| will)? [a-z]+(?: for| with)?(?: me| us)? (?:needs?|gets?|goes|starts?|ends?|has to|have to|"
    r"is to|are to))"
    r"(?![a-z])"
)
_MINE = re.compile(r"(?<![a-z])(?:me|my)(?![a-z])")
_STRONG_CONDITION = re.compile(
    r"(?:every|each|any) ?time you|for (?:every|each|any) [a-z ]{2,24} (?:you|i) |when(?:ever)? (?:you|i ask)|if you"
)
_DECREE = re.compile(
    r"(?:from now on|going forward|from here on(?: out)?|henceforth|starting (?:today|now)|by default|"
    r"as a (?:general )?rule),? (?!i(?:'| |$)|we(?:'| )|you(?:'| )|it(?:'| )|he |she |they |life |things )"
)
_ELLIPTIC = re.compile(  # "one-pot only from now on": the order has no verb
    r"(?:(?:yes|yeah|yep|right|ok|okay|so|and),? )?"
    r"(?:(?:only|just|nothing but|no) [a-z][a-z -]{1,40}|(?!i |we )[a-z][a-z -]{1,40} (?:only|please))"
)
_DECREE_ZH = re.compile(  # 以后 without a subject of its own is an order, whatever its verb
    r"(?:请|麻烦|那么?|好的?|你|[,，])*(?:以后|今后|往后|日后|从(?:今天|现在|下次|今|这次)(?:起|开始|往后|以后))[,，]?"
    r"(?!.*(?:我(?!的|们的)|他|她|大家|人|天气(?:好|会|就|变)|社会|能|会|可能|再说|机会|有空|见|聊|怎么|好了|希望|努力|加油|一定)).{4,}"
)
_ASKS_LEAVE = re.compile(r"我(?:可以|能|可不可以|能不能)(?:请|让|叫|找)你")
_RECURS = re.compile(
    r"(?<![a-z])(?:each|every) (?:time|day|week|morning|month|year|[a-z]+day)(?![a-z])|(?<![a-z])whenever"
)
_GENERAL = re.compile(
    r"(?:凡是?|只要|遇到|每当)?(?:你)?(?:跟|对|给|替|帮|问|回|找|陪|教)我[^,，。]{0,24}(?:的时候|时(?!间)|的话)|"
    r"问我[^,，。]{1,8}(?:的时候|时(?!间)|的话)?|(?:跟|和|对)我(?:说话|聊天|讲话|沟通|对话|讲)|"
    r"我(?:问|说|让你|叫你|发|找|贴|提|写|用)[^,，。]{1,14}(?:的时候|时(?!间)|的话)|"
    r"(?:[给帮替](?:我|我们)(?:写|做|画|发|推荐|找|出|整理|准备|讲|翻)的|(?:写|发|推荐|讲|做|念)给我的)[^,，。]{0,8}"
    r"(?=.*(?:尽量|越[^,，。]+越|别|不要|要|最好|得|必须|就行|就好|控制))(?!.*了$)"
)
_OF_ANSWERS = re.compile(  # how answers are to be is meant for good where nothing says for how long
    r"(?:你的?|给我的?|对我的?)?(?:(?:回答|答复|回复|答案|说话|讲话)(?:我|问题|的时候|时|内容|都|也|就|请|得|应该|最好)*"
    r"(?:尽量|尽可能|要[^,，。]{1,8}(?:一?点|一?些)|"
    r"(?:务必|要)?(?:简短|简洁|简明|精简|精炼|详细|详尽|口语化|正式)\s*$)|(?:解释|讲解)(?:都|也|请|最好)*(?:尽量|尽可能))"
)
_HABIT = re.compile(  # "I come off shift at seven, so …": what is done because of how the person lives is done for good
    r"(?:because |since |as )?i (?:always |usually |never |only |don't |do not |can't |cannot |mostly |hardly )?"
    r"(?:come|work|sleep|get|keep|run|take|live|drive|read|write|teach|play|use|eat|drink|prefer|start|finish|open|close|stand|"
    r"travel|commute|cook|speak|listen|walk|cycle|own|raise|grow|share)(?![a-z])|"
    r"我(?:平时|一般|每[天周晚]|都|只|从?不|常|总|向来|一直)"
)
_ALWAYS_IS = re.compile(  # "and dates are always day-month-year for me": how things of a sort are to be
    r"(?:(?:and|so|but|also|oh|remember),? )*(?:(?:my|our|all|the) )?[a-z][a-z -]{2,24} (?:is|are|go|come) always "
    r"(?!late|wrong|busy|full|right|good|bad|here|there|so |too |the same|a |an )"
)
_SO = re.compile(r"\s*(?:and )?so (?:please )?|\s*(?:所以|因此|那就?)(?:请|麻烦)?(?:你)?")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?(?= [a-z0-9\"'“])")
_AFTER_CUE = re.compile(r"^[\s,:]*(?:please |just |also |do )?")
_INFLECTED = re.compile(r"(?:[a-z]{3}ing|[a-z]{3}ed|[a-z]{3}ly|ness|tion|[^su]s)$")


def is_wish(sentence: Sentence, tempos: list[Tempo]) -> bool:
    """Say whether a sentence says how the person wants things done; `tempos` are those of its clauses."""
    whole = sentence.text
    start, _ = tidy_span(whole, 0, len(whole))
    body = whole[start:]
    if _CHANGE_OF_ONE.match(whole) and not has("strong", whole):
        return False  # "turn all these files into PDF" is an errand, however many they are
    if of_another(body) or has("reported", body[:24]) or has("kindness", whole):
        return False
    directive = any(directs(clause.text) for clause in sentence.clauses) or (
        _STRONG_CONDITION.match(body) is not None and any(_bare_verb(c.text.strip()) for c in sentence.clauses[1:])
    )
    if Tempo.STANDING in tempos or Tempo.ONCE in tempos:
        strong = [c.text for c in sentence.clauses if has("strong", c.text)]
        cued = " ".join(strong or [c.text for c in sentence.clauses if has("standing", c.text) or has("once", c.text)])
        return _wanted(whole, cued or whole, directive=directive)
    of_answers = _OF_ANSWERS.match(body) is not None
    if of_answers or has("process", body[:14]):
        return of_answers
    if _HABIT.match(body) and any(_follows(clause.text) for clause in sentence.clauses[1:]):
        return not has("uncertain", whole) and not has("state", sentence.clauses[0].text)
    return _general_zh(whole, body, directive=directive) if is_chinese(whole) else _general_en(sentence, body)


def _general_zh(whole: str, body: str, *, directive: bool) -> bool:
    """Say whether a Chinese sentence without a cue of duration is meant for good: a general condition, a setting."""
    if body.startswith(("把", "将")):
        return False  # "turn the chart blue" is an errand
    if _GENERAL.match(body) and directive:
        return True
    setting = _SETTING.search(whole) is not None
    return (
        _rules_something(whole, setting=setting) and bool(topics(whole)) and (scope_of(whole) != "personal" or setting)
    )


def _general_en(sentence: Sentence, body: str) -> bool:
    """Say whether an English sentence without a cue of duration is meant for good: "when you …", "my reports"."""
    setting = _SETTING.search(sentence.text) is not None
    if not _rules_something(sentence.text, setting=setting):
        ordered = any(starts("imperative", clause.text.strip()) for clause in sentence.clauses[1:])
        return bool(_WHEN_YOU.match(body)) and ordered
    plural = _PLURAL_OF_MINE.search(body) and starts("imperative", body)
    return bool(plural or (topics(sentence.text) and setting) or _WHEN_YOU.match(body))


def _rules_something(whole: str, *, setting: bool) -> bool:
    loose = frozenset({"choice", "order"} if setting else {"choice", "order", "hours"})
    return respect(whole, without=loose) is not None


def _follows(clause: str) -> bool:
    """Say whether a clause draws an order from the one before it."""
    so = _SO.match(clause)
    return so is not None and directs(clause[so.end() :])


def directs(clause: str) -> bool:
    """Say whether a clause tells the assistant to do or not to do something."""
    start, end = tidy_span(clause, 0, len(clause))
    body = clause[start:end]
    if is_chinese(clause):
        bare = not has("narrative", clause) and not (has("once", clause) and "我" in clause)
        if _ASKS_LEAVE.search(clause):
            return False
        return has("request", clause) or (has("request_verb", clause) and bare)
    return starts("imperative", body) or _WANTS.search(clause) is not None or _orders(body)


def _orders(body: str) -> bool:
    """Say whether an English clause begins with a bare verb after its cue of duration: "every time, scale it for two".

    Whatever is no subject, no adjective of greeting and no inflected form is taken for one: verbs cannot be listed.
    """
    cue = lexicon()["standing"].match(body)
    if cue is None or not has("strong_opening", cue.group()):
        return False
    return _bare_verb(_AFTER_CUE.sub("", body[cue.end() :], count=1))


def _bare_verb(clause: str) -> bool:
    first = _WORD.match(clause)
    return first is not None and not starts("no_verb", first.group()) and _INFLECTED.search(first.group()) is None


def _wanted(whole: str, cued: str, *, directive: bool) -> bool:
    """Say whether a sentence with a cue of duration is a wish and not a tale: it directs, or it rules some respect."""
    ruled = respect(whole) is not None
    decreed = _DECREE.match(whole) is not None and (ruled or bool(topics(whole)))
    if is_chinese(whole) or has("strong", whole) or has("once", whole):
        told = has("narrative", cued)
        decreed = decreed or (not told and (has("decree", whole) or _DECREE_ZH.match(whole) is not None))
        bare = lexicon()["standing"].sub("", whole).strip(" ,.")
        decreed = decreed or _ELLIPTIC.fullmatch(bare) is not None
        return decreed or directive or (ruled and not told and _RECURS.search(whole) is None)
    if ruled and topics(whole) and _ALWAYS_IS.match(whole):
        return True
    # "always", "never", "stop" alone also cheer people up: they need something they are about.
    about = ruled or bool(topics(whole)) or has("polite", whole) or _MINE.search(whole) is not None
    return (directive and about) or (ruled and _DECREE.match(whole) is not None)
