"""Learn what is worth keeping by example, for `services/extraction/exemplars.py`.

`python -m ops.bench.exemplars` reads `exemplars.txt` and the labelled sets of `tests/golden`, embeds every utterance,
learns (kernel ridge regression, Gaussian kernel), takes the threshold that tenfold cross-validation bears out, prints
both error rates, and writes `services/extraction/data/exemplars.npz`. Run it for a new model or new examples; the sets
it never reads, `BLIND`, are there to measure what it learnt.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from events.model import Message, MessageId, Origin, Role, SessionId, Turn, TurnId, TurnStatus
from projections.embedding import Embedder
from services.extraction.exemplars import DATA, kernel, may_be_kept
from services.extraction.extract import extract
from services.extraction.material import own_words
from services.extraction.normalise import normalise
from services.extraction.segment import sentences

ROOT: Final = Path(__file__).parents[2]
BLIND: Final = frozenset(
    f"{name}.jsonl"
    for name in (
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
    )
)
WIDTH: Final = 1.5
RIDGE: Final = 0.3
FOLDS: Final = 10
WRONG: Final = 0.03  # of what is not worth keeping and no rule reads, so much may be kept
_HELD = re.compile(r"(?:^|\s)[+~]")

Array = NDArray[np.float32]


class Example(NamedTuple):
    """An utterance, whether it is worth keeping, and whether it is a wish (1), a fact (-1) or unknown (0)."""

    text: str
    keep: bool
    wish: int = 0


def examples() -> list[Example]:
    """Read all that may be learnt from."""
    found = [*_own(), *_cases(), *_scenarios()]
    return list({each.text: each for each in reversed(found)}.values())


def _own() -> Iterator[Example]:
    for line in Path(__file__).with_name("exemplars.txt").read_text(encoding="utf-8").splitlines():
        label, _, text = line.partition(" ")
        if label in {"p", "f", "n"}:
            yield Example(text, label != "n", {"p": 1, "f": -1, "n": 0}[label])


def _cases() -> Iterator[Example]:
    for path in sorted((ROOT / "tests/golden/extraction").glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                _, turns, expected = line.split(" | ")
                if " >> " not in turns:
                    yield Example(turns.replace("\\n", "\n"), _HELD.search(expected) is not None)


def _scenarios() -> Iterator[Example]:
    for path in sorted((ROOT / "tests/golden/governance").glob("*.jsonl")):
        if path.name in BLIND:
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            scenario = json.loads(line)
            (first, *more), expect = scenario["turns"], scenario["expect"]
            said = [m["content"] for m in first["messages"] if m["origin"] == "user"]
            if not more and said and first["status"] == "completed":
                yield Example(" ".join(said), bool(expect.get("active") or expect.get("held")))


def _learn(vectors: Array, labels: Array) -> Array:
    """Solve (K + ridge·1) a = y; returns the shape of `labels`."""
    gram = kernel(vectors, vectors, WIDTH) + RIDGE * np.eye(len(vectors), dtype=np.float32)
    return np.asarray(np.linalg.solve(gram, labels), dtype=np.float32)


def _crossed(vectors: Array, keep: Array) -> Array:
    """Score every example by what was learnt from the other folds."""
    fold = np.random.default_rng(54).integers(0, FOLDS, len(vectors))
    scores = np.zeros(len(vectors), dtype=np.float32)
    for each in range(FOLDS):
        rest, own = fold != each, fold == each
        scores[own] = kernel(vectors[own], vectors[rest], WIDTH) @ _learn(vectors[rest], keep[rest])
    return scores


def _reaches(text: str) -> bool:
    """Say whether no rule reads an utterance, and a sentence of it would be asked about."""
    message = Message(message_id=MessageId(uuid4()), role=Role.USER, origin=Origin.USER, content=text)
    turn = Turn(
        turn_id=TurnId(uuid4()),
        session_id=SessionId(uuid4()),
        status=TurnStatus.COMPLETED,
        occurred_at=datetime.now(UTC),
        messages=(message,),
    )
    asked = any(may_be_kept(sentence) for sentence in sentences(own_words(normalise(text))))
    return asked and not extract(turn).candidates


def main() -> None:
    """Learn, and write the file."""
    known = examples()
    embedder = Embedder()
    vectors = embedder.passages([each.text for each in known]).astype(np.float16).astype(np.float32)
    keep = np.array([1 if each.keep else -1 for each in known], dtype=np.float32)
    wish = np.array([each.wish for each in known], dtype=np.float32)
    scores, asked = _crossed(vectors, keep), np.array([_reaches(each.text) for each in known])
    noise, worth = np.sort(scores[asked & (keep < 0)]), scores[asked & (keep > 0)]
    threshold = float(noise[-1 - int(WRONG * len(noise))])
    wishes = wish != 0
    weights = np.zeros((len(known), 2), dtype=np.float32)
    weights[:, 0] = _learn(vectors, keep)
    weights[wishes, 1] = _learn(vectors[wishes], wish[wishes])
    np.savez_compressed(
        ROOT / "services/extraction/data" / DATA,
        vectors=vectors.astype(np.float16),
        weights=weights,
        width=WIDTH,
        threshold=threshold,
        model_id=embedder.model_id,
    )
    embedder.close()
    print(
        f"{len(known)} utterances, {int((keep > 0).sum())} worth keeping; {len(noise)} of the others reach this stage"
    )
    print(f"threshold {threshold:.3f}, by tenfold cross-validation: keeps {(noise > threshold).mean():.3f} of the")
    print(f"former and {(worth > threshold).mean():.3f} of the latter")


if __name__ == "__main__":
    main()
