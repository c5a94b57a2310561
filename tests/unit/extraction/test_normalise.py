from hypothesis import given
from hypothesis import strategies as st

from services.extraction.normalise import normalise


def test_script_width_case_and_hidden_characters_do_not_matter() -> None:
    """Matching sees simplified, half-width, lower-case, visible text; quoting sees what was written."""
    text = normalise("以後用ＰＤ\u200bＦ")
    assert text.folded == "以后用pdf"
    assert text.shown == "以後用PDF"


def test_a_span_leads_back_to_the_message() -> None:
    """Offsets of the folded text are mapped to the original, hidden characters included."""
    content = "a\u200bＢ㎏c"
    text = normalise(content)
    start = text.folded.index("b")
    begin, end = text.span(start, start + 3)
    assert content[begin:end] == "Ｂ㎏"


@given(st.text(max_size=200))
def test_every_character_knows_where_it_stood(content: str) -> None:
    """Both forms have one length, and offsets rise within the message."""
    text = normalise(content)
    assert len(text.folded) == len(text.shown) == len(text.at)
    assert list(text.at) == sorted(text.at)
    assert all(0 <= position < len(content) for position in text.at)
