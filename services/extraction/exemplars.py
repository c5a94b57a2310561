"""Stage 4f: what no other stage read, but what is like things that were worth keeping: by example, over vectors.

Kernel ridge regression (least-squares classification) with a Gaussian kernel on unit vectors: the score of a sentence x
is Σ a_i exp(-g |x - x_i|²), about 1 where it is like what was kept and -1 where it is like what was not.
`ops/bench/exemplars.py` learns a and the threshold from labelled utterances and writes `data/exemplars.npz`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from events.model import Kind
from services.extraction.about import key_of, topic_of
from services.extraction.cues import has
from services.extraction.normalise import Text
from services.extraction.plain import BESIDE, lasting, of_one
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence
from services.extraction.vocabulary import respect, sensitivity_of, topics
from services.extraction.wording import short, tidy_span

DATA: Final = "exemplars.npz"
_SHORTEST, _LONGEST = 4, 160
_OPENING = 30
_LOOSE = frozenset({"choice", "order", "hours", "day", "duration", "budget", "limit"})  # alone they say too little
# what other stages know to be no lasting statement of the person, however much it is worded like one
_NEVER = (
    "once",
    "hypothetical",
    "uncertain",
    "doubt",
    "fiction",
    "sarcasm",
    "meta",
    "reported",
    "forget_not",
    "past",
)

Vector = NDArray[np.float32]
Form = Literal["stated", "lasting", "ordered"]
"""A sentence as any; a plain statement of how things are; an order that no word makes a standing one."""

_LASTING = -0.2  # how like what was kept a plain statement need be: its form speaks for it
_ORDERED = 0.8  # … an order: most are for now


class Sense(Protocol):
    """Judges a sentence by example: how like what was worth keeping it has to be depends on its form."""

    def __call__(self, text: str, form: Form = "stated") -> Kind | None:
        """Return what a sentence would be kept as, None for what is not worth it."""


class Embeds(Protocol):
    """Turns texts into unit vectors."""

    model_id: str

    def passages(self, texts: Sequence[str]) -> Vector:
        """Embed texts; returns shape (n, d)."""


def kernel(left: Vector, right: Vector, width: float) -> Vector:
    """Compare unit vectors: exp(-width |x - y|²), shape (len(left), len(right))."""
    return np.asarray(np.exp(-width * (2 - 2 * left @ right.T)), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Exemplars:
    """Labelled vectors of one embedding model: shape (n, d), and of each what it says for keeping and for a wish."""

    model_id: str
    version: str
    vectors: Vector
    weights: Vector
    width: float
    threshold: float

    def judge(self, vector: Vector, form: Form = "stated") -> Kind | None:
        """Say what a sentence of a form would be kept as, None for what is not worth it."""
        worth, wish = kernel(vector[None], self.vectors, self.width)[0] @ self.weights
        if worth < {"stated": self.threshold, "lasting": _LASTING, "ordered": _ORDERED}[form]:
            return None
        return Kind.PREFERENCE if wish > 0 else Kind.FACT


def shipped() -> Exemplars:
    """Read the exemplars that were learnt."""
    data = files("services.extraction.data").joinpath(DATA).read_bytes()
    with np.load(BytesIO(data), allow_pickle=False) as read:
        return Exemplars(
            model_id=str(read["model_id"]),
            version=sha256(data).hexdigest()[:8],
            vectors=read["vectors"].astype(np.float32),
            weights=read["weights"],
            width=float(read["width"]),
            threshold=float(read["threshold"]),
        )


def sense_of(embedder: Embeds, exemplars: Exemplars) -> Sense | None:
    """Return what judges a sentence; None where the exemplars were embedded by another model (R54)."""
    if embedder.model_id != exemplars.model_id:
        return None

    def sense(text: str, form: Form = "stated") -> Kind | None:
        return exemplars.judge(embedder.passages([text])[0], form)

    return sense


def may_be_kept(sentence: Sentence) -> bool:
    """Say whether nothing in the sentence itself speaks against judging it; the sensitive has a stage of its own."""
    words = sentence.text
    return (
        _SHORTEST <= len(words) <= _LONGEST
        and not sentence.asks
        and not has("third", words[:_OPENING])
        and not any(has(cue, words) for cue in _NEVER)
        and sensitivity_of(words) is None
    )


def match_exemplars(sentence: Sentence, text: Text, sense: Sense) -> list[Proposal]:
    """Return the sentence as a claim where it is like what was worth keeping, or what of it is plainly lasting."""
    plain = lasting(sentence)
    if plain is not None and any(has(cue, sentence.text) for cue in BESIDE):
        sentence = plain
    if not may_be_kept(sentence):
        return []
    ordered = has("request", sentence.text) and not has("standing", sentence.text)
    kind: Kind | None = None
    if sentence.useful and not ordered:
        kind = Kind.FACT
    elif not has("state", sentence.text):
        kind = sense(sentence.text, "ordered" if ordered else "stated")
    if kind is None and plain is not None and not ordered:
        sentence, kind = plain, sense(plain.text, "lasting")
    if kind is None:
        return []
    if plain is not None and not of_one(sentence):  # how things of the person's are is no wish
        kind = Kind.FACT
    start, end = tidy_span(sentence.text, 0, len(sentence.text))
    shown = short(text.shown[sentence.start + start : sentence.start + end])
    told = [clause for clause in sentence.clauses if clause.end > sentence.start + start]  # without "once more:"
    key, value = _ruled(sentence, text) if kind is Kind.PREFERENCE and len(told) == 1 else (None, None)
    value = value or shown
    return [
        Proposal(
            frame="exemplar",
            kind=kind,
            key=key,
            value=value,
            content=shown,
            start=sentence.start + start,
            end=sentence.start + end,
            features=frozenset({"exemplar"}),
        )
    ]


def _ruled(sentence: Sentence, text: Text) -> tuple[str | None, str | None]:
    """Return key and value of a wish that says in which respect it rules what, so that it meets others of it."""
    named, ruled = topics(sentence.text), respect(sentence.text, without=_LOOSE)
    if len(named) != 1 or ruled is None:
        return None, None
    key = key_of(topic_of(named, ruled, sentence.text), ruled, sentence.text, negative=False)
    return key, text.shown[sentence.start + ruled.start : sentence.start + ruled.end] if key else None
