import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from events.envelope import turns_stream
from events.errors import BadInputError, StaleVersionError, TaskRefusedError
from events.log import read_last
from events.model import MemoryId, Position, Scope
from projections.follower import Follower
from services.access.rights import TokenRole
from services.tasks.expiry import TaskExpiry
from services.tasks.tasks import Tasks
from services.upkeep.round import Round
from services.wire.recall import ContextAnswer, ContextRequest
from services.wire.tasks import TaskChange, TaskStart, TaskView
from tests.plant import Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of its own."""
    async with planted(tmp_path_factory.mktemp("tasks")) as plant:
        yield plant


@dataclass
class Workflow:
    """A workflow that works for one person, and remembers nothing but the ids it made up."""

    plant: Plant
    scope: Scope
    commands: int = 0

    @property
    def tasks(self) -> Tasks:
        """The service."""
        return self.plant.composition.backend.task_states

    async def start(self, task: str, *, command: str = "start", **fields: object) -> TaskView:
        """Begin a task."""
        given = {
            "type": "行程 trip",
            "name": "杭州",
            "goal": "排好两天的行程",
            "constraints": ["预算不超过 3000 元", "no planes"],
            "steps": ["查高铁", "book a hotel"],
            **fields,
        }
        return await self.tasks.start(
            self.scope, TaskStart.model_validate({"command_id": command, "task_id": task, **given}), "workflow"
        )

    async def change(self, seen: TaskView, do: str, *, command: str | None = None, **fields: object) -> TaskView:
        """Change a task on the version that was seen."""
        self.commands += 1
        constraints = fields.pop("constraints", None)
        view = await self.tasks.change(
            self.scope,
            seen.task_id,
            TaskChange.model_validate(
                {
                    "command_id": command or f"c{self.commands}",
                    "expected_version": seen.version,
                    "constraints": constraints,
                    "change": {"do": do, **fields},
                }
            ),
            "workflow",
        )
        assert view is not None
        return view

    async def show(self, task: str, reader: TokenRole = TokenRole.AGENT) -> TaskView:
        """Read a task."""
        view = await self.tasks.book.show(self.scope, task, reader=reader)
        assert view is not None
        return view

    async def considered(self) -> None:
        """Consider the newest turn of the person, which closed a task, and let every read model follow."""
        await self.plant.sealed()
        async with self.plant.owner() as connection:
            last = await read_last(connection, self.scope, turns_stream(self.scope.subject_id))
        assert last is not None
        assert last.position is not None
        await self.plant.rememberer.consider(Position(last.position))
        await self.plant.follow()


@pytest.fixture
async def workflow(plant: Plant) -> Workflow:
    """Work for a fresh person."""
    return Workflow(plant, await plant.person())


async def test_a_command_that_says_something_else_the_second_time_is_refused(workflow: Workflow) -> None:
    """Whether it starts a task or changes one; of many who start one task at once, one does and the others are told."""
    begun = await workflow.start("t1")
    with pytest.raises(TaskRefusedError, match="another body"):
        await workflow.start("t1", goal="book a train")
    observed = await workflow.change(begun, "observe", command="c", result={"text": "高铁有票"})
    with pytest.raises(TaskRefusedError, match="another body"):
        await workflow.change(observed, "observe", command="c", result={"text": "no tickets left"})
    assert (await workflow.change(observed, "observe", command="c", result={"text": "高铁有票"})).known
    at_once = (workflow.start("t2", command=f"s{number // 2}") for number in range(6))
    ends = await asyncio.gather(*at_once, return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["TaskRefusedError"] * 4 + ["TaskView"] * 2


async def test_a_task_is_resumed_where_it_stopped(workflow: Workflow) -> None:
    """Whoever takes over sees the step that was begun, what is done, what is known, and is not let repeat a step."""
    begun = await workflow.start("t1", budget={"calls": 5})
    first, second = begun.pending
    assert (begun.round, begun.version, begun.known, first.text) == (1, 1, False, "查高铁")
    running = await workflow.change(begun, "begin_step", step_id=first.id, command="begin")
    again = await workflow.change(begun, "begin_step", step_id=first.id, command="begin")  # the answer was lost
    assert again == running.model_copy(update={"known": True})
    with pytest.raises(TaskRefusedError, match="begun once"):
        await workflow.change(running, "begin_step", step_id=first.id)
    with pytest.raises(TaskRefusedError, match="another step"):
        await workflow.change(running, "begin_step", step_id=second.id)
    known = await workflow.change(
        running, "observe", facts=[{"text": "G7 9:15 有票"}], result={"text": "trains/1.json"}
    )
    wrong = await workflow.change(known, "report_error", text="timeout", step_id=first.id)
    spent = await workflow.change(wrong, "spend", spent={"calls": 5})
    done = await workflow.change(spent, "finish_step", step_id=first.id)
    with pytest.raises(TaskRefusedError, match="budget of calls"):
        await workflow.change(done, "begin_step", step_id=second.id)
    seen = await workflow.show("t1")
    assert seen == done
    assert seen.goal is not None
    assert seen.last_result is not None
    assert seen.last_error is not None
    assert [each.text for each in seen.completed] == ["查高铁"]
    assert [each.text for each in seen.pending] == ["book a hotel"]
    assert [each.text for each in seen.key_facts] == ["G7 9:15 有票"]
    assert (seen.goal.text, seen.last_result.text, seen.errors) == ("排好两天的行程", "trains/1.json", 1)
    assert (seen.budget_left, seen.version, seen.current_step) == ({"calls": 0}, 6, None)
    assert timedelta(hours=23) < seen.expires_at - datetime.now(UTC) < timedelta(hours=25)


async def test_of_two_writers_one_wins_and_the_other_is_told_the_version(workflow: Workflow) -> None:
    """Eight changes at once on one version: one is written, seven learn the version that stands."""
    begun = await workflow.start("t1")
    step = begun.pending[0].id
    results = await asyncio.gather(
        *(workflow.change(begun, "begin_step", step_id=step, command=f"w{n}") for n in range(8)), return_exceptions=True
    )
    assert sum(isinstance(each, TaskView) for each in results) == 1
    assert {each.version for each in results if isinstance(each, StaleVersionError)} == {2}
    with pytest.raises(StaleVersionError, match="version 2"):
        await workflow.change(begun, "spend", spent={"calls": 1})
    with pytest.raises(TaskRefusedError, match="another command"):
        await workflow.start("t1", command="other")
    assert (await workflow.start("t1")).known


async def test_a_constraint_changes_only_where_that_is_declared(workflow: Workflow) -> None:
    """A workflow that holds itself to other constraints is refused until it declares the change."""
    begun = await workflow.start("t1")
    step = begun.pending[0].id
    with pytest.raises(TaskRefusedError, match="change_constraint"):
        await workflow.change(begun, "begin_step", step_id=step, constraints=["预算不超过 5000 元", "no planes"])
    with pytest.raises(TaskRefusedError, match="change_constraint"):
        await workflow.change(begun, "begin_step", step_id=step, constraints=["no planes"])
    assert (await workflow.show("t1")).version == 1
    was = begun.constraints[0].id
    declared = await workflow.change(
        begun, "change_constraint", was=was, becomes="预算不超过 5000 元", reason="老板同意了"
    )
    assert [each.text for each in declared.constraints] == ["no planes", "预算不超过 5000 元"]
    went = await workflow.change(
        declared, "begin_step", step_id=step, constraints=["预算不超过　5000 元".replace("　", " "), "No planes"]
    )
    assert went.current_step is not None
    with pytest.raises(TaskRefusedError, match="no such constraint"):
        await workflow.change(went, "change_constraint", was=was, reason="again")


async def test_a_completed_task_leaves_memories_and_lessons_and_nothing_else(plant: Plant, workflow: Workflow) -> None:
    """Episode, conclusion and reflection pass the gates; a claim nobody made does not; the next round is told."""
    await plant.say(workflow.scope, "我喜欢靠窗的座位")
    turn = plant._turns
    begun = await workflow.start("t1")
    over = await workflow.change(
        begun,
        "complete",
        outcome="partial",
        summary="高铁订好了，酒店没有订到",
        conclusions=[
            {"text": "The user is rich", "kind": "fact"},
            {"text": "用户讨厌飞机", "kind": "preference", "messages": [{"turn_id": f"t{turn}", "message_id": "m0"}]},
            {"text": "the hotel near the lake was full in August"},
        ],
        reflections=[
            {"judged_wrong": "先订了车票", "severity": "high", "instead": "先看酒店有没有房"},
            {"judged_wrong": "asked twice", "severity": "low", "instead": "ask once, with all questions"},
        ],
    )
    assert (over.status, over.version, over.goal, over.type, over.key_facts) == ("partial", 3, None, None, ())
    await workflow.considered()
    assert over.turn_id == "task:t1"
    outcome = await plant.composition.backend.turn_outcome(workflow.scope, over.turn_id)
    assert outcome is not None
    verdicts = {(each.kind, each.outcome, each.reason) for each in outcome.verdicts}
    assert ("fact", "rejected", "agent_text_only") in verdicts
    assert ("preference", "working_only", "not_stated") in verdicts
    assert sorted(each.kind for each in outcome.verdicts if each.outcome == "accepted") == [
        *("episode", "episode", "reflection", "reflection")
    ]
    with pytest.raises(TaskRefusedError, match="over"):
        await workflow.change(over, "spend", spent={"calls": 1})
    following = await workflow.start("t2")
    assert (following.round, [each.text for each in following.lessons]) == (
        2,
        ["先订了车票 → 先看酒店有没有房 (high)", "asked twice → ask once, with all questions (low)"],
    )
    assert (await workflow.start("t3", name="苏州")).lessons == ()
    again = await workflow.change(
        following,
        "complete",
        outcome="failed",
        summary="没有订到",
        reflections=[{"judged_wrong": "asked twice", "severity": "low", "instead": "ask once, with all questions"}],
    )
    await workflow.considered()
    outcome = await plant.composition.backend.turn_outcome(workflow.scope, again.turn_id or "")
    assert outcome is not None
    assert ("reflection", "agent_repeats") in {(each.kind, each.reason) for each in outcome.verdicts}


async def test_a_procedure_needs_three_successes_and_the_person(plant: Plant, workflow: Workflow) -> None:
    """Steps that succeeded three times wait for the person; confirmed they are kept, other steps are version 2."""
    scope, backend = workflow.scope, plant.composition.backend

    async def round_(task: str, *steps: str, outcome: str = "succeeded") -> list[tuple[str, str | None]]:
        seen = await workflow.start(task, steps=list(steps))
        for step in seen.pending:
            seen = await workflow.change(seen, "begin_step", step_id=step.id)
            seen = await workflow.change(seen, "finish_step", step_id=step.id)
        over = await workflow.change(seen, "complete", outcome=outcome, summary=f"{task} 完成")
        await workflow.considered()
        verdicts = await backend.turn_outcome(scope, over.turn_id or "")
        assert verdicts is not None
        return [(each.outcome, each.reason) for each in verdicts.verdicts if each.kind == "procedure"]

    assert await round_("t1", "查高铁", "book a hotel") == []
    assert await round_("t2", "查高铁", "book a hotel", outcome="failed") == []
    assert await round_("t3", "查高铁", "Book a hotel") == []
    assert await round_("t4", "查高铁", "book a hotel") == [("held", "unconfirmed")]
    (entry,) = (await backend.inbox(scope)).entries
    assert entry.content == "行程 trip / 杭州: 查高铁 → book a hotel"
    settled = await backend.settle(scope, entry.memory_id, confirmed=True)
    assert settled is not None
    await plant.follow()
    assert await round_("t5", "查高铁", "book a hotel") == [("rejected", "agent_repeats")]
    assert [await round_(f"n{n}", "book a hotel", "查高铁") for n in range(3)] == [[], [], [("held", "unconfirmed")]]
    (entry,) = (await backend.inbox(scope)).entries
    again = await backend.settle(scope, entry.memory_id, confirmed=True)
    assert again is not None
    assert (again.memory_id, again.version) == (settled.memory_id, 2)


async def test_the_texts_of_a_task_that_is_over_are_destroyed(plant: Plant, workflow: Workflow) -> None:
    """Abandoned, or expired by the upkeep worker: no key, no body and no row of a text is left, once shredded."""
    await workflow.change(await workflow.start("t1"), "abandon")
    late = await workflow.start("t2", expires_in_s=60)
    await workflow.start("t3", expires_in_s=60)
    await plant.follow("tasks")
    expiry = Round(TaskExpiry(plant.composition.log("eraser")))
    assert await expiry.step() == 0
    (planned,) = [each async for each in expiry.plans(late.expires_at + timedelta(seconds=60))]
    assert planned.counts() == {"expire:overdue": 2}
    assert await expiry.step(late.expires_at + timedelta(seconds=60)) == 1
    assert await expiry.step(late.expires_at + timedelta(seconds=60)) == 0  # although the task store lags
    await plant.follow("tasks")
    await plant.composition.shredder.catch_up()
    for name, status in (("t1", "abandoned"), ("t2", "expired"), ("t3", "expired")):
        seen = await workflow.show(name, TokenRole.PERSON)
        assert (seen.status, seen.goal, seen.pending, seen.name) == (status, None, (), None)
    with pytest.raises(TaskRefusedError, match="over"):
        await workflow.change(late, "spend", spent={"calls": 1})
    async with plant.owner() as connection:
        subject = workflow.scope.subject_id
        assert await connection.fetchval("select count(*) from log.body where subject_id = $1", subject) == 0
        assert await connection.fetchval("select count(*) from tasks.item where subject_id = $1", subject) == 0
        keys = [
            row["target"]
            for row in await connection.fetch("select target from log.fence where subject_id = $1", subject)
        ]
    assert len(keys) == 18
    assert await plant.composition.vault("opener").present(keys) == set()


async def test_forgetting_a_memory_forgets_what_a_task_made_of_it(plant: Plant, workflow: Workflow) -> None:
    """A key fact that rests on it, or merely says it, is gone with it; one that rests on another stays."""
    scope = workflow.scope
    gone = await plant.remember(scope, "请记住：我对花生过敏")
    kept = await plant.remember(scope, "以后请用中文回复")
    said = plant._turns - 1
    content = (await plant.recalled(scope, "花生"))[gone]
    begun = await workflow.start("t1")
    facts = [
        {"text": "避开花生", "memories": [str(gone)]},
        {"text": "不要有花生", "messages": [{"turn_id": f"t{said}", "message_id": "m0"}]},
        {"text": f"note: {content}"},
        {"text": "用中文", "memories": [str(kept)]},
    ]
    seen = await workflow.change(begun, "observe", facts=facts)
    assert [each.text for each in seen.key_facts] == ["避开花生", "不要有花生", f"note: {content}", "用中文"]
    receipt = await plant.forget(scope, gone)  # the task store has not followed: the log itself says what rests on it
    at_once = await workflow.show("t1")
    assert [each.text for each in at_once.key_facts] == [None, None, f"note: {content}", "用中文"]
    with pytest.raises(TaskRefusedError, match="forgotten"):
        await workflow.change(at_once, "observe", facts=[{"text": "x", "memories": [str(gone)]}])
    with pytest.raises(BadInputError):
        await workflow.change(at_once, "observe", facts=[{"text": "x", "memories": [str(UUID(int=7))]}])
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
    assert {layer.layer: layer.state for layer in shown.layers}["task_state"] == "absent"
    after = await workflow.show("t1", TokenRole.PERSON)
    assert [each.text for each in after.key_facts] == [None, None, None, "用中文"]


async def test_a_task_that_keeps_saying_it_keeps_the_receipt_pending(plant: Plant, workflow: Workflow) -> None:
    """Control: a layer that destroys no text of a running task is found out by the probe."""
    scope = workflow.scope
    memory = await plant.remember(scope, "请记住：我的工位在三楼靠窗")
    content = (await plant.recalled(scope, "工位"))[memory]
    await workflow.change(await workflow.start("t1"), "observe", facts=[{"text": content}])
    await plant.follow()
    receipt = await plant.forget(scope, memory)
    await plant.follow()

    class Idle:
        name = "task_state"

        async def erase(self, tombstone: object, question: object) -> None:
            del tombstone, question

    shown = await plant.finish(scope, receipt, registry=plant.registry(Idle()))
    assert shown.decision == "DELETION_PENDING"
    assert {layer.layer: layer.state for layer in shown.layers}["task_state"] == "present"
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def test_what_is_closed_to_an_agent_is_closed_in_its_tasks(plant: Plant, workflow: Workflow) -> None:
    """A key fact that rests on a memory whose consent was withdrawn is blind to agents, and shown to the person."""
    scope, backend = workflow.scope, plant.composition.backend
    await backend.consent(scope, "health", given=True)
    memory = MemoryId(await plant.remember(scope, "请记住：我对花生过敏"))
    seen = await workflow.change(
        await workflow.start("t1"), "observe", facts=[{"text": "避开花生", "memories": [str(memory)]}]
    )
    assert seen.key_facts[0].text == "避开花生"
    await backend.consent(scope, "health", given=False)
    assert (await workflow.show("t1")).key_facts[0].text is None
    assert (await workflow.show("t1", TokenRole.PERSON)).key_facts[0].text == "避开花生"


async def test_a_context_begins_with_the_task_at_hand(plant: Plant, workflow: Workflow) -> None:
    """Constraints first, then goal and steps; facts go with what they rest on, and whoever is told them has read it."""
    scope, contexts = workflow.scope, plant.composition.backend.contexts
    memory = await plant.remember(scope, "请记住：我对花生过敏")
    begun = await workflow.start("t1")
    await workflow.change(
        begun, "observe", facts=[{"text": "避开花生", "memories": [str(memory)]}, {"text": "<b>two people</b>"}]
    )

    async def compiled(**fields: object) -> ContextAnswer:
        asked = {"query": "酒店", "role": "planner", "task_id": "t1", **fields}
        return await contexts.compile(scope, ContextRequest.model_validate(asked))

    answer = await compiled()
    assert answer.sections[0].name == "task"
    assert answer.sections[0].lines == (
        "- [constraint] 预算不超过 3000 元",
        "- [constraint] no planes",
        "- [goal] 排好两天的行程",
        "- [pending] 查高铁",
        "- [pending] book a hotel",
        "- [fact] 避开花生",
        "- [fact] &lt;b&gt;two people&lt;/b&gt;",
    )
    async with plant.owner() as connection:
        read = await connection.fetchval("select memories from ops.read where read_id = $1", answer.context_id)
    assert memory in {MemoryId(each) for each in read}
    assert "[fact]" in (await compiled(role="search")).text
    receipt = await plant.forget(scope, memory)
    assert [line for line in (await compiled()).sections[0].lines if "fact" in line] == [
        "- [fact] &lt;b&gt;two people&lt;/b&gt;"
    ]
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    assert (await compiled(task_id="t9")).left_out[-1].reason == "task_unknown"
    await workflow.change(await workflow.show("t1"), "abandon")
    assert (await compiled()).left_out[-1].reason == "task_over"


async def test_the_task_store_is_rebuilt_and_compared(plant: Plant, workflow: Workflow) -> None:
    """A rebuild from the log serves the same list, and the comparison finds nothing."""
    begun = await workflow.start("t1")
    await workflow.change(begun, "begin_step", step_id=begun.pending[0].id)
    await workflow.change(await workflow.start("t2"), "abandon")
    await plant.follow()
    before = await plant.composition.backend.tasks(workflow.scope, 1, None)
    assert before.next_cursor is not None
    rest = await plant.composition.backend.tasks(workflow.scope, 9, before.next_cursor)
    assert [(each.task_id, each.status) for each in (*before.tasks, *rest.tasks)] == [
        ("t2", "abandoned"),
        ("t1", "running"),
    ]
    await Follower(plant.composition.projections()["tasks"], plant.composition.log(None)).rebuild()
    assert await plant.composition.backend.tasks(workflow.scope, 1, None) == before
    async for report in plant.composition.differ("tasks").run():
        assert (report.model, report.found) == ("tasks", 0)
