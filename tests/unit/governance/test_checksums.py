import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.governance.checksums import is_card, is_resident_id, luhn


@given(st.text("0123456789", min_size=12, max_size=18))
def test_exactly_one_check_digit_passes_luhn(body: str) -> None:
    """Of the ten possible last digits one is right."""
    assert sum(luhn(body + digit) for digit in "0123456789") == 1


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("110101199003070003", True),
        ("11010119900307000X", False),
        ("110101199013070003", False),  # no month 13
        ("990101199003070003", False),  # no such province
        ("11010119900307", False),
    ],
)
def test_a_resident_id_proves_itself(number: str, expected: bool) -> None:
    """Province, birth date and check digit must all be right (GB 11643)."""
    assert is_resident_id(number) is expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("4111111111111111", True),
        ("4111111111111112", False),
        ("6222000000000000129", True),
        ("1234567812345670", False),
    ],
)
def test_a_card_needs_issuer_and_check_digit(number: str, expected: bool) -> None:
    """Luhn alone is not enough: somebody must issue such numbers."""
    assert is_card(number) is expected
