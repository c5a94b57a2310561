"""Finished turns: hand one over, ask what became of it."""

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Response

from services.api.auth import MayReadTurns, MayWriteTurns
from services.api.body import body
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import not_found
from services.wire.text import OutsideId
from services.wire.turns import TurnAnswer, TurnIn, TurnOutcome

router = APIRouter(tags=["turns"], responses=problems(*ANY_PROBLEMS))

_EXAMPLES: Examples = {
    "zh": {
        "schema": "cenotaph.turn/1",
        "turn_id": "t-1001",
        "session_id": "s-7",
        "occurred_at": "2026-03-01T09:30:00+08:00",
        "messages": [
            {"message_id": "m-1", "role": "user", "content": "以后请用中文回复，我不吃牛肉。"},
            {"message_id": "m-2", "role": "assistant", "content": "好的，记住了。"},
        ],
    },
    "en": {
        "schema": "cenotaph.turn/1",
        "turn_id": "t-1002",
        "session_id": "s-7",
        "occurred_at": "2026-03-01T09:31:00+08:00",
        "status": "completed",
        "messages": [
            {"message_id": "m-1", "role": "user", "content": "I moved to Utrecht last week."},
            {
                "message_id": "m-2",
                "role": "tool",
                "origin": "retrieved",
                "content": "Utrecht is a city in the Netherlands.",
            },
            {"message_id": "m-3", "role": "assistant", "content": "Welcome to Utrecht!"},
        ],
    },
}


@router.post(
    "/v1/turns",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=json_body(TurnIn, _EXAMPLES),
    responses={
        200: {"model": TurnAnswer, "description": "Known, or forgotten"},
        **problems(HTTPStatus.CONFLICT, *BODY_PROBLEMS),
    },
)
async def finalize_turn(
    scope: MayWriteTurns, turn: Annotated[TurnIn, Depends(body(TurnIn))], door: TheDoor, response: Response
) -> TurnAnswer:
    """Hand over a finished turn: 202 once it is in the log; 200 where it is already there, or was forgotten."""
    made = await door.backend.finalize(scope, turn)
    if made.state != "stored":
        response.status_code = HTTPStatus.OK
    if made.state != "forgotten":
        response.headers["Location"] = f"/v1/turns/{quote(turn.turn_id, safe='')}"
    return made


@router.get("/v1/turns/{turn_id:path}", responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY))
async def show_turn(scope: MayReadTurns, turn_id: Annotated[OutsideId, Path()], door: TheDoor) -> TurnOutcome:
    """Say what became of a turn: which candidates were kept, held or refused, and why."""
    outcome = await door.backend.turn_outcome(scope, turn_id)
    if outcome is None:
        raise not_found("turn")
    return outcome
