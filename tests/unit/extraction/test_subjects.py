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
        ("我的体重", "我现在 76 公斤了"),
        ("my weight", "I'm down to 71 kg"),
        ("我的身高", "我一米七八"),
        ("how tall I am", "I'm 182 cm tall"),
        ("我的收入", "我一个月拿八千"),
        ("my income", "I bring home roughly 2,900 a month"),
        ("我的年龄", "我今年三十五岁了"),
        ("my age", "I've just turned 50"),
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
        ("我的体重", "我买了 5 公斤大米"),
        ("我的体重", "我今年 82 岁"),
        ("my weight", "The parcel weighs 3 kg"),
        ("我的身高", "这张桌子高 178 厘米"),
        ("my income", "I make about 30 cups a week"),
        ("my age", "My dog is 3 years old"),
        ("我的年龄", "我女儿五岁"),
        ("my operation", "I'm down to 71 kg"),
    ],
)
def test_another_sense_of_the_verb_shares_nothing(description: str, said: str) -> None:
    """An outing, an instrument, a sport, another drink or a price is another subject."""
    assert not meant_subjects(description) & subjects_of(said)


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("my health", "I work at a hospital"),
        ("my health", "I'm a doctor"),
        ("我的健康", "我在医院上班"),
        ("我的健康", "我是医生"),
        ("我的车", "我家住在车站旁边"),
        ("我的车", "我喜欢骑自行车"),
        ("我的手机号", "我换了新手机，是折叠屏"),
        ("my phone number", "My phone is a foldable one"),
    ],
)
def test_where_one_works_and_what_only_sounds_alike_is_another_subject(description: str, said: str) -> None:
    """A hospital that is a place of work is no health, and a station no car."""
    assert not meant_subjects(description) & subjects_of(said)
