"""Generated secrets in disguise are always found, and what only looks like one never is (R10)."""

import re
import string
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.governance.checksums import luhn
from services.governance.folding import fold
from services.governance.secrets import has_secret, redact

_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ALNUM = string.ascii_letters + string.digits
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
CARD_DIGITS = 16
_AROUND = ("", "我的", "用这个", "，", "please use ", "：", "（", "帮我填一下", "\n")


@dataclass(frozen=True)
class Secret:
    """A secret, and the words that are said before it; `core` is what must not be left."""

    before: str
    core: str


def _card(prefix: str, length: int, middle: int) -> str:
    body = prefix + f"{middle:020d}"[-(length - len(prefix) - 1) :]
    return next(f"{body}{digit}" for digit in range(10) if luhn(f"{body}{digit}"))


def _resident(day: int, serial: int, province: str) -> str:
    born = date(1950, 1, 1) + timedelta(days=day)
    body = f"{province}0101{born:%Y%m%d}{serial:03d}"
    check = "10X98765432"[sum(int(d) * w for d, w in zip(body, _WEIGHTS, strict=True)) % 11]
    return body + check


def _jwt(head: bytes, claims: bytes, signature: bytes) -> str:
    pieces = (b'{"alg":"' + head.hex().encode() + b'"}', b'{"sub":"' + claims.hex().encode() + b'"}', signature)
    return ".".join(urlsafe_b64encode(piece).decode().rstrip("=") for piece in pieces)


_text = st.text(_ALNUM, min_size=24, max_size=40)
CARDS = st.builds(
    _card, st.sampled_from(["4", "51", "55", "6222", "6217", "3530"]), st.just(16), st.integers(0, 10**12)
)
RESIDENTS = st.builds(_resident, st.integers(0, 26_000), st.integers(0, 999), st.sampled_from(["11", "31", "44", "51"]))
TOKENS = st.one_of(
    st.builds("sk-{}".format, _text),
    st.builds("ghp_{}".format, st.text(_ALNUM, min_size=36, max_size=36)),
    st.builds("xoxb-{}".format, _text),
    st.builds("AKIA{}".format, st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16)),
    st.builds(
        _jwt, st.binary(min_size=4, max_size=8), st.binary(min_size=8, max_size=24), st.binary(min_size=24, max_size=32)
    ),
)
_password = st.from_regex(r"[A-Za-z]{3,6}[#!_@][0-9]{3,5}[a-z]{1,4}", fullmatch=True)
PASSWORDS = st.builds(
    Secret,
    st.sampled_from(
        [
            "密码是",
            "密码：",
            "WiFi 密码 ",
            "口令改成了 ",
            "登录口令：",
            "my password is ",
            "password: ",
            "the passcode is now ",
        ]
    ),
    _password,
)
CODES = st.builds(
    Secret,
    st.sampled_from(
        ["验证码是", "验证码：", "短信验证码 ", "动态码 ", "verification code is ", "OTP: ", "your PIN is "]
    ),
    st.integers(100_000, 999_999).map(str),
)
MIXED = st.builds(
    Secret,
    st.sampled_from(["密码是", "口令：", "门禁密码改成了 "]),
    st.builds("{}{}".format, st.text("春海山月桥灯", min_size=2, max_size=4), st.integers(1000, 99_999)),
)


def left_of(secret: str, text: str) -> bool:
    """Say whether a text still holds a secret, in any width, grouping or with invisible characters in it."""
    squeezed = re.sub(r"[\s\-\u2010-\u2015]", "", fold(text).text)
    return re.sub(r"[\s\-]", "", secret) in squeezed


def wide(text: str) -> str:
    """Write digits and letters in full width."""
    return "".join(chr(ord(char) + 0xFEE0) if char.isascii() and char.isalnum() else char for char in text)


def grouped(text: str, separator: str) -> str:
    """Write a number in groups of four."""
    return separator.join(text[start : start + 4] for start in range(0, len(text), 4))


@given(
    number=st.one_of(CARDS, RESIDENTS),
    form=st.sampled_from(["plain", "wide", " ", "-", "\u00a0", "\u2013", "\n", " \n", "\u3000"]),
    before=st.sampled_from(_AROUND),
    after=st.sampled_from(_AROUND),
)
def test_a_number_with_a_check_digit_is_found_in_every_form(number: str, form: str, before: str, after: str) -> None:
    """Cards and resident ids in full width, in groups, across lines, glued to Chinese."""
    written = {"plain": number, "wide": wide(number)}.get(form) or grouped(number, form)
    if form.endswith("\n"):  # several lines of digits are a number where the words say so, else a column
        before = f"{before}卡号 " if len(number) == CARD_DIGITS else f"{before}身份证号："
    assert not left_of(number, redact(f"{before}{written}{after}").text)


@given(
    secret=st.one_of(
        TOKENS.map(lambda core: Secret("", core)), CARDS.map(lambda core: Secret("", core)), PASSWORDS, CODES
    ),
    places=st.lists(st.integers(0, 60), min_size=1, max_size=6),
    invisible=st.sampled_from(_INVISIBLE),
    before=st.sampled_from(_AROUND),
)
def test_invisible_characters_hide_no_secret(secret: Secret, places: list[int], invisible: str, before: str) -> None:
    """Zero-width and soft characters anywhere in a secret, or in the words before it, change nothing."""
    said = f"{secret.before}{secret.core}"
    for place in places:
        at = place % (len(said) + 1)
        said = said[:at] + invisible + said[at:]
    assert not left_of(secret.core, redact(f"{before}{said}").text)


@given(
    secret=st.one_of(PASSWORDS, CODES, MIXED),
    before=st.sampled_from(_AROUND),
    after=st.sampled_from(["", "，", "。", "\n", " "]),
)
def test_a_value_that_its_words_call_a_secret_is_found(secret: Secret, before: str, after: str) -> None:
    """密码、口令、验证码, password, PIN: what follows them is gone, also a mixture of Chinese and digits."""
    assert not left_of(secret.core, redact(f"{before}{secret.before}{secret.core}{after}").text)


@given(
    core=TOKENS,
    before=st.sampled_from(_AROUND),
    after=st.sampled_from(["", "帮我测试", "，", "\n", " "]),
    full=st.booleans(),
)
def test_a_token_is_found_glued_to_anything(core: str, before: str, after: str, *, full: bool) -> None:
    """Keys of known shape and base64url tokens, in either width, between Chinese characters."""
    said = wide(core) if full else core
    assert not left_of(core, redact(f"{before}{said}{after}").text)


@given(
    body=st.lists(st.text(_ALNUM + "+/", min_size=20, max_size=64), min_size=1, max_size=6),
    kind=st.sampled_from(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]),
    cut=st.booleans(),
)
def test_a_private_key_is_found_with_and_without_its_end(body: list[str], kind: str, *, cut: bool) -> None:
    """Every line of a PEM block is gone."""
    pem = "\n".join(
        [f"-----BEGIN {kind}PRIVATE KEY-----", *body, f"-----END {kind}PRIVATE KEY-----"][: -1 if cut else None]
    )
    left = redact(f"这是我的私钥\n{pem}").text
    assert not any(left_of(line, left) for line in body)


LOOK_ALIKES = [
    "4821\n5512\n9930\n1208\n7714",
    "订单号 20260315123456 已经发货了",
    "运单号 SF1234567890123，明天到",
    "快递单号是 75310864209753，帮我查一下",
    "发票号码 04403180 和 04403181 重复了",
    "合同编号 HT-2026-0315-0042 归档了吗",
    "工单 4471 和 4472 是同一个问题",
    "会议号 882 114 3306，下午三点进",
    "航班 MU5137 改到 14:25 起飞",
    "车次 G7532，12 车 08F",
    "我的身高 182，体重 75",
    "版本从 1.24.0-rc1 升到 1.24.1 了",
    "提交 9f2c1e7 把那个问题修好了",
    "回滚到 3f786850e387550fdab836ed7e6dc881de23001b 那次提交",
    "md5 是 d41d8cd98f00b204e9800998ecf8427e",
    "2026-03-15 08:30:00 的日志看不到",
    "20260315 到 20260331 之间的数据",
    "公司电话 021-55667788 转 8012",
    "客服热线 400-820-8820",
    "统计口径是 2019—2026 年",
    "ISBN 978-7-302-51163-2 这本书还有吗",
    "圆周率约等于 3.14159265358979",
    "商品条码 6901234567892",
    "学号 2021213467 的成绩出来了",
    "端口 8080 和 8443 都被占用",
    "邮编 200120，别写错",
    "IP 是 192.168.10.254，网关是 192.168.10.1",
    "这个接口的超时改成 45000 毫秒",
    "预算 1234567.89 元",
    "共 128 页，第 64 页缺图",
    "密码学这门课很难",
    "我忘了密码，怎么找回？",
    "密码要多长才安全？",
    "验证码一直收不到",
    "令牌桶算法怎么限流",
    "口令红包怎么抢",
    "密码改成了8位数字的那种",
    "密码是出厂默认的那个吗",
    "口令是统一下发的，2026年起生效",
    "门牌号 1203，电梯右手边",
    "The order number is 2026031512345",
    "Tracking number 1Z 999 AA1 01 2345 6784 is late",
    "ticket ABC-1234 blocks ABC-1235",
    "the meeting id is 834 5561 2290",
    "flight LH2039 leaves at 06:55 from gate B24",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 is empty",
    "bumped lodash from 4.17.20 to 4.17.21",
    "build 20260315.3 failed on step 12",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 does not match",
    "my ISBN is 978-0-306-40615-7",
    "version 10.0.19045.4170 of Windows",
    "the population was 1412000000 in 2021",
    "room 1402, floor 14",
    "uuid 123e4567-e89b-12d3-a456-426614174000 in the test data",
    "pi is 3.141592653589793238462643",
    "call the front desk on 555-0199",
    "the ZIP code is 94107",
    "coordinates 48.8584, 2.2945",
    "timestamps like 1710489600 and 1710489660",
    "passwords should be long",
    "the password field is empty",
    "token bucket with 500 tokens per second",
    "what is a good PIN length?",
    "the API key page moved",
    "a secret recipe with 11 herbs",
    "use base64 for the 24 byte header",
    "RFC 9162 section 2.1.3",
    "line 1024: unexpected end of file",
    "$ 12,345,678.90 in total",
    "chapter 12, pages 345-367",
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Orders, versions, hashes of commits, dates and talk about passwords are no secrets."""
    assert redact(text).text == text
    assert not has_secret(text)
