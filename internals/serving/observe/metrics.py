"""Metrics for Prometheus: the number of requests, their times, the sizes of batches
(`core/src/metrics.cc` of Triton).

Prometheus reads all numbers as text every few seconds. A *counter* only grows (its derivative is
the rate of requests), a *histogram* is a row of counters, one for each bound ("how many took at
most 5 ms"), from which percentiles can be estimated, and a *gauge* goes up and down. Each exists
once for every combination of its labels, called a child. The library computes the key of a child at
every call; here the child is kept in a dict, because this runs for every request.

Labels must come from a small set, as each combination is kept forever: a client that asks for a
million models that do not exist must not fill the memory. So requests for unknown models are
counted under an empty name, and when there are `MOST_SERIES` combinations, new names are counted as
"other".

How the real one differs: Triton has sums of microseconds, histograms only of the time to the first
response, and summaries as an option; its names start with `nv_inference_`.
"""

from __future__ import annotations

import threading
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
# bounds of the histograms
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
MOST_SERIES = 1000  # combinations of labels
OTHER = "other"

_MODEL = ("model", "version")


class Metrics:
    """The metrics of one server, in their own registry, so that two servers in one process do not
    mix theirs.

    Every method may be called from any thread. `text()` is the answer to `GET /metrics`.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)  # memory, processor time and open files of this process
        self._requests = Counter(
            "internals_requests",
            "Requests that were answered",
            (*_MODEL, "outcome"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "internals_request_seconds",
            "From a request's arrival to its answer",
            _MODEL,
            buckets=SECONDS,
            registry=registry,
        )
        self._executions = Counter(
            "internals_executions", "Batches that a model ran", _MODEL, registry=registry
        )
        self._execution_requests = Histogram(
            "internals_execution_requests",
            "Requests in a batch",
            _MODEL,
            buckets=ROWS,
            registry=registry,
        )
        self._execution_rows = Histogram(
            "internals_execution_rows", "Rows in a batch", _MODEL, buckets=ROWS, registry=registry
        )
        self._execution_seconds = Histogram(
            "internals_execution_seconds",
            "Time a model took for a batch",
            _MODEL,
            buckets=SECONDS,
            registry=registry,
        )
        self._queue_seconds = Histogram(
            "internals_queue_seconds",
            "Time a request waited for its batch",
            _MODEL,
            buckets=SECONDS,
            registry=registry,
        )
        self._queue_depth = Gauge(
            "internals_queue_depth", "Requests that wait now", _MODEL, registry=registry
        )
        bytes_in = Counter(
            "internals_input_bytes",
            "Bytes of input tensors, by whether they were copied",
            ("copied",),
            registry=registry,
        )
        # indexed by `zero_copy`: False is copied
        self._input = (bytes_in.labels("1"), bytes_in.labels("0"))
        self._children: dict[tuple[Any, ...], Any] = {}
        self._lock = threading.Lock()

    def request(self, model: str, version: str, outcome: str, seconds: float) -> None:
        """Counts an answered request: `outcome` is "ok", or the error's code in lower case."""
        if outcome == "not_found":
            model = version = ""  # the client may have invented the name
        self._child(self._requests, model, version, outcome).inc()
        self._child(self._request_seconds, model, version).observe(seconds)

    def execution(self, model: str, version: str, requests: int, rows: int, seconds: float) -> None:
        """Counts one run of a model, for `requests` requests with `rows` rows together."""
        self._child(self._executions, model, version).inc()
        self._child(self._execution_requests, model, version).observe(requests)
        self._child(self._execution_rows, model, version).observe(rows)
        self._child(self._execution_seconds, model, version).observe(seconds)

    def waited(self, model: str, version: str, seconds: float) -> None:
        """Counts a request that waited `seconds` in the queue for its batch."""
        self._child(self._queue_seconds, model, version).observe(seconds)

    def queue(self, model: str, version: str, depth: int) -> None:
        """Sets the number of requests that wait for a model."""
        self._child(self._queue_depth, model, version).set(depth)

    def input(self, zero_copy: bool, nbytes: int) -> None:
        """Counts the bytes of an input tensor: a view of the message's memory, or a copy."""
        self._input[zero_copy].inc(nbytes)

    def value(self, name: str, **labels: str) -> float:
        """The current value of a metric, 0.0 if nothing was counted yet:
        `value("internals_requests_total", model="mlp", ...)`.
        """
        return self.registry.get_sample_value(name, labels) or 0.0

    def text(self) -> bytes:
        """All metrics in Prometheus' text format, whose type is `CONTENT_TYPE`."""
        return generate_latest(self.registry)

    def _child(self, metric: Any, *labels: str) -> Any:
        """The child of a metric for these labels, from the dict if possible."""
        child = self._children.get((metric, *labels))
        return self._new_child(metric, labels) if child is None else child

    def _new_child(self, metric: Any, labels: tuple[str, ...]) -> Any:
        with self._lock:
            if len(self._children) >= MOST_SERIES:
                labels = (OTHER, OTHER, *labels[len(_MODEL) :])
            child = metric.labels(*labels)
            self._children[metric, *labels] = child
            return child
