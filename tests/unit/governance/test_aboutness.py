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
    ],
)
def test_what_a_description_means(
    *, description: str, topics: frozenset[str], said: str, said_topics: frozenset[str], similarity: float, meant: bool
) -> None:
    """Words and topics decide with closeness; a missing name or number is never made up for by it."""
    score = aboutness(describe(description, topics), said, said_topics, similarity, ABOUT)
    assert (score >= ABOUT.threshold) is meant
