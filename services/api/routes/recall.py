"""Context for an agent, and search."""

from typing import Annotated

from fastapi import APIRouter, Depends

from services.api.auth import MayReadMemories
from services.api.body import body
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.wire.recall import ContextAnswer, ContextRequest, SearchAnswer, SearchRequest

router = APIRouter(tags=["recall"], responses=problems(*ANY_PROBLEMS, *BODY_PROBLEMS))

_CONTEXTS: Examples = {
    "zh": {"query": "晚饭推荐什么？", "role": "chat", "token_budget": 800},
    "en": {"query": "What should we cook tonight?", "role": "planner", "session_id": "s-7"},
}
_SEARCHES: Examples = {"zh": {"query": "饮食偏好", "limit": 5}, "en": {"query": "where do I live"}}


@router.post("/v1/context", openapi_extra=json_body(ContextRequest, _CONTEXTS))
async def compile_context(
    scope: MayReadMemories, request: Annotated[ContextRequest, Depends(body(ContextRequest))], door: TheDoor
) -> ContextAnswer:
    """Compile what the agent should know, within a token budget, with cited memories and what was left out."""
    return await door.backend.context(scope, request)


@router.post("/v1/memories/search", openapi_extra=json_body(SearchRequest, _SEARCHES))
async def search_memories(
    scope: MayReadMemories, request: Annotated[SearchRequest, Depends(body(SearchRequest))], door: TheDoor
) -> SearchAnswer:
    """Search the person's memories, best first."""
    return await door.backend.search(scope, request)
