from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import get_args

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cenotaph import answers
from cenotaph.calls import (
    Bounds,
    MemoryStatus,
    Message,
    Origin,
    RankingPreset,
    RecallRole,
    Role,
    Status,
    TaskStart,
    Turn,
)
from cenotaph.client import AsyncCenotaph, Cenotaph, TokenRole
from cenotaph.errors import CenotaphError
from cenotaph.transport import Retry
from events import model
from events.errors import StaleVersionError, TurnConflictError, UnavailableError
from services.access.rights import TokenRole as AccessRole
from services.api.minting import TokenAnswer
from services.wire import memories, profile, recall, receipts, tasks, turns
from tests.unit.api.backend import MEMORY, RECEIPT
from tests.unit.client.door import ADDRESS, Door


def turn(content: str = "我不吃牛肉, and I like tea.") -> Turn:
    """Make a finished turn."""
    said = Message(message_id="1", role="user", content=content)
    return Turn(turn_id="轮次/1", session_id="s-1", occurred_at=datetime.now(UTC), messages=(said,))


async def test_every_call_asyncio(memory: AsyncCenotaph) -> None:
    """Every call reaches the door and its answer is understood."""
    assert (await memory.finalize(turn())).state == "stored"
    assert (await memory.outcome("轮次/1")).verdicts[0].memory_id == MEMORY
    assert (await memory.context("晚饭", role="chat", at_least=7)).text == "- 不吃牛肉"
    assert (await memory.search("beef", limit=3)).memories[0].score == 0.5
    assert (await memory.memories("active", limit=2, cursor="abc")).next_cursor == "abc"
    assert (await memory.memory(MEMORY)).versions[0].positive is False
    assert (await memory.where(MEMORY)).layers[0].holds
    receipt = await memory.forget(MEMORY)
    assert receipt == await memory.receipt(RECEIPT)
    assert (await memory.receipts()).receipts == (receipt,)


def test_every_call_blocking(door: Door) -> None:
    """The blocking client makes the same calls."""
    with Cenotaph(ADDRESS, transport=door.blocking) as client:
        memory = client.for_subject(door.backend.key, "user-17", role="person")
        assert memory.finalize(turn()).state == "stored"
        assert memory.outcome("轮次/1").state == "considered"
        assert memory.context("dinner", role="planner", token_budget=100).token_budget == 100
        assert memory.search("beef").memories[0].memory_id == MEMORY
        assert memory.memories().memories[0].content == "不吃牛肉 / does not eat beef"
        assert memory.memory(MEMORY).status == "active"
        assert memory.where(MEMORY).readers == ("person", "agent")
        assert memory.forget(MEMORY) == memory.receipt(RECEIPT) == memory.receipts().receipts[0]


BOUNDS = Bounds(project="项目北风", task_id="report-7", assistant="教练", purpose="health coaching")


def bound_by(door: Door) -> list[object]:
    return [call[1][1:] for call in door.backend.calls if call[0] == "bound"]


def test_a_client_bound_to_a_project_mints_bound_tokens(door: Door) -> None:
    """The blocking client hands over what a token is bound to where it is minted, and nowhere else."""
    with Cenotaph(ADDRESS, transport=door.blocking) as client:
        client.for_subject(door.backend.key, "u", bounds=BOUNDS).memories()
    assert bound_by(door) == [(tuple(asdict(BOUNDS).values()),)]


async def test_a_client_for_asyncio_mints_bound_tokens(door: Door) -> None:
    """So does the other one."""
    async with AsyncCenotaph(ADDRESS, transport=door.faulty) as client:
        await client.for_subject(door.backend.key, "u", role="workflow", bounds=BOUNDS).tasks()
    assert bound_by(door) == [(tuple(asdict(BOUNDS).values()),)]


async def test_an_export_is_whole_or_an_error(door: Door) -> None:
    """Lines come as they are; where the last one does not vouch for the others, the caller learns that it is cut."""
    async with AsyncCenotaph(ADDRESS, transport=door.faulty) as client:
        memory = client.for_subject(door.backend.key, "user-17", role="person")
        assert len([line async for line in memory.export()]) == 2
        assert (await memory.exports()).exports[0].memories == 2
        assert (await memory.export_detail(RECEIPT)).forgotten[0].memory_id == MEMORY
        bad = dict.fromkeys((b"", b"{}\n", b'{"schema":"x"}\n{"digest":"', b"[]\n", b"no json\n"), "cut-short")
        for content, code in {**bad, b'{"digest":"00"}\n': "changed"}.items():
            door.faulty.faults.append(httpx.Response(200, content=content))
            with pytest.raises(CenotaphError, match=code):
                await drained(memory.export())
        agent = client.for_subject(door.backend.key, "user-17")
        with pytest.raises(CenotaphError, match="role person"):
            await drained(agent.export())


async def drained(lines: AsyncIterator[bytes]) -> None:
    async for _ in lines:
        pass


def test_a_tenant_exports_with_its_key(door: Door) -> None:
    """The blocking client streams too; a tenant's key is given as the token and may not download."""
    with Cenotaph(ADDRESS, token=door.backend.key, transport=door.blocking) as tenant:
        assert len(list(tenant.export("training"))) == 2
        with pytest.raises(CenotaphError, match="role person"):
            list(tenant.export("download"))


async def test_given_token(door: Door, memory: AsyncCenotaph) -> None:
    """A token that somebody else minted can be used as it is."""
    await memory.memories()
    token = (door.faulty.seen[-1][1] or "").removeprefix("Bearer ")
    async with AsyncCenotaph(ADDRESS, token=token, transport=door.faulty) as other:
        assert (await other.memories()).memories


async def test_one_token_for_many_calls(door: Door, memory: AsyncCenotaph) -> None:
    """A token is minted on first use and kept."""
    await memory.memories()
    await memory.memories()
    assert door.faulty.paths() == ["/v1/tokens", "/v1/memories", "/v1/memories"]


async def test_renews_before_the_end(door: Door, memory: AsyncCenotaph) -> None:
    """A token about to end is replaced before it is used."""
    short = answers.Token(token="old", expires_at=datetime.now(UTC) + timedelta(seconds=10))
    door.faulty.faults.append(httpx.Response(200, text=short.model_dump_json()))
    door.faulty.faults.append(httpx.Response(200, json={"memories": [], "next_cursor": None}))
    await memory.memories()
    await memory.memories()
    assert door.faulty.paths() == ["/v1/tokens", "/v1/memories", "/v1/tokens", "/v1/memories"]


async def test_renews_after_a_new_signing_key(door: Door, memory: AsyncCenotaph) -> None:
    """A token that is no longer accepted is replaced once, and the call succeeds with its body."""
    await memory.memories()
    door.change_signing_key()
    assert (await memory.finalize(turn())).state == "stored"


async def test_refused_key(door: Door) -> None:
    """A key that is not accepted is an error at once, not a loop."""
    async with AsyncCenotaph(ADDRESS, transport=door.faulty) as client:
        with pytest.raises(CenotaphError, match="API key is not valid") as caught:
            await client.for_subject("cnk_wrong", "x").memories()
    assert (caught.value.status, caught.value.kind) == (401, "unauthorized")
    assert door.faulty.paths() == ["/v1/tokens"]


async def test_two_people_share_connections(door: Door) -> None:
    """One client serves many people, each with a token of their own."""
    async with AsyncCenotaph(ADDRESS, transport=door.faulty) as client:
        await client.for_subject(door.backend.key, "a").memories()
        await client.for_subject(door.backend.key, "b").memories()
    scopes = {args[0].subject_id for name, args in door.backend.calls if name == "memories"}
    assert len(scopes) == 2


@pytest.mark.parametrize(
    "fault",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.RemoteProtocolError("cut"),
        httpx.Response(503, headers={"Retry-After": "1"}),
        httpx.Response(503, text="<html>a proxy</html>"),
    ],
)
async def test_tries_again(door: Door, memory: AsyncCenotaph, fault: Exception | httpx.Response) -> None:
    """A closed door or a 503 is tried again; the turn arrives with the same body."""
    door.faulty.faults += [fault, fault]
    assert (await memory.finalize(turn())).state == "stored"
    assert len([name for name, _ in door.backend.calls if name == "finalize"]) == 1


async def test_gives_up(door: Door) -> None:
    """After four attempts the error comes out with what the door said."""
    door.backend.fails = UnavailableError("log")
    async with AsyncCenotaph(ADDRESS, transport=door.faulty, retry=Retry(base_s=0, most_s=0)) as client:
        with pytest.raises(CenotaphError) as caught:
            await client.for_subject(door.backend.key, "x").memories()
    error = caught.value
    assert (error.status, error.kind, error.retry_after) == (503, "unavailable", 1.0)
    assert error.request_id
    assert len(door.faulty.seen) == 4


@pytest.mark.parametrize(
    ("fault", "kind"), [(httpx.ReadTimeout("slow"), "timeout"), (httpx.Response(502, text="bad gateway"), "http-502")]
)
async def test_not_again(door: Door, memory: AsyncCenotaph, fault: Exception | httpx.Response, kind: str) -> None:
    """A door that is slow, or broken in another way, is not pressed."""
    door.faulty.faults.append(fault)
    with pytest.raises(CenotaphError) as caught:
        await memory.memories()
    assert caught.value.kind == kind
    assert len(door.faulty.seen) == 1


async def test_problem(door: Door, memory: AsyncCenotaph) -> None:
    """A refusal names the fields, also where the text was no text."""
    with pytest.raises(CenotaphError, match=r"messages\[0\]\.content: contains a lone surrogate") as caught:
        await memory.finalize(turn("秘密\ud800"))
    assert caught.value.status == 422
    assert [error.field for error in caught.value.errors] == ["messages[0].content"]
    assert "秘密" not in str(caught.value)
    assert "finalize" not in [name for name, _ in door.backend.calls]


async def test_tasks(door: Door) -> None:
    """A workflow begins, changes and reads a task; an old version comes back with the one that stands."""
    start = TaskStart("c-1", "周报/7", "周报", "sales", "写周报", constraints=["no names"], steps=["collect"])
    async with AsyncCenotaph(ADDRESS, transport=door.faulty) as client:
        workflow = client.for_subject(door.backend.key, "u", role="workflow")
        begun = await workflow.start_task(start)
        assert (begun.task_id, begun.known, begun.lessons[0].text) == ("周报/7", False, "ask once")
        step = {"do": "begin_step", "step_id": str(begun.pending[0].id)}
        changed = await workflow.change_task(
            "周报/7", step, command_id="c-2", expected_version=1, constraints=["no names"]
        )
        assert changed == await workflow.task("周报/7")
        assert (await workflow.tasks(cursor="abc")).next_cursor == "abc"
        door.backend.fails = StaleVersionError(7)
        with pytest.raises(CenotaphError, match="version 7") as caught:
            await workflow.change_task("周报/7", step, command_id="c-3", expected_version=1)
    assert (caught.value.status, caught.value.kind, caught.value.version) == (409, "stale-version", 7)


async def test_conflict(door: Door, memory: AsyncCenotaph) -> None:
    """A turn id with another body is told apart by its kind."""
    await memory.memories()
    door.backend.fails = TurnConflictError("t")
    with pytest.raises(CenotaphError) as caught:
        await memory.finalize(turn())
    assert caught.value.kind == "turn-conflict"


async def test_answer_of_another_version(door: Door, memory: AsyncCenotaph) -> None:
    """An answer that does not fit is an error without its content; one with more fields is taken."""
    await memory.memories()
    door.faulty.faults += [httpx.Response(200, text='{"memories": "牛肉"}')]
    with pytest.raises(CenotaphError) as caught:
        await memory.memories()
    assert caught.value.kind == "answer"
    assert "牛肉" not in str(caught.value)
    door.faulty.faults += [httpx.Response(200, json={"memories": [], "next_cursor": None, "newer": 1})]
    assert (await memory.memories()).memories == ()


@given(st.integers(0, 2), st.floats(0, 100, allow_nan=False))
def test_pause(attempt: int, asked: float) -> None:
    """A pause is never shorter than the door asked and never longer than the most."""
    pause = Retry().pause(attempt, CenotaphError("unavailable", "", status=503, retry_after=asked))
    assert pause is not None
    assert min(asked, 5.0) <= pause <= 5.0


PAIRS: list[tuple[type[answers.Answer], type[model.Frozen]]] = [
    (answers.Token, TokenAnswer),
    (answers.Stored, turns.TurnAnswer),
    (answers.Verdict, turns.Verdict),
    (answers.Outcome, turns.TurnOutcome),
    (answers.Cited, recall.Cited),
    (answers.LeftOut, recall.LeftOut),
    (answers.Section, recall.Section),
    (answers.Context, recall.ContextAnswer),
    (answers.Search, recall.SearchAnswer),
    (answers.Found, recall.Found),
    (answers.Source, memories.Source),
    (answers.Memory, memories.MemoryView),
    (answers.MemoryDetail, memories.MemoryDetail),
    (answers.MemoryPage, memories.MemoryPage),
    (answers.Purpose, profile.PurposeView),
    (answers.FieldRules, profile.FieldRules),
    (answers.FieldValue, profile.FieldValue),
    (answers.Field, profile.FieldView),
    (answers.Profile, profile.ProfileView),
    (answers.Layer, receipts.LayerView),
    (answers.Receipt, receipts.ReceiptView),
    (answers.ReceiptPage, receipts.ReceiptPage),
    (answers.TaskItem, tasks.ItemView),
    (answers.Lesson, tasks.LessonView),
    (answers.Task, tasks.TaskView),
    (answers.TaskInList, tasks.TaskSummary),
    (answers.Tasks, tasks.TaskPage),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_same_fields(ours: type[answers.Answer], theirs: type[model.Frozen]) -> None:
    """The client knows every field of every answer of this door, and no other."""
    assert ours.model_fields.keys() == theirs.model_fields.keys()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Role, model.Role),
        (Origin, model.Origin),
        (Status, model.TurnStatus),
        (RecallRole, recall.RecallRole),
        (RankingPreset, recall.RankingPreset),
        (MemoryStatus, memories.MemoryStatus),
        (TokenRole, AccessRole),
    ],
)
def test_same_words(ours: object, theirs: type[model.Role]) -> None:
    """The client knows the same words as the door."""
    assert set(get_args(ours)) == {word.value for word in theirs}
