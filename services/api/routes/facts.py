"""What business systems state, each under the keys that it owns."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from services.api.auth import Proposer
from services.api.body import body
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import Refusal, not_found
from services.wire.facts import FactAnswer, SystemFact
from services.wire.text import OutsideId
from services.wire.turns import TurnOutcome

router = APIRouter(tags=["facts"], responses=problems(*ANY_PROBLEMS))

_EXAMPLES: Examples = {
    "zh": {
        "fact_id": "f-17",
        "key": "membership.tier",
        "value": "金卡",
        "content": "会员等级：金卡",
        "occurred_at": "2026-03-01T09:30:00+08:00",
    },
    "en": {"fact_id": "f-18", "key": "membership.tier", "value": "gold", "occurred_at": "2026-03-02T09:30:00+08:00"},
}


@router.post(
    "/v1/facts",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=json_body(SystemFact, _EXAMPLES),
    responses={
        200: {"model": FactAnswer, "description": "Known, or forgotten"},
        **problems(HTTPStatus.CONFLICT, *BODY_PROBLEMS),
    },
)
async def propose_fact(
    proposer: Proposer, fact: Annotated[SystemFact, Depends(body(SystemFact))], door: TheDoor, response: Response
) -> FactAnswer:
    """State a fact about a person as the business system that owns its key: 202 once it is in the log."""
    made = await door.backend.propose(proposer.scope, proposer.system or "", fact)
    if made is None:
        raise Refusal(
            HTTPStatus.FORBIDDEN, "forbidden", "this system does not own that key; the tenant registers owners"
        )
    if made.state != "stored":
        response.status_code = HTTPStatus.OK
    return made


@router.get("/v1/facts/{fact_id:path}", responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY))
async def show_fact(proposer: Proposer, fact_id: Annotated[OutsideId, Path()], door: TheDoor) -> TurnOutcome:
    """Say what became of a fact of this system: kept, held or refused, and why."""
    outcome = await door.backend.fact_outcome(proposer.scope, proposer.system or "", fact_id)
    if outcome is None:
        raise not_found("fact")
    return outcome
