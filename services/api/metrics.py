"""Counts of requests by route and status, and how read models and keys stand: no ids, no content, few series (R72)."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from events.checkpointer import Coverage
from services.replay.standing import Standing
from services.wire.receipts import Deletions

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


class RequestMetrics:
    """What the door counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        labels = ("method", "route", "status")
        self._requests = Counter("cenotaph_http_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "cenotaph_http_request_seconds", "Time to the end of the answer.", ("method", "route"), registry=registry
        )

        self._refused = Counter(
            "cenotaph_scope_refusals",
            "Requests for what their scope does not hold, or that no credential covered.",
            ("what",),
            registry=registry,
        )
        self._skipped = _by_model(registry, "skipped_events", "Events of a newer build that it passed over.")
        self._differences = _by_model(registry, "differences", "Entries that were not what the log makes of them.")
        self._compared = _by_model(registry, "compared_timestamp_seconds", "When it was last compared with the log.")
        self._epoch = Gauge(
            "cenotaph_oldest_key_epoch_age_seconds", "Age of the oldest epoch of the vault's keys.", registry=registry
        )
        self._signed = Gauge(
            "cenotaph_checkpoint_age_seconds", "Age of the last checkpoint in the second place.", registry=registry
        )
        self._uncovered = Gauge(
            "cenotaph_events_without_checkpoint",
            "Sealed events that no checkpoint in the second place covers.",
            registry=registry,
        )
        self._deletions = Gauge("cenotaph_deletions", "Deletions not proven yet.", ("waiting_for",), registry=registry)
        self._deletion_age = Gauge(
            "cenotaph_deletion_age_seconds", "Age of the oldest of them.", ("waiting_for",), registry=registry
        )

    def cover(self, found: Coverage | None) -> None:
        """Show how far the signed checkpoints reach; NaN where that is not known, or there is none."""
        signed = None if found is None else found.signed_at
        self._signed.set(math.nan if signed is None else (datetime.now(UTC) - signed).total_seconds())
        self._uncovered.set(math.nan if found is None else found.uncovered)

    def note_deletions(self, found: Deletions | None) -> None:
        """Show how many deletions wait for their first receipt, and for their second; NaN where nobody knows."""
        waiting: dict[str, tuple[float, datetime | None]]
        waiting = {"propagation": (math.nan, None), "purge": (math.nan, None)}
        if found is not None:
            waiting = {
                "propagation": (found.pending, found.pending_since),
                "purge": (found.unpurged, found.unpurged_since),
            }
        for name, (count, since) in waiting.items():
            self._deletions.labels(name).set(count)
            age = 0.0 if since is None else (datetime.now(UTC) - since).total_seconds()
            self._deletion_age.labels(name).set(math.nan if found is None else age)

    def note_epoch(self, born: datetime | None) -> None:
        """Show how old the oldest epoch is; NaN where that is not known, or there is none."""
        self._epoch.set(math.nan if born is None else (datetime.now(UTC) - born).total_seconds())

    def stand(self, standings: Iterable[Standing]) -> None:
        """Show how each read model stands, and nothing of those that nobody knows of now."""
        for gauge in (self._skipped, self._differences, self._compared):
            gauge.clear()
        for each in standings:
            self._skipped.labels(each.model).set(each.skipped)
            if each.differences is not None and each.compared_at is not None:
                self._differences.labels(each.model).set(each.differences)
                self._compared.labels(each.model).set(each.compared_at.timestamp())

    def refused(self, what: str) -> None:
        """Count a refusal: of a credential, of a role, of a scope, or of an id that is not in the scope."""
        self._refused.labels(what).inc()

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


def _by_model(registry: CollectorRegistry, name: str, what: str) -> Gauge:
    return Gauge(f"cenotaph_read_model_{name}", what, ("model",), registry=registry)
