"""Numbers that prove themselves: bank cards (ISO/IEC 7812) and Chinese resident ids (GB 11643-1999)."""

import re
from datetime import date

_RIC_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_RIC_CHECKS = "10X98765432"
_RIC_LENGTH = 18
_PROVINCE = re.compile("1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]")

# Issuer prefixes and the lengths they issue:
# Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Mir, Maestro.
_ISSUERS: tuple[tuple[range, int, frozenset[int]], ...] = (
    (range(4, 5), 1, frozenset({13, 16, 19})),
    (range(51, 56), 2, frozenset({16})),
    (range(2221, 2721), 4, frozenset({16})),
    (range(34, 35), 2, frozenset({15})),
    (range(37, 38), 2, frozenset({15})),
    (range(300, 306), 3, frozenset({14, 16})),
    (range(36, 37), 2, frozenset({14})),
    (range(38, 40), 2, frozenset({14, 16})),
    (range(6011, 6012), 4, frozenset({16, 19})),
    (range(644, 660), 3, frozenset({16, 19})),
    (range(3528, 3590), 4, frozenset({16, 19})),
    (range(62, 63), 2, frozenset({16, 17, 18, 19})),
    (range(81, 82), 2, frozenset({16, 17, 18, 19})),
    (range(2200, 2205), 4, frozenset({16, 19})),
    (range(5018, 5019), 4, frozenset({16, 19})),
    (range(6304, 6305), 4, frozenset({16, 19})),
)


def luhn(digits: str) -> bool:
    """Say whether the last digit is the Luhn check digit (ISO/IEC 7812-1, annex B)."""
    total = 0
    for index, char in enumerate(reversed(digits)):
        value = int(char)
        if index % 2:
            value = value * 2 - 9 if value > 4 else value * 2  # noqa: PLR2004 - the sum of the digits of a doubled digit
        total += value
    return total % 10 == 0


def issuer_known(digits: str) -> bool:
    """Say whether a card number of this length can begin like this."""
    return any(int(digits[:width]) in prefixes and len(digits) in lengths for prefixes, width, lengths in _ISSUERS)


def is_card(digits: str) -> bool:
    """Say whether these digits are a plausible bank card number."""
    return issuer_known(digits) and luhn(digits)


def is_resident_id(number: str) -> bool:
    """Say whether this is a Chinese resident id: province, a real birth date, check digit (GB 11643, MOD 11-2)."""
    if len(number) != _RIC_LENGTH or not _PROVINCE.match(number):
        return False
    try:
        date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(number[:17], _RIC_WEIGHTS, strict=True))
    return _RIC_CHECKS[total % 11] == number[17].upper()
