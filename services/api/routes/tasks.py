"""The state of tasks: a workflow begins, changes and ends them; agents and the person read them."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from services.api.auth import MayReadTasks, MayWriteTasks, Reader
from services.api.body import body
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import not_found
from services.wire.tasks import TaskChange, TaskPage, TaskStart, TaskView
from services.wire.text import OutsideId

router = APIRouter(tags=["tasks"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))

_STARTS: Examples = {
    "zh": {
        "command_id": "c-1",
        "task_id": "trip-7",
        "type": "行程规划",
        "name": "杭州两日",
        "goal": "排好两天的行程",
        "constraints": ["预算不超过 3000 元", "不坐飞机"],
        "steps": ["查高铁", "订酒店"],
        "budget": {"calls": 20},
    },
    "en": {
        "command_id": "c-1",
        "task_id": "report-7",
        "type": "weekly report",
        "name": "sales",
        "goal": "Write the weekly sales report",
        "constraints": ["no customer names"],
        "steps": ["collect the figures", "write"],
    },
}
_CHANGES: Examples = {
    "begin a step": {
        "command_id": "c-2",
        "expected_version": 1,
        "change": {"do": "begin_step", "step_id": "131b4c29-3b0f-4a9a-a896-e7981d5042af"},
    },
    "observe (zh)": {
        "command_id": "c-3",
        "expected_version": 2,
        "constraints": ["预算不超过 3000 元", "不坐飞机"],
        "change": {
            "do": "observe",
            "facts": [{"text": "G7 次 9:15 有票", "messages": [{"turn_id": "t-1", "message_id": "m-1"}]}],
            "result": {"text": "trains/2026-03-01.json"},
        },
    },
    "complete": {
        "command_id": "c-9",
        "expected_version": 8,
        "change": {
            "do": "complete",
            "outcome": "succeeded",
            "summary": "The report went out on Friday",
            "reflections": [
                {
                    "judged_wrong": "the figures were a day old",
                    "severity": "medium",
                    "instead": "ask for the time of export",
                }
            ],
        },
    },
}


@router.post(
    "/v1/tasks",
    status_code=HTTPStatus.CREATED,
    openapi_extra=json_body(TaskStart, _STARTS),
    responses={
        200: {"model": TaskView, "description": "Begun before by this command"},
        **problems(HTTPStatus.CONFLICT, *BODY_PROBLEMS),
    },
)
async def start_task(
    scope: MayWriteTasks, start: Annotated[TaskStart, Depends(body(TaskStart))], door: TheDoor, response: Response
) -> TaskView:
    """Begin a task: 201 once it is in the log; 200 where this command has begun it before."""
    task = await door.backend.start_task(scope, start)
    if task.known:
        response.status_code = HTTPStatus.OK
    return task


@router.post(
    "/v1/tasks/{task_id:path}",
    openapi_extra=json_body(TaskChange, _CHANGES),
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, *BODY_PROBLEMS),
)
async def change_task(
    scope: MayWriteTasks,
    task_id: Annotated[OutsideId, Path()],
    change: Annotated[TaskChange, Depends(body(TaskChange))],
    door: TheDoor,
) -> TaskView:
    """Change a task once, on the version the workflow has seen; 409 says the version that stands."""
    task = await door.backend.change_task(scope, task_id, change)
    if task is None:
        raise not_found("task")
    return task


@router.get("/v1/tasks")
async def list_tasks(
    scope: MayReadTasks, door: TheDoor, limit: Annotated[int, Query(ge=1, le=100)] = 50, cursor: str | None = None
) -> TaskPage:
    """List tasks, newest first."""
    return await door.backend.tasks(scope, limit, cursor)


@router.get("/v1/tasks/{task_id:path}", responses=problems(HTTPStatus.NOT_FOUND))
async def show_task(
    scope: MayReadTasks, task_id: Annotated[OutsideId, Path()], reader: Reader, door: TheDoor
) -> TaskView:
    """Show a task: all that is needed to go on with it."""
    task = await door.backend.task(scope, task_id, reader=reader)
    if task is None:
        raise not_found("task")
    return task
