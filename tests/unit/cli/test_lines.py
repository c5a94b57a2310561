import json

import pytest

from events.errors import BadInputError
from ops.cli.ingest import line_of
from ops.cli.output import plain

GOOD = {
    "turn_id": "t1",
    "session_id": "s1",
    "occurred_at": "2026-08-03T09:25:00+08:00",
    "messages": [{"message_id": "m1", "role": "user", "content": "我喜欢 tea"}],
}


def raw(**changes: object) -> bytes:
    return json.dumps(GOOD | changes).encode()


def test_whose_turn_it_is_comes_from_the_line_or_the_option() -> None:
    """The line wins; without both it is refused."""
    assert line_of(1, raw(subject="lin"), "shen").subject == "lin"
    assert line_of(1, raw(), "shen").subject == "shen"
    with pytest.raises(BadInputError, match="--subject"):
        line_of(1, raw(), None)


def test_a_line_becomes_the_turn_it_describes() -> None:
    """Nothing is lost, and an origin that was left out is the one that fits the role."""
    turn = line_of(1, raw(subject="lin", status="failed"), None).turn
    assert (turn.turn_id, turn.session_id, turn.status) == ("t1", "s1", "failed")
    assert turn.occurred_at.isoformat() == GOOD["occurred_at"]
    assert turn.messages == [{"message_id": "m1", "role": "user", "origin": "user", "content": "我喜欢 tea"}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "no JSON object"),
        (b"\xff", "not UTF-8"),
        (raw(subject=5), "no string"),
        (raw(subject="lin", secret="x"), "not known here"),
        (raw(subject="lin", occurred_at="2026-08-03T09:25:00"), "occurred_at"),
        (raw(subject="lin", messages=[]), "messages"),
        (raw(subject="lin", session_id="\ud800"), "surrogate"),
    ],
)
def test_a_line_that_is_no_turn_is_refused_with_its_reason(line: bytes, reason: str) -> None:
    """The reason says which field and why."""
    with pytest.raises(BadInputError, match=reason):
        line_of(1, line, None if b"{" in line else "shen")


def test_what_is_shown_cannot_steer_the_terminal() -> None:
    """Control characters and direction marks become visible; both languages and emoji stay."""
    assert plain("a\x1b[2Jb\u202ec").plain == "a\\x1b[2Jb\\u202ec"
    assert plain("茶 tea 😮\u200d💨\nx").plain == "茶 tea 😮\u200d💨\nx"
