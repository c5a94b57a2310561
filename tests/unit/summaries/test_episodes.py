"""What a session leaves behind: how a wish ended and what was agreed, in the person's own words (R15, R53)."""

from uuid import UUID

import pytest

from events.model import Kind, MemoryId, MessageId, Origin
from services.summaries.draft import Heard, Known
from services.summaries.episodes import Proposal, proposals


def session(*said: str, known: str | None = None) -> tuple[Proposal, ...]:
    """Let the person say some things, one a message; an assistant's message begins with `>`."""
    heard = [
        Heard(
            MessageId(UUID(int=number)),
            Origin.ASSISTANT if text.startswith(">") else Origin.USER,
            text.removeprefix(">"),
            number,
            "",
        )
        for number, text in enumerate(said)
    ]
    memories = [] if known is None else [Known(MemoryId(UUID(int=99)), known, ())]
    return proposals(heard, memories)


@pytest.mark.parametrize(
    ("wish", "end", "outcome"),
    [
        ("帮我订周五去杭州的高铁", "那就定9:15的G7", "decided"),
        ("我想把服务器的备份脚本修好", "终于好了，搞定了", "solved"),
        ("帮我查一下去大理的航班", "太贵了，算了", "given up"),
        ("I want to pick a database for the shop", "We'll go with Postgres then", "decided"),
        ("Help me fix the login page", "Great, it works now", "solved"),
        ("I need a cheaper phone plan", "Never mind, it is not worth it", "given up"),
    ],
)
def test_how_a_wish_ended_is_an_episode(wish: str, end: str, outcome: str) -> None:
    """Wish and end stand in one line, which rests on both messages; the end is a sentence of the person."""
    (episode,) = session(wish, ">好的 / sure", end)
    assert (episode.kind, episode.key) == (Kind.EPISODE, "episode")
    assert episode.content == f"{wish} → {end} ({outcome})"
    assert (episode.value, episode.messages) == (end, (MessageId(UUID(int=0)), MessageId(UUID(int=2))))


@pytest.mark.parametrize("text", ["我们决定以后每周五发版", "We agreed to ship every Friday from now on"])
def test_what_was_agreed_is_a_conclusion(text: str) -> None:
    """It stands for itself, as the person said it."""
    (conclusion,) = session("帮我看看发版流程", text)
    assert (conclusion.kind, conclusion.content, conclusion.messages) == (Kind.FACT, text, (MessageId(UUID(int=1)),))


@pytest.mark.parametrize(
    "said",
    [
        ("帮我订高铁", "那就定9:15的吗？"),
        ("帮我订高铁", "可能就定9:15的"),
        ("帮我订高铁", "这次就定9:15的"),
        ("帮我订高铁", ">那就定9:15的G7"),
        ("帮我订高铁", "如果有票就定9:15的"),
        ("那就定9:15的", "帮我订高铁"),
        ("Help me choose", "Shall we go with the blue one? Let's go with it, maybe"),
        ("Help me choose", "Just this once let's go with the blue one"),
        ("今天天气不错", "那就定9:15的"),
    ],
)
def test_what_is_no_end_is_no_episode(said: tuple[str, str]) -> None:
    """Not what was asked, guessed, supposed, meant for once, said by the agent, or said before anything was wanted."""
    assert session(*said) == ()


def test_what_is_remembered_already_is_not_proposed_again() -> None:
    """A sentence that a memory of the session says is no conclusion of it."""
    assert session("帮我看看发版流程", "我们决定以后每周五发版", known="每周五发版") == ()


def test_every_wish_ends_once() -> None:
    """Two wishes make two episodes, the same words make one."""
    found = session("帮我订高铁", "那就定G7", "帮我订酒店", "那就定湖边那家", "帮我订高铁", "那就定G7")
    assert [each.value for each in found] == ["那就定G7", "那就定湖边那家"]
