"""Find secrets by the words before them: 密码是…, password: …, 验证码 482913."""

import re
from collections.abc import Iterator

from services.governance.recognisers import Found

_ZH_KEYWORD = "(?:密码|密碼|口令|密钥|密鑰|秘钥|令牌|通行码|授权码|暗号)"
_EDGE = "(?<![a-z0-9])"  # before a Latin keyword; a Chinese one may be glued to anything
_KEYWORD = (
    rf"(?:{_ZH_KEYWORD}|{_EDGE}(?:"
    r"pass\s?-?(?:word|wd|phrase|code)s?|pwd|passwd|secret(?:[ _-]?key)?|api[ _-]?key|access[ _-]?(?:key|token)|"
    r"auth[ _-]?(?:token|key)|private[ _-]?key|[a-z_]{0,30}_(?:token|secret|key|password|pwd|pass)|token|credentials?))"
)
_LOCKED = (
    r"(?:front |back |side )?(?:doors?|alarm|gates?|garage|lock\s?box|safe|lockers?|vault|padlock|bike lock|keypad|"
    r"key\s?safe|strongbox|briefcase|suitcase)"
)
_CODE_KEYWORD = (
    rf"(?:验证码|驗證碼|校验码|动态码|短信码|取件码|解锁码|{_EDGE}(?:"
    r"pin(?:\s?code)?|otp|(?:verification|security|one[- ]time|unlock|access|2fa)\s?(?:code|passcode|pin)|"
    rf"{_LOCKED}(?:'s)?\s(?:code|passcode|pin|combination)|(?:code|combination)s?\s(?:for|to|of|on)\s"
    rf"(?:the|my|our|his|her|their)\s(?:[a-z]{{1,12}}\s)?{_LOCKED}|combination))"
)
_WHOSE = (  # "the alarm code at the shop is …", "the PIN for my card is …"
    r"(?:\s(?:at|for|of|to|in|on)\s(?:the|my|our|his|her|their)(?:\s[a-z]{2,14}){1,3}?)?"
)
# Words that may stand between the keyword and its value: "password for later: …", "密码给你：…", "密码已经改成 …".
_BETWEEN = (
    r"(?:\s{0,3}(?:for|of|to|on|my|the|this|at|in|now|later|new|old|wifi|is|has|been|changed|set|account|server)){0,5}"
)
_BETWEEN_ZH = r"(?:\s?(?:给你|都|还|也|就|现在|已经|已|我|的|你|记|一下|设|改|换|更新)){0,4}"
_COLON = r"\s{0,3}(?:[:=：]|=>|->)\s{0,3}"
_IS = (
    r"\s{0,3}(?:is|was|are|becomes?|to|是|为|為|叫|用|成|成了|设为|设成|改成|改为|换成|换为)"
    r"(?:\s{1,3}(?:now|currently|still))?\s{0,3}"
)
_VALUE = r"""[\"'「『“‘`]?(?P<value>[!-9;-<>-~][!-~]{3,199})"""
_CHINESE_VALUE = r"[「『“\"](?P<value>[^」』”\"\n]{2,60})[」』”\"]"

# Chinese characters and then digits or letters: 春山2024. Talk about passwords has no such thing in it.
_MIXED_VALUE = r"[「『“\"]?(?P<value>[\u4e00-\u9fff]{1,8}(?=[!-~]{0,30}[0-9])[A-Za-z0-9!@#$%^&*_.+-]{2,40})"

_LABELLED = re.compile(_KEYWORD + _BETWEEN + _BETWEEN_ZH + _COLON + _VALUE, re.IGNORECASE)
_STATED = re.compile(_KEYWORD + _BETWEEN + _BETWEEN_ZH + r"(?:" + _IS + r")" + _VALUE, re.IGNORECASE)
_GLUED = re.compile(_ZH_KEYWORD + r"\s{0,3}" + _VALUE, re.IGNORECASE)
_QUOTED = re.compile(_KEYWORD + _BETWEEN_ZH + r"(?:" + _COLON + "|" + _IS + r")" + _CHINESE_VALUE, re.IGNORECASE)
_MIXED = re.compile(_ZH_KEYWORD + _BETWEEN_ZH + r"(?:" + _COLON + "|" + _IS + ")" + _MIXED_VALUE)
_CODE = re.compile(
    _CODE_KEYWORD
    + _WHOSE
    + _BETWEEN
    + r"(?:"
    + _COLON
    + "|"
    + _IS
    + r"|\s{0,3})(?P<value>[0-9]{3,8}(?:[ -][0-9]{2,4})?|[0-9]{1,3}(?:[ -][0-9]{1,3}){2,3})(?![0-9])",
    re.IGNORECASE,
)
_CODE_FIRST = re.compile(
    r"(?<![0-9])(?P<value>[0-9]{4,8})\s{0,3}(?:是|为|is)\s{0,3}(?:你的|您的|我的|your|my|the)?\s{0,3}" + _CODE_KEYWORD,
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"string|str|text|required|optional|none|null|true|false|bool|int|integer|varchar|char|reset|resets|changed|change|"
    r"field|empty|missing|invalid|incorrect|wrong|correct|expired|strong|weak|protected|manager|needed|forgotten|login|"
    r"todo|tbd|example|here|below|above|valid|authentication|based|auth|hash|hashed|policy",
    re.IGNORECASE,
)
_UNITS = re.compile(r"\s{0,2}(?:年|月|日|号|位|个|次|天|分|秒|小时|条|种|字|characters?|chars?|digits?|days?|times?)")
_TRAILING = "\"'`」』”’.,;:!?)]}>、。，；：！？）"
_PLACEHOLDER = re.compile(r"[$<{%]|https?:")  # of a template, or an address: not the value
_SHORTEST = 4
_PASSWORD = re.compile(r"pass|pwd|密码|密碼|口令", re.IGNORECASE)


def phrases(text: str) -> Iterator[Found]:
    """Yield values that the words before them call a secret."""
    for pattern in (_LABELLED, _STATED, _GLUED):
        for match in pattern.finditer(text):
            found = _value(text, match, bare_word=pattern is _LABELLED)
            if found:
                yield found
    for pattern in (_QUOTED, _MIXED):
        for match in pattern.finditer(text):
            if not _UNITS.match(text, match.end("value")):
                yield Found(match.start("value"), match.end("value"), "password")
    for pattern in (_CODE, _CODE_FIRST):
        for match in pattern.finditer(text):
            if not _UNITS.match(text, match.end("value")):
                yield Found(match.start("value"), match.end("value"), "one_time_code")


def _value(text: str, match: re.Match[str], *, bare_word: bool) -> Found | None:
    start = match.start("value")
    value = match.group("value").rstrip(_TRAILING)
    end = start + len(value)
    if len(value) < _SHORTEST or _PROSE.fullmatch(value) or _PLACEHOLDER.match(value) or _UNITS.match(text, end):
        return None
    password = _PASSWORD.search(text, match.start(), start)
    if not password and (value.isdigit() or value.replace("_", "").isalpha()):
        return None  # max_tokens: 4096, sort_key = created_at
    # One plain word is a value after a colon at the end of its clause ("password: swordfish"), else it is prose.
    plain_word = value.isalpha() or (value.islower() and value.replace("-", "").isalpha())
    prose = plain_word and (not bare_word or text[end : end + 2].strip(" \t")[:1].isalnum())
    return None if prose else Found(start, end, "password")
