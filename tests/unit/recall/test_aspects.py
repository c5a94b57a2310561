"""What a query asks: its questions, and how what answers one of them stands beside what answers the whole."""

from itertools import permutations
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import MemoryId
from services.recall.aspects import MOST, aspects_of, joined
from services.recall.blend import BLEND
from services.recall.bm25 import Key

RELEVANCE = st.dictionaries(st.tuples(st.uuids().map(MemoryId), st.just(1)), st.floats(0, 1), min_size=1, max_size=6)
ASKED = {
    "我表妹在哪工作？另外，我住的小区叫什么？": ["我表妹在哪工作？", "另外，我住的小区叫什么？"],
    "今天走得真累。对了，我参观的景区怎么样？": ["对了，我参观的景区怎么样？"],
    "Off to Leeds tomorrow. When is my train? And who feeds the cat?": ["When is my train?", "And who feeds the cat?"],
    "周末去徒步。What shoes do I have? 要不要带伞？": ["What shoes do I have?", "要不要带伞？"],
    "Is the build on Python 3.11? Thanks.": ["Is the build on Python 3.11?"],
}
ALONE = [
    "我表妹在哪工作？",
    "where does my cousin work",
    "订单 CN-A10293 到了吗",
    "Is it on Python 3.11?",
    "I like tea. I like coffee.",
    "你好？\n我表妹在哪工作？另外，她多大？",
    "？？？！！！",
    "... ? ? ?",
]


@pytest.mark.parametrize(("query", "questions"), ASKED.items(), ids=range(len(ASKED)))
def test_each_question_of_several_sentences_is_an_aspect(query: str, questions: list[str]) -> None:
    """The whole comes first, then the questions in their order, in both languages."""
    assert aspects_of(query) == (query, *questions)


@pytest.mark.parametrize("query", ALONE, ids=range(len(ALONE)))
def test_what_asks_one_thing_or_is_a_dialogue_stays_whole(query: str) -> None:
    """One sentence, several that ask nothing, several lines, no words at all: one aspect."""
    assert aspects_of(query) == (query,)


@given(st.text())
def test_aspects_are_few_and_part_of_the_query(query: str) -> None:
    """Whatever is asked, it is searched for at most four times, the first time as it stands."""
    whole, *questions = aspects_of(query)
    assert whole == query
    assert len(questions) <= MOST
    assert all(each in query for each in questions)


def test_the_last_of_many_questions_count() -> None:
    """What comes last is what somebody is after."""
    assert aspects_of("".join(f"问题{n}是什么？" for n in range(9)))[1:] == (
        "问题6是什么？",
        "问题7是什么？",
        "问题8是什么？",
    )


@given(RELEVANCE)
def test_one_aspect_joins_to_itself(relevance: dict[Key, float]) -> None:
    """A query that asks one thing is ranked as if there were no aspects."""
    assert joined([relevance], BLEND) == relevance


@given(RELEVANCE, st.data())
def test_what_answers_more_ranks_no_lower(relevance: dict[Key, float], data: st.DataObject) -> None:
    """What is at least as relevant to every aspect stands no lower; all stays in [0, 1]."""
    other = {key: data.draw(st.floats(0, 1)) for key in relevance}
    found = joined([relevance, other], BLEND)
    assert found.keys() == relevance.keys()
    assert all(0 <= value <= 1 for value in found.values())
    for one, two in permutations(relevance, 2):
        if relevance[one] >= relevance[two] and other[one] >= other[two]:
            assert found[one] >= found[two]


def test_the_best_answer_to_a_question_beats_what_is_half_right_for_all() -> None:
    """Each question has an equal say, however weak its best answer is beside that of another."""
    best, half = (MemoryId(UUID(int=1)), 1), (MemoryId(UUID(int=2)), 1)
    found = joined([{best: 0.2, half: 0.3}, {best: 0.1, half: 0.03}, {best: 0.0, half: 0.0}], BLEND)
    assert found[best] > found[half]
