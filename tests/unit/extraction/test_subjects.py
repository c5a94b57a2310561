"""What a description and a memory have in common, whatever the words."""

import pytest

from services.extraction.subjects import meant_subjects, subjects_of


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("我玩什么游戏", "我喜欢玩塞尔达传说"),
        ("我玩什么", "最近每晚都在玩《风起原》"),
        ("what games I play", "I play Minecraft every evening"),
        ("喝什么茶", "我爱喝龙井"),
        ("我喝什么", "我每天都喝两杯普洱"),
        ("what I drink", "I love sipping matcha"),
        ("我的工资", "我的月薪是三万"),
        ("我的薪水", "我每月挣三万"),
        ("my salary", "My pay is 3,000 a month"),
        ("what I earn", "I get paid on the fifth"),
        ("我穿什么", "我最近爱穿汉服"),
    ],
)
def test_a_verb_or_another_word_shares_the_subject(description: str, said: str) -> None:
    """What is played, drunk, worn or earned is known by its verb or by another word for it."""
    assert meant_subjects(description) & subjects_of(said)


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("我玩什么游戏", "别开玩笑了，我周末去成都玩"),
        ("我玩什么游戏", "我们在海边玩了一天"),
        ("what games I play", "I play the guitar and I play tennis"),
        ("喝什么茶", "我爱喝可乐"),
        ("what I drink", "I love baking bread"),
        ("my salary", "I pay for the gym monthly"),
    ],
)
def test_another_sense_of_the_verb_shares_nothing(description: str, said: str) -> None:
    """An outing, an instrument, a sport, another drink or a price is another subject."""
    assert not meant_subjects(description) & subjects_of(said)
