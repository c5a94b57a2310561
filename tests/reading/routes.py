"""The table of the door's routes, each with what is asked of it from outside."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tests.attacks.world import QUERIES, Victim

Body = Mapping[str, Any]

_NONE: Final = frozenset[str]()
OPERATION: Final = frozenset({"GET /health/live", "GET /health/ready", "GET /metrics"})
"""Routes that take no credential, and so may tell nothing of anybody."""

TENANT: Final = frozenset({"GET /v1/tenant/forget", "POST /v1/tenant/forget"})
"""Routes that take a tenant's key: they are asked with another tenant's."""

BODIES: Final = MappingProxyType[str, Body](
    {
        "POST /v1/context": {"query": QUERIES[0], "role": "chat", "session_id": "s1", "token_budget": 4000},
        "POST /v1/memories/search": {"query": " ".join(QUERIES[:6])},
        "POST /v1/forget/preview": {"session_id": "s1"},
        "POST /v1/exports": {"purpose": "download"},
        "POST /v1/turns": {
            "schema": "cenotaph.turn/1",
            "turn_id": "asked-from-outside",
            "session_id": "s1",
            "occurred_at": "2026-08-02T10:00:00+08:00",
            "messages": [{"message_id": "m1", "role": "user", "content": "你好"}],
        },
        "POST /v1/suppressions": {"description": "天气"},
        "PUT /v1/consents/{sensitivity}": {"given": False},
        "POST /v1/tokens": {"subject": "somebody new", "role": "agent"},
        "POST /v1/facts": {
            "fact_id": "asked-from-outside",
            "key": "membership.tier",
            "value": "x",
            "occurred_at": "2026-08-02T10:00:00+08:00",
        },
        "POST /v1/tasks": {"command_id": "outside", "task_id": "outside", "type": "t", "name": "n", "goal": "g"},
    }
)
"""What is sent where a body is wanted and none names the victim."""


def body_of(route: str, victim: Victim) -> Body | None:
    """Return what is sent: bodies that can name something name what is the victim's."""
    memory = victim.ids["memory"][0]
    named: dict[str, Body] = {
        "POST /v1/forget": {"memory_id": memory},
        "PUT /v1/memories/{memory_id}/audience": {"project": "Borealis"},
        "POST /v1/forget/described": {"description": QUERIES[0], "digest": victim.digest},
        "POST /v1/person/forget": {"confirmation": {"digest": victim.digest}},
        "POST /v1/tenant/forget": {"confirmation": {"digest": victim.digest}},
        "POST /v1/tasks/{task_id}": {
            "command_id": "outside",
            "expected_version": 1,
            "change": {"do": "abandon"},
        },
    }
    return named.get(route) or BODIES.get(route)


IDS: Final = MappingProxyType(
    {
        "memory_id": "memory",
        "turn_id": "turn",
        "trace_id": "trace",
        "receipt_id": "receipt",
        "suppression_id": "suppression",
        "task_id": "task",
        "export_id": "export",
        "fact_id": "fact",
    }
)
"""Which of the victim's ids stands where in a path."""

LISTED: Final = frozenset(
    {
        "GET /v1/memories",
        "GET /v1/profile",
        "GET /v1/inbox",
        "GET /v1/consents",
        "GET /v1/suppressions",
        "GET /v1/exports",
        "GET /v1/tasks",
        "GET /v1/receipts",
        "GET /v1/person/forget",
    }
)
"""Routes that list what is the asker's own."""

NAMED: Final = frozenset(
    {
        "GET /v1/memories/{memory_id}",
        "GET /v1/memories/{memory_id}/explain",
        "GET /v1/memories/{memory_id}/where",
        "POST /v1/memories/{memory_id}/suspend",
        "PUT /v1/memories/{memory_id}/audience",
        "POST /v1/memories/{memory_id}/resume",
        "POST /v1/inbox/{memory_id}/confirm",
        "POST /v1/inbox/{memory_id}/refuse",
        "GET /v1/turns/{turn_id}",
        "GET /v1/facts/{fact_id}",
        "GET /v1/traces/{trace_id}",
        "GET /v1/tasks/{task_id}",
        "POST /v1/tasks/{task_id}",
        "GET /v1/exports/{export_id}",
        "GET /v1/receipts/{receipt_id}",
        "GET /v1/receipts/{receipt_id}/events",
        "POST /v1/receipts/{receipt_id}/close",
        "DELETE /v1/suppressions/{suppression_id}",
        "POST /v1/forget",
        "POST /v1/forget/described",
        "POST /v1/person/forget",
    }
)
"""Routes that are asked for something of the victim by its id; whatever the part, the answer is a refusal."""

ROUTES: Final = OPERATION | TENANT | LISTED | NAMED | BODIES.keys()
