"""Counts of requests by route template and status: no ids, no content, a bounded number of series (R72)."""

from prometheus_client import CollectorRegistry, Counter, Histogram

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

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
