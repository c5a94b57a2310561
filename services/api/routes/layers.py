"""The contract that an application's own endpoint keeps, described where OpenAPI has a place for it: as webhooks."""

from typing import Any

from fastapi import APIRouter

from services.wire.foreign import EraseAnswer, LayerRequest, ProbeAnswer

_RESPONSES: dict[int | str, dict[str, Any]] = {
    401: {"description": "Not signed, or without the token"},
    422: {"description": "Not a request of this contract"},
}

webhooks = APIRouter(tags=["foreign layers"], responses=_RESPONSES)
_DESCRIBED = "{} is served by the application, not here"


@webhooks.post("erase")
def erase(request: LayerRequest) -> EraseAnswer:
    """Erase every copy of these memories: texts, vectors, caches. cenotaph posts this to `URL/erase`.

    Asked again, or for what was never there, answer 200 with 0. Answer within 1.5 seconds; a second try follows. Every
    request carries a signature (RFC 9421, Ed25519, over @method, @target-uri and content-digest) whose public key is
    `keys/layers.pub`, and the bearer token if one was registered; refuse others with 401 or 403.
    """
    raise NotImplementedError(_DESCRIBED.format(request.schema_name))


@webhooks.post("probe")
def probe(request: LayerRequest) -> ProbeAnswer:
    """Say which of these memories you still hold in any form. cenotaph posts this to `URL/probe`, signed as `erase`."""
    raise NotImplementedError(_DESCRIBED.format(request.schema_name))
