"""Words are found however JSON wrote them, and secrets in it too."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.forgetting.said import says, unescaped
from workers.ingest import without_secrets

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text.strip() != "")


@given(TEXTS, TEXTS, st.booleans())
def test_a_word_is_found_in_json_however_it_is_escaped(word: str, around: str, escaped: bool) -> None:
    """A word inside a JSON string is found, with or without escapes, and in JSON within JSON."""
    once = json.dumps({"content": around + word + around}, ensure_ascii=escaped)
    assert says(once, [word])
    assert says(json.dumps({"turn": once}, ensure_ascii=escaped), [word])


@given(TEXTS)
def test_writing_out_is_the_inverse_of_escaping(text: str) -> None:
    """What JSON escapes is written out again, emoji and quotes included."""
    assert unescaped(json.dumps(text)[1:-1]) == text


@pytest.mark.parametrize("word", ["", " ", "\n\t"])
def test_a_blank_word_is_found_nowhere(word: str) -> None:
    """An empty message is no needle: it would be found in everything."""
    assert not says("北京烤鸭", [word])


def test_half_a_surrogate_pair_does_no_harm() -> None:
    """Broken escapes are text like any other."""
    assert says(r'{"content": "\ud83d 烤鸭"}', ["烤鸭"])
    assert says("\\u70e4\\u9e2d\\ud83d", ["烤鸭"])
    assert not says("\\u70e4", ["烤鸭"])


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("said", ["数据库密码：hunter2hunter2，请勿外传", "password: hunter2hunter2"])
def test_a_secret_in_a_parked_turn_is_replaced(said: str, escaped: bool) -> None:
    """A dead letter holds no secret, in complete JSON, in JSON cut short, and in no JSON at all."""
    body = json.dumps({"turn_id": 1, "messages": [{"content": said}]}, ensure_ascii=escaped)
    for text in (body, body[:-2], said):
        assert "hunter2" not in unescaped(without_secrets(text))
    assert json.loads(without_secrets(body))["turn_id"] == 1


def test_deep_json_is_no_way_around() -> None:
    """JSON nested deeper than a parser goes is treated as plain text."""
    text = "[" * 100_000 + '"password: hunter2hunter2"'
    assert "hunter2" not in without_secrets(text)
