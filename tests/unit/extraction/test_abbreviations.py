import pytest

from services.extraction.material import own_words
from services.extraction.normalise import normalise
from services.extraction.segment import sentences
from tests.unit.extraction.make import claims

INSIDE = [
    "Please call me Prof. Lindqvist",
    "My dentist is Dr. Wu",
    "I live in St. Ives",
    "My desk is No. 7 by the window",
    "We moved on Nov. 3 last year",
    "I work at Acme Inc. in Utrecht",
    "My favourite author is J. K. Rowling",
    "my favourite author is j. k. rowling",
    "I read everything by J.R.R. Tolkien",
    "I moved to Washington D.C. last year",
    "I like stone fruit, e.g. plums and apricots",
    "I get up at 6 a.m. every day",
    "以后叫我 Prof. Lindqvist",
    "我在 Acme Inc. 工作",
]
TWO = [
    "I work at Acme Inc. My boss is Jo.",
    "I live on Main St. I like it there.",
    "My answer is no. I will stay.",
    "No. 6000 it is.",
    "We chose plan B. Then it rained.",
    "I get up at 6 a.m. Breakfast is porridge.",
    "So do I. Anna rows too.",
    "I live in the U.S. I work from home.",
    "我住在上海. 我喜欢猫.",
    "It is 7. Then we eat.",
]


@pytest.mark.parametrize("content", INSIDE)
def test_the_dot_of_an_abbreviation_ends_no_sentence(content: str) -> None:
    """Titles, numbers, firms, initials and the like go on with what they belong to, in either case."""
    (sentence,) = sentences(own_words(normalise(f"{content}.")))
    assert sentence.end >= len(content)


@pytest.mark.parametrize("content", TWO)
def test_a_dot_before_a_new_sentence_ends_one(content: str) -> None:
    """The same short form may close a sentence; what follows tells."""
    assert len(sentences(own_words(normalise(content)))) == 2


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("Please call me Prof. Lindqvist.", "Prof. Lindqvist"),
        ("I moved to St. Ives last week.", "St. Ives"),
        ("I work at Acme Inc. in Utrecht.", "Acme Inc. in Utrecht"),
        ("My favourite author is J. K. Rowling.", "J. K. Rowling"),
        ("My dentist is Dr. Wu.", "Dr. Wu"),
        ("我在 Acme Inc. 工作。", "Acme Inc."),
        ("我的牙医是 Dr. Wu。", "Dr. Wu"),
    ],
)
def test_a_value_keeps_its_abbreviation(content: str, value: str) -> None:
    """It is quoted as it was written, dot and all."""
    assert value in [claim.value for claim in claims(content)]
