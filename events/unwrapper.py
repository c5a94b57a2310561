"""Opening what the vault holds under an epoch: once for all who ask at the same moment, and never kept (R4)."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from events.errors import EpochGoneError, TamperError
from events.postgres import Row
from events.provider import Provider

Unwrapped = tuple[Row, bytes]
"""A row of the vault, and the secret that it holds."""


class Unwrapper:
    """Unwraps tenants' secrets with the provider's present answer.

    Args:
        provider: where the epochs' secrets lie.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def read(
        self, rows_of: Callable[[], Awaitable[list[Row | None]]], column: str, purpose: bytes
    ) -> list[Unwrapped | None]:
        """Read rows and unwrap a column of each; again where a roll destroyed an epoch meanwhile.

        Args:
            rows_of: reads them, with `tenant_id` and `epoch_id`; None for one that is gone.
            column: what is unwrapped.
            purpose: what it is for, which it is bound to beside its tenant.

        Raises:
            EpochGoneError: an epoch's secret is gone or was never here.
            TamperError: one was not wrapped for this tenant and purpose.
        """
        rows = await rows_of()
        while True:
            try:
                return await self._unwrap(rows, column, purpose)
            except (EpochGoneError, TamperError):
                newer = await rows_of()
                if _epochs(newer) == _epochs(rows):
                    raise
                rows = newer

    async def _unwrap(self, rows: Sequence[Row | None], column: str, purpose: bytes) -> list[Unwrapped | None]:
        secrets: dict[tuple[UUID, UUID, bytes], bytes] = {}
        unwrapped: list[Unwrapped | None] = []
        for row in rows:
            if row is None:
                unwrapped.append(None)
                continue
            same = epoch, tenant, wrapped = row["epoch_id"], row["tenant_id"], row[column]
            if same not in secrets:
                secrets[same] = await self._provider.unwrap(epoch, wrapped, tenant.bytes + purpose)
            unwrapped.append((row, secrets[same]))
        return unwrapped


def _epochs(rows: Sequence[Row | None]) -> list[UUID | None]:
    return [None if row is None else row["epoch_id"] for row in rows]
