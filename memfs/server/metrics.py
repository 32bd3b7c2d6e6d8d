"""What the server counts, for Prometheus: requests, versions, waiters, the database.

One instance per server and registry. Labels are of a bounded set: route templates, never a path, a store or a key.
Safe in any thread. With several processes the counts are kept in files of the directory that
``PROMETHEUS_MULTIPROC_DIR`` names, and each process answers the sum of all.
"""

import os
from collections.abc import Callable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

import memfs

# When each counter began would be as many lines again, which nobody asks for.
disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped in prometheus-client

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
NO_ROUTE = "none"
"""The route of a request that has none."""
_OPERATIONS = ("created", "modified", "deleted", "redacted")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The counters of one server process.

    Args:
        waiters: Returns how many requests wait for a change.
        connections: Returns how many connections to the database are in use.
        database_bytes: Returns the size of the database, 0 where it cannot be told.
    """

    def __init__(
        self,
        *,
        waiters: Callable[[], int],
        connections: Callable[[], int],
        database_bytes: Callable[[], int],
    ) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "memfs_requests", "Requests answered", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "memfs_request_seconds",
            "Seconds from a request's head to the last byte of its answer; long polls include their wait",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._versions = Counter(
            "memfs_versions", "Versions written or redacted, by operation", ["operation"], registry=registry
        )
        for operation in _OPERATIONS:
            self._versions.labels(operation)
        self._failures = Counter("memfs_database_failures", "Requests that the database failed", registry=registry)
        measured = (
            ("memfs_waiters", "Requests that wait for a change", waiters),
            ("memfs_database_connections", "Connections to the database in use", connections),
        )
        self._measured = [
            (Gauge(name, text, registry=registry, multiprocess_mode="livesum"), measure)
            for name, text, measure in measured
        ]
        size = Gauge("memfs_database_bytes", "Size of the database", registry=registry, multiprocess_mode="livemax")
        self._size, self._database_bytes = size, database_bytes
        info = Gauge("memfs_build_info", "Always 1", ["version"], registry=registry, multiprocess_mode="livemax")
        info.labels(memfs.__version__).set(1)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def written(self, told: Mapping[str, Sequence[str]]) -> None:
        """Count the versions in what a committed write told to the feed: kinds by store."""
        for kinds in told.values():
            for kind in kinds:
                if kind in _OPERATIONS:
                    self._versions.labels(kind).inc()

    def failed(self) -> None:
        """Count a request that could not be served because of the database."""
        self._failures.inc()

    def measure(self) -> None:
        """Note what goes up and down, for the sum that another process may answer; on the event loop, now and then."""
        for gauge, measure in self._measured:
            gauge.set(measure())

    def page(self) -> bytes:
        """Return the page that Prometheus reads. Asks the database for its size."""
        self.measure()
        self._size.set(self._database_bytes())
        if SHARED_DIRECTORY in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # untyped in prometheus-client
            return generate_latest(registry)
        return generate_latest(self._registry)
