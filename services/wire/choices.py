"""Consents, suppressions, and forgetting by description, as they come in and go out."""

from typing import Annotated, Literal

from pydantic import Field

from events.model import Frozen, MemoryId
from services.wire.memories import MemoryView
from services.wire.request import Request
from services.wire.text import OutsideId, Query


class ConsentView(Frozen):
    """A sensitive class: open (`given`), never asked for (`none`), or closed again (`withdrawn`).

    With `purposes` it is open for these alone.
    """

    sensitivity: str
    state: Literal["given", "none", "withdrawn"]
    purposes: tuple[str, ...] = ()


class ConsentPage(Frozen):
    """Every sensitive class there is."""

    consents: tuple[ConsentView, ...]


class ConsentRequest(Request):
    """Open a sensitive class, for readers for a purpose alone where one is named, or close it."""

    given: Annotated[bool, Field(strict=True)]
    purpose: OutsideId | None = None


class DescribeRequest(Request):
    """What somebody means, in their own words."""

    description: Query


class SuppressionView(Frozen):
    """Something that is not remembered."""

    suppression_id: MemoryId
    description: str


class SuppressionPage(Frozen):
    """Everything that is not remembered."""

    suppressions: tuple[SuppressionView, ...]


class MeantView(MemoryView):
    """A memory that would go: how well it fits the description, if it was described, and how many versions of it go."""

    score: float | None = None
    versions: int


class ForgetPreview(Frozen):
    """What would be forgotten. Nothing has happened yet; confirm with `digest`, which names exactly this.

    `total` memories go, of which the first hundred are shown. `turns` (the caller's ids) lose `messages` messages.
    `siblings` stay, marked "source forgotten". `lifted` wishes not to remember something go with their message.
    """

    memories: tuple[MeantView, ...]
    total: int
    siblings: tuple[MemoryId, ...]
    turns: tuple[str, ...]
    messages: int
    digest: str
    lifted: int = 0


class ForgetDescribedRequest(DescribeRequest):
    """Forget what a preview showed, irreversibly; `digest` is the preview's."""

    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
