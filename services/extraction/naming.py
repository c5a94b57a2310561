"""What a thing is called in a semantic key, however it is worded."""

import re

from services.extraction.vocabulary import topics

_CONTAINERS = frozenset({"project", "repository", "company", "team", "name", "名字"})
_RELATIVE = re.compile(r"^[^的]{0,10}(?:用|使|做|写|开|发|办|租|住|订|看|听)的(?=.)")  # 学校用的教学平台 is 教学平台


def subject_name(subject: str) -> str:
    """Return the canonical name of what a phrase is about, the same in both languages as far as the topics reach."""
    subject = _RELATIVE.sub("", subject)
    hits = topics(subject)
    pieces: list[str] = []
    position = 0
    for hit in hits:
        pieces += [subject[position : hit.start], hit.name]
        position = hit.end
    pieces.append(subject[position:])
    words = [word for piece in pieces for word in re.sub(r"的|'s(?![a-z])|[\s-]+", " ", piece).split()]
    kept = [word for word in words if word not in _CONTAINERS] or words
    return "_".join(kept)
