"""Whether a memory is about what somebody describes: "my coffee", 我玩什么游戏. Pure.

What an embedding measures is closeness, which tea has to coffee too. So shared words and shared topics decide with it,
and the numbers and names of the description are a guard that no closeness overrides.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from services.governance.folding import plain
from services.governance.policy import AboutPolicy
from services.governance.sameness import tokens_of

_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_REQUEST = re.compile(
    r"\b(?:forget|delete|erase|remove|drop)[ ]?掉|[那这哪]一?[条笔句项点段桩份则]|"
    r"\b(?:please|can you|could you|forget|delete|erase|remove|drop|do not|don't|remember|store|keep|note|save|"
    r"everything|anything|all|what|which|that|ones?|things?|facts?|i|i've|i'm|you|me|we|told|said|mentioned|say|know|about|regarding|"
    r"concerning|my|mine|the|a|an|of|to|in|is|are|am|do|does|did|have|has|had|where|how|who|when|why|it|its|and|or|"
    r"name|names|called|preferences?|tastes?|habits?|stuff|matters?|info|information|details?|memory|memories|'s)\b|"
    r"(?<=我)家的|(?<=我)[和跟与]|(?<=我们)[和跟与]|请|麻烦|帮我|帮忙|把|将|忘记|忘掉|忘了|忘|删除|删掉|删了|清除|抹掉|不要|不用|不必|别再|别|记住|记得|记录|记下|记|关于|有关|"
    r"所有|全部|一切|任何|那些|这些|那件|这件|那个|这个|那|这|我们|我|你|您|说过|说|讲过|提过|提到|告诉过|告诉|知道|什么|哪些|哪个|哪家|哪|"
    r"怎么|如何|谁|的|了|过|就|也|都|吧|呢|吗|事情|事儿|(?<![同故往军])事(?![业故务])|信息|内容|情况|相关|记忆|名字|叫|偏好|喜好|口味|习惯|爱好|喜欢|是|在|有|会|要|想|"
    r"平时|最近|现在|以后|今后"
)
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.+#-]*")
_CAPITAL = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][A-Za-z0-9]+")
_PRONOUN = re.compile(r"I(?:'\w+)?")


@dataclass(frozen=True, slots=True)
class Description:
    """What somebody described: its words without those of the request, its topics, and what must be found literally."""

    words: frozenset[str]
    topics: frozenset[str]
    names: frozenset[str]
    chinese: bool


def describe(text: str, topics: frozenset[str]) -> Description:
    """Read a description.

    Args:
        text: as the person wrote it.
        topics: the topics it names, by the vocabulary of the extractor.
    """
    chinese = _CJK.search(text) is not None
    return Description(grams(_REQUEST.sub(" ", plain(text))), topics, _names(text, chinese=chinese), chinese)


def aboutness(wanted: Description, said: str, topics: frozenset[str], similarity: float, policy: AboutPolicy) -> float:
    """Return how much a text is about what is described, 0 where a name or number of the description is missing.

    `similarity + words · (share of its words found) + topic · (share of its topics) − elsewhere · (the other topics)`,
    the last only for a text with topics of its own, and, where no topic is shared, by the words that are missing;
    `across` is added where the two are in different languages, between which similarities are lower. A description by
    name is found by its name.

    Args:
        wanted: the description.
        said: what a memory, or the sentence it comes from, says.
        topics: the topics it names, its key included.
        similarity: cosine of the two texts' vectors.
        policy: the weights.
    """
    if any(name not in plain(said) for name in wanted.names):
        return 0.0
    words = 1.0 if wanted.names else _share(wanted.words, _found_of(wanted, plain(said)))
    shared = _share(wanted.topics, topics)
    elsewhere = 1.0 - shared if wanted.topics and topics and not wanted.names else 0.0
    across = wanted.chinese != (_CJK.search(said) is not None)
    if wanted.words and not (shared or across):
        elsewhere = max(elsewhere, 1.0 - words)
    score = similarity + policy.words * words + policy.topic * shared - policy.elsewhere * elsewhere
    return max(0.0, min(1.0, score + policy.across * across))


def _share(wanted: frozenset[str], found: frozenset[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0


def _found_of(wanted: Description, folded: str) -> frozenset[str]:
    """Return the words of a folded text; where one character is all that is described, it is one wherever it stands."""
    (only,) = wanted.words if len(wanted.words) == 1 else ("",)
    alone = len(only) == 1 and not wanted.topics and _CJK.match(only) and only in folded
    return grams(folded) | ({only} if alone else frozenset())


def grams(text: str) -> frozenset[str]:
    """Return the words of a folded text; of a run of Chinese its pairs of characters, or the one it has."""
    found: set[str] = set()
    for token in tokens_of(text):
        if _CJK.search(token) and len(token) > 1:
            found.update(a + b for a, b in pairwise(token))
        else:
            found.add(token)
    return frozenset(found)


def _names(text: str, *, chinese: bool) -> frozenset[str]:
    """Return the numbers, and the names: Latin words with a capital, of an English sentence not the first."""
    latin = (word for word in _LATIN.findall(_REQUEST.sub(" ", text)) if not word.islower())
    words = latin if chinese else _CAPITAL.findall(text)
    return frozenset(plain(word) for word in (*words, *_NUMBER.findall(text)) if not _PRONOUN.fullmatch(word))
