"""Which messages say word for word what is forgotten."""

import pytest

from services.forgetting.echoes import Sayings


@pytest.mark.parametrize(
    ("saying", "text", "found"),
    [
        ("I like jasmine tea.", "Don't remember this, but I LIKE jasmine  tea!", True),
        ("我对花生过敏", "再说一次：我對花生過敏。", True),
        ("I like jasmine tea.", "I like jasmine teapots", False),
        ("喜欢茉莉花茶", "我不喜欢茉莉花茶", False),
        ("I like jasmine tea.", "jasmine tea is what I like", False),
        ("jasmine tea", "I like jasmine tea", False),
        ("花生过敏", "我对花生过敏", False),
    ],
)
def test_a_text_repeats_what_it_holds_word_for_word(saying: str, text: str, found: bool) -> None:
    """Case, width, script and punctuation do not count; other words, parts of words, denials and short sayings do."""
    assert Sayings.of((), [saying]).within(text) is found
