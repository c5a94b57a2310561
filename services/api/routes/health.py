"""For the operator: is it alive, is it ready, what does it count."""

from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from events.errors import CenotaphError
from events.model import Frozen
from services.api.door import TheDoor
from services.api.metrics import RequestMetrics

router = APIRouter(tags=["operation"])

State = Literal["ok", "down"]


class Health(Frozen):
    """Whether requests can be served, and the state of each store by name."""

    status: State
    stores: dict[str, State]


@router.get("/health/live")
async def live() -> dict[str, str]:
    """Answer as long as the process does."""
    return {"status": "ok"}


@router.get("/health/ready", responses={503: {"model": Health, "description": "A store is down"}})
async def ready(door: TheDoor, response: Response) -> Health:
    """Tell whether every store answers; 503 when one does not."""
    try:
        found = await door.backend.health()
    except (CenotaphError, OSError):
        found = {"backend": "down"}
    # Only two words leave: anything longer could name an address, and nobody has shown a credential here.
    stores: dict[str, State] = {name: "ok" if word == "ok" else "down" for name, word in found.items()}
    status: State = "ok" if all(word == "ok" for word in stores.values()) else "down"
    response.status_code = HTTPStatus.OK if status == "ok" else HTTPStatus.SERVICE_UNAVAILABLE
    return Health(status=status, stores=stores)


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, door: TheDoor) -> Response:
    """Return the counts in Prometheus' text format."""
    counted: RequestMetrics = request.app.state.metrics
    try:
        counted.stand(await door.backend.standings())
    except (CenotaphError, OSError):
        counted.stand(())
    try:
        counted.cover(await door.backend.coverage())
    except (CenotaphError, OSError):
        counted.cover(None)
    try:
        counted.note_epoch(await door.backend.oldest_epoch())
    except (CenotaphError, OSError):
        counted.note_epoch(None)
    try:
        counted.note_deletions(await door.backend.deletions())
    except (CenotaphError, OSError):
        counted.note_deletions(None)
    return Response(generate_latest(counted.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
