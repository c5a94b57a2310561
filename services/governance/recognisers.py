"""Find secrets in a folded text: tokens by their shape, numbers by their check digit, values by the words before them.

Every pattern is linear in the length of the text: repetitions are bounded or of one character class, none are nested.
CJK characters are word characters for `re`, so edges are look-arounds over ASCII, never a word boundary.
"""

import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector

from services.governance.checksums import is_card, is_resident_id


class Found(NamedTuple):
    """A secret at `start:end` of the folded text."""

    start: int
    end: int
    label: str


# Named plugins only. Entropy plugins fire on plain Chinese and English; keyword needs quotes; jwt, openai and npm take
# quadratic time on hostile text, so those shapes are in _TOKENS.
_PLUGINS: tuple[tuple[RegexBasedDetector, str], ...] = (
    (AWSKeyDetector(), "cloud_key"),
    (AzureStorageKeyDetector(), "cloud_key"),
    (DiscordBotTokenDetector(), "api_key"),
    (GitHubTokenDetector(), "api_key"),
    (GitLabTokenDetector(), "api_key"),
    (MailchimpDetector(), "api_key"),
    (SendGridDetector(), "api_key"),
    (SlackDetector(), "api_key"),
    (SquareOAuthDetector(), "api_key"),
    (StripeDetector(), "api_key"),
    (TelegramBotTokenDetector(), "api_key"),
)

_TOKENS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(r"(?<![A-Za-z0-9])" + shape), label)
    for shape, label in (
        (r"[spr]k-[A-Za-z0-9_-]{16,}", "api_key"),
        (r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}", "api_key"),
        (r"gh[pousr]_[A-Za-z0-9]{20,}", "api_key"),
        (r"github_pat_[A-Za-z0-9_]{20,}", "api_key"),
        (r"xox[a-z]-[A-Za-z0-9-]{10,}", "api_key"),
        (r"xapp-[A-Za-z0-9-]{10,}", "api_key"),
        (r"(?:hf|npm|dckr_pat|dop_v1|shpat|whsec)_[A-Za-z0-9]{20,}", "api_key"),
        (r"pypi-[A-Za-z0-9_-]{40,}", "api_key"),
        (r"AGE-SECRET-KEY-1[A-Z0-9]{20,}", "private_key"),
        (r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![A-Za-z0-9])", "cloud_key"),
        (r"LTAI[A-Za-z0-9]{12,30}(?![A-Za-z0-9])", "cloud_key"),
        (r"AKID[A-Za-z0-9]{16,60}(?![A-Za-z0-9])", "cloud_key"),
        (r"AIza[A-Za-z0-9_-]{35}", "cloud_key"),
        (r"ya29\.[A-Za-z0-9_-]{20,}", "cloud_key"),
        (r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", "jwt"),
        (r"[Bb]earer\s{1,3}(?=[A-Za-z._~+/-]{0,99}[0-9])[A-Za-z0-9._~+/-]{16,}=*", "api_key"),
    )
)
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_URL_LOGIN = re.compile(r"://[^\s:/?#@\[\]]{0,200}:([^\s/@]{1,200})@")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_CONTEXT = re.compile(r"aws|akia|asia|secret|access.?key", re.IGNORECASE)
_DIGIT_RUN = re.compile(
    r"(?<![0-9A-Za-z_.])[0-9]+(?:(?:[ \u2010-\u2015-]| ?\r?\n)[0-9]+)*(?:[ -]?[Xx](?![A-Za-z0-9]))?(?![0-9A-Fa-f_])"
)  # letters that follow may be the next word, but hexadecimal ones are of a digest
_GROUP = re.compile(r"[0-9Xx]+")
_CARD_WORDS = re.compile(r"(?:银行卡|信用卡|储蓄卡|卡号|card\s?(?:number|no\.?|#))[^0-9\n]{0,8}$", re.IGNORECASE)
_ID_WORDS = re.compile(r"(?:身份证(?:号码?)?|居民证|id\s?card(?:\s?number)?|resident id)[^0-9\n]{0,8}$", re.IGNORECASE)
_CVV = re.compile(r"(?:cvv2?|cvc2?|安全码|校验码|卡背面)[^0-9\n]{0,12}([0-9]{3,4})(?![0-9])", re.IGNORECASE)
_CONTEXT = 24
_CARD_LENGTHS = range(13, 20)
_MAX_GROUPS = 19


def tokens(text: str) -> Iterator[Found]:
    """Yield tokens that show what they are by their shape."""
    for plugin, label in _PLUGINS:
        for pattern in plugin.denylist:
            for match in pattern.finditer(text):
                yield Found(match.start(), match.end(), label)
    for pattern, label in _TOKENS:
        for match in pattern.finditer(text):
            yield Found(match.start(), match.end(), label)


def blocks(text: str) -> Iterator[Found]:
    """Yield private keys in PEM form; one without an end reaches to the end of the text."""
    position = 0
    while begin := _PEM_BEGIN.search(text, position):
        end = _PEM_END.search(text, begin.end())
        position = end.end() if end else len(text)
        yield Found(begin.start(), position, "private_key")


def logins(text: str) -> Iterator[Found]:
    """Yield the password of `scheme://user:password@host`."""
    for match in _URL_LOGIN.finditer(text):
        yield Found(match.start(1), match.end(1), "password")


def cloud_secrets(text: str) -> Iterator[Found]:
    """Yield 40-character cloud secrets where the text speaks of one: their shape alone is that of a digest."""
    if not _AWS_CONTEXT.search(text):
        return
    for match in _AWS_SECRET.finditer(text):
        value = match.group()
        if any(c.islower() for c in value) and any(c.isupper() for c in value) and any(c.isdigit() for c in value):
            yield Found(match.start(), match.end(), "cloud_key")


def numbers(text: str) -> Iterator[Found]:
    """Yield bank cards and resident ids, also written in groups."""
    for run in _DIGIT_RUN.finditer(text):
        if run.end() - run.start() < _CARD_LENGTHS.start:
            continue
        groups = [(run.start() + m.start(), run.start() + m.end()) for m in _GROUP.finditer(run.group())]
        before = text[max(0, run.start() - _CONTEXT) : run.start()]
        yield from _in_groups(
            text, groups, card=bool(_CARD_WORDS.search(before)), resident=bool(_ID_WORDS.search(before))
        )


def _in_groups(text: str, groups: list[tuple[int, int]], *, card: bool, resident: bool) -> Iterator[Found]:
    first = 0
    while first < len(groups):
        window = groups[first : first + _MAX_GROUPS]
        lengths = accumulate(end - start for start, end in window)
        taken = 1
        for count, length in enumerate(lengths, start=1):
            if length not in _CARD_LENGTHS:
                continue
            number = "".join(text[start:end] for start, end in window[:count])
            breaks = text.count("\n", window[0][0], window[count - 1][1])
            if breaks > 1 and not (card or resident):
                continue  # a column of numbers, one of which in ten passes a check digit
            label = _number_label(number, card=card, resident=resident)
            if label:
                yield Found(window[0][0], window[count - 1][1], label)
                taken = count
        first += taken


def _number_label(number: str, *, card: bool, resident: bool) -> str | None:
    if is_resident_id(number) or (resident and len(number) in {15, 18}):
        return "resident_id"
    if number.isdigit() and len(number) in _CARD_LENGTHS and (card or is_card(number)):
        return "bank_card"
    return None


def card_codes(text: str) -> Iterator[Found]:
    """Yield the code on the back of a card, where the text says that it is one."""
    for match in _CVV.finditer(text):
        yield Found(match.start(1), match.end(1), "card_code")


SHAPES: tuple[Callable[[str], Iterator[Found]], ...] = (blocks, tokens, logins, cloud_secrets, numbers, card_codes)
