import pytest

from services.governance.aboutness import aboutness, describe
from services.governance.policy import shipped_policy

ABOUT = shipped_policy().about
COFFEE, TEA, NOTHING = frozenset({"coffee"}), frozenset({"tea"}), frozenset[str]()


@pytest.mark.parametrize(
    ("description", "topics", "said", "said_topics", "similarity", "meant"),
    [
        ("忘记我说过的喝咖啡的口味", COFFEE, "我喝咖啡只喝手冲", COFFEE, 0.2, True),
        ("忘记我说过的喝咖啡的口味", COFFEE, "我喝茶只喝岩茶", TEA, 0.4, False),
        ("forget my coffee habit", COFFEE, "我喝咖啡只喝手冲", COFFEE, 0.05, True),
        ("forget 我说的 Trello 那件事", NOTHING, "我的看板都放在 Trello 里", NOTHING, 0.1, True),
        ("forget 我说的 Trello 那件事", NOTHING, "我的看板都放在 Asana 里", NOTHING, 0.9, False),
        ("忘掉我的 coffee 习惯", COFFEE, "我喝咖啡只喝手冲", COFFEE, 0.1, True),
        ("the 3 rings I own", NOTHING, "I own 4 rings", NOTHING, 0.9, False),
        ("everything about Robin and me", NOTHING, "I met a friend of Casey", NOTHING, 0.9, False),
        ("what I wear", NOTHING, "I only wear wool", NOTHING, 0.2, True),
        ("what I wear", NOTHING, "I run on Sundays", NOTHING, 0.2, False),
        ("把我 kayak 那条 forget 掉", NOTHING, "我划的 kayak 是红色的", NOTHING, 0.1, True),
        ("forget the one about my kayak", NOTHING, "My kayak is red", NOTHING, 0.1, True),
        ("删掉写毛笔字那条", NOTHING, "我周末写毛笔字", NOTHING, 0.15, True),
        ("我的盆栽", NOTHING, "盆栽放在阳台上", NOTHING, 0.3, True),
        ("我的盆栽", NOTHING, "我喜欢吃盆菜", NOTHING, 0.4, False),
        ("我的鹅", NOTHING, "鹅养在河边", NOTHING, 0.2, True),
        ("我家的装修", NOTHING, "我家有三只羊", NOTHING, 0.3, False),
        ("我的前同事", NOTHING, "我的同事喜欢喝茶", NOTHING, 0.3, False),
        ("我和小陈的事", NOTHING, "我和小王上周去爬山了", NOTHING, 0.35, False),
        ("my bonsai", NOTHING, "My bonsais need water", NOTHING, 0.3, True),
        ("my bonsai", NOTHING, "I like gardening", NOTHING, 0.45, False),
        ("my bonsai", NOTHING, "我的盆景是松树", NOTHING, 0.25, True),
    ],
)
def test_what_a_description_means(
    *, description: str, topics: frozenset[str], said: str, said_topics: frozenset[str], similarity: float, meant: bool
) -> None:
    """Words and topics decide with closeness; a missing name or number is never made up for by it."""
    score = aboutness(describe(description, topics), said, said_topics, similarity, ABOUT)
    assert (score >= ABOUT.threshold) is meant
