import pytest

from services.extraction.cues import Tempo, tempo
from services.extraction.person import of_another


@pytest.mark.parametrize(
    ("clauses", "index", "expected"),
    [
        (["以后都用英文"], 0, Tempo.STANDING),
        (["这次用英文"], 0, Tempo.ONCE),
        (["用英文"], 0, Tempo.NONE),
        (["这次我说清楚", "以后都用英文回"], 1, Tempo.STANDING),
        (["先这样写吧", "字数控制在两百以内"], 1, Tempo.ONCE),
        (["this time i mean it for good", "stop adding summaries"], 0, Tempo.STANDING),
        (["just this once", "answer in english"], 1, Tempo.ONCE),
        (["indent my code with tabs", "always"], 0, Tempo.STANDING),
        (["以后再说"], 0, Tempo.NONE),
    ],
)
def test_the_nearest_cue_says_for_how_long(clauses: list[str], index: int, expected: Tempo) -> None:
    """A clause's own cue first, then what governs it; for good beats for once within one clause."""
    assert tempo(clauses, index) is expected


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("我老婆喜欢薰衣草", True),
        ("客户要求用英文", True),
        ("客户邮件都用英文", False),
        ("我喜欢", False),
        ("my flatmate is vegan", True),
        ("my sister's emails go first", False),
        ("she works there", True),
        ("my emails", False),
    ],
)
def test_somebody_elses_statement_is_told_apart(clause: str, expected: bool) -> None:
    """A relative or a client as subject is somebody else; their e-mails are a thing."""
    assert of_another(clause) is expected
