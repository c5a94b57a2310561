"""Summaries that were kept as long as the messages they rest on (R51). A job of upkeep."""

from datetime import datetime
from typing import ClassVar
from uuid import uuid5

from events.envelope import Command, NewEvent, summary_stream
from events.log import append
from events.model import CommandId, Expired, KeyId, Scope, SessionId
from events.postgres import Database
from projections.summaries import lapsed_keys, lapsed_summaries
from services.upkeep.job import ACTOR, Action, Plan, scopes_of


class SummaryExpiry:
    """Appends `expired` for the texts of summaries whose time is over.

    Args:
        eraser: a pool under `cenotaph_eraser`.
    """

    name: ClassVar[str] = "expire_summaries"

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def due(self, now: datetime) -> list[Scope]:
        """Name whose summaries are due, the longest ago first."""
        async with self._eraser.connection() as connection:
            return scopes_of(await lapsed_summaries(connection, now))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say which summaries end."""
        async with self._eraser.connection() as connection:
            due = await lapsed_keys(connection, scope, now)
        if not due:
            return None
        action = Action(what="expire", reason="time", summaries=tuple(due))
        return Plan(self.name, scope, 0, (action,), tuple(_expired(keys) for keys in due.values()))

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """End them. A summary that was replaced meanwhile has lost these keys already, and loses no others."""
        sessions = [session for action in plan.actions for session in action.summaries]
        commands = [
            Command(
                CommandId(uuid5(event.keys[0], "expired")),
                plan.scope,
                summary_stream(SessionId(session)),
                None,
                ACTOR,
                (NewEvent(event, now),),
            )
            for session, event in zip(sessions, plan.events, strict=True)
            if isinstance(event, Expired)
        ]
        async with self._eraser.transaction() as connection:
            answers = await append(connection, commands)
        return any(answer.outcome == "appended" for answer in answers)


def _expired(keys: list[KeyId]) -> Expired:
    return Expired(memories=(), messages=(), keys=tuple(keys))
