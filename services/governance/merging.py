"""When two memories say one thing, so that one of them may stand for both (R53). Pure.

No closeness of vectors tells an added word that matters ("our *former* vet") from one that does not ("really close"):
measured on `ops/bench/governance/merging.tsv`, such pairs reach cosines of 0.98. So the words decide: apart from a
closed list of words that add nothing, the same must be said in the same order. The cosine is only a second witness.
"""

import re

import snowballstemmer

from events.model import MemoryBody
from services.governance.folding import plain

_STEM = snowballstemmer.stemmer("english")
_TOKEN = re.compile(r"[0-9]+(?:[.,:][0-9]+)*|[a-z]+(?:['’][a-z]+)?|[^\W\d_a-z]", re.UNICODE)
_LIGHT = re.compile(
    r"an?|the|of|and|all|please|also|just|really|very|quite|actually|still|currently|now|so|then"
    r"|is|are|do|does|be|'s"
)
_LIGHT_ZH = re.compile(
    r"真的|非常|特别|其实|目前|现在|一直|然后|记得|之(?=前|后|间|内|外)|里(?=面)|[的了吧呢啊呀嘛哦都就请要把也很还]"
)


def says_the_same(one: MemoryBody, other: MemoryBody) -> bool:
    """Say whether two memories make one claim: gist and key agree; a key agrees with none, as the words decide then."""
    return (one.key is None or other.key is None or one.key == other.key) and gist(one) == gist(other)


def gist(body: MemoryBody) -> tuple[object, ...]:
    """Return what memories that say one thing have in common: kind, scope, polarity, dates, all words that matter."""
    return (
        body.kind,
        body.scope,
        body.positive,
        body.assertion,
        body.sensitivity,
        body.valid_from,
        body.valid_until,
        _words(body.content) or (body.content,),
    )


def _words(content: str) -> tuple[str, ...]:
    """Return the words and characters of a text that matter, in order."""
    tokens = _TOKEN.findall(_LIGHT_ZH.sub("", plain(content)))
    return tuple(str(_STEM.stemWord(token)) for token in tokens if not _LIGHT.fullmatch(token))
