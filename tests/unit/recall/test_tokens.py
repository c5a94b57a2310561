"""What keyword search can find, in Chinese, English and both at once."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.tokens import fold, terms, tokenize

SECRET = bytes(range(32))

FOUND = [
    ("烤鸭", "Alice喜欢北京烤鸭employees"),
    ("employee", "Alice喜欢北京烤鸭employees"),
    ("alice", "Alice喜欢北京烤鸭employees"),
    ("ＣＮ－Ａ１０２９３", "The order CN-A10293 has not arrived"),
    ("cn-a10293", "订单CN-A10293还没到"),
    ("A10293", "订单CN-A10293还没到"),
    ("10293", "订单CN-A10293还没到"),
    ("CN–A10293", "CN-A10293"),
    ("頭髮", "她剪了头发"),
    ("头发", "她剪了頭髮"),
    ("看著", "他看着窗外"),
    ("臺北", "下个月去台北出差"),
    ("user", "call getUserById first"),
    ("getuserbyid", "call getUserById first"),
    ("HTTP", "parse HTTPServer logs"),
    ("timeout_ms", "raise TIMEOUT_MS to 500"),
    ("3.11", "on Python 3.11 only"),
    ("c++", "I write C++ at work"),
    ("c#", "我在学C#"),
    ("C#", "I like C#, not Java"),
    ("running", "she runs every morning"),
    ("Zoe", "Zoë's birthday"),
    ("zoë", "Zoe moved"),
    ("茶", "我爱喝茶"),
    ("烤鸭", "烤\u200b鸭"),
    ("cafe", "ｃａｆé"),
    ("wei@example.com", "write to Wei@Example.com please"),
    ("東京", "东京的樱花"),
    ("ガス", "ｶﾞｽの料金"),
]

MISSED = [("烤鸭", "北京烤肉和盐水鸭"), ("CN-A10293", "CN-B10294"), ("c++", "vitamin C"), ("Java", "javascript")]


def _shared(query: str, text: str) -> set[str]:
    longest = max(map(len, tokenize(query)))
    return {token for token in tokenize(query) if len(token) == longest} & set(tokenize(text))


@pytest.mark.parametrize(("query", "text"), FOUND)
def test_finds(query: str, text: str) -> None:
    """The longest token of the query stands among the tokens of the text."""
    assert _shared(query, text)


@pytest.mark.parametrize(("query", "text"), MISSED)
def test_does_not_find(query: str, text: str) -> None:
    """A word that is not there is not found by its neighbours."""
    assert not _shared(query, text)


def test_says_nothing_for_function_words() -> None:
    """A question of English function words alone has no keyword."""
    assert tokenize("What is it that you don't have?") == []


def test_keeps_repetition() -> None:
    """A token that occurs twice counts twice, once per occurrence of an identifier."""
    counted = Counter(tokenize("tea and tea 茶茶 v2"))
    assert counted["tea"] == 2
    assert counted["茶"] == 2
    assert counted["茶茶"] == 1
    assert counted["v2"] == 1


@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1), st.data())
def test_finds_any_part_of_a_chinese_run(text: str, data: st.DataObject) -> None:
    """Every substring of a Chinese text shares all its tokens with the text: folding does not look at neighbours."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert set(tokenize(text[start:end])) <= set(tokenize(text))


@given(st.text())
def test_folding_is_final(text: str) -> None:
    """Folding what is folded changes nothing, and tokenizing any text ends."""
    assert fold(fold(text)) == fold(text)
    assert tokenize(fold(text)) == tokenize(text)


def test_hashes_are_keyed() -> None:
    """Two people's hashes of the same words have nothing in common, and one person's are equal in any order."""
    mine = terms("北京烤鸭 and tea", SECRET)
    assert mine == terms("tea and 北京烤鸭", SECRET)
    assert not set(mine) & set(terms("北京烤鸭 and tea", SECRET[::-1]))
    assert len(mine) == len(tokenize("北京烤鸭 and tea"))
    assert all(0 <= term < 2**63 for term in mine)


@pytest.mark.parametrize("secret", [b"", b"short", bytes(65)])
def test_refuses_a_weak_secret(secret: bytes) -> None:
    """Without a real secret nothing is hashed: an unkeyed hash of a word can be guessed."""
    with pytest.raises(ValueError, match="index secret"):
        terms("tea", secret)
