"""The numbers that `GET /metrics` shows, read back as Prometheus would."""

from __future__ import annotations

import threading
from typing import Any

import pytest

prometheus_client = pytest.importorskip(
    "prometheus_client", reason="the extra `serving` is not installed"
)

from prometheus_client.parser import text_string_to_metric_families

from internals.serving.observe import metrics
from internals.serving.observe.metrics import Metrics


def samples(m: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every number in the text, by name and labels."""
    families = text_string_to_metric_families(m.text().decode())
    return {
        (s.name, frozenset(s.labels.items())): s.value
        for family in families
        for s in family.samples
    }


def number(m: Metrics, name: str, **labels: str) -> float:
    return samples(m)[name, frozenset(labels.items())]


def test_requests_are_counted_by_outcome() -> None:
    m = Metrics()
    m.request("mlp", "1", "ok", 0.003)
    m.request("mlp", "1", "ok", 0.004)
    m.request("mlp", "1", "resource_exhausted", 0.0)
    m.request("mlp", "2", "ok", 3.0)
    assert number(m, "internals_requests_total", model="mlp", version="1", outcome="ok") == 2
    assert (
        number(
            m, "internals_requests_total", model="mlp", version="1", outcome="resource_exhausted"
        )
        == 1
    )
    assert number(m, "internals_requests_total", model="mlp", version="2", outcome="ok") == 1
    assert number(m, "internals_request_seconds_count", model="mlp", version="1") == 3
    assert number(m, "internals_request_seconds_sum", model="mlp", version="1") == pytest.approx(
        0.007
    )


def test_a_bucket_counts_what_is_at_most_its_bound() -> None:
    m = Metrics()
    for rows in (1, 2, 3, 32, 5000):
        m.execution("mlp", "1", 1, rows, 0.1)
    at_most = {
        bound: number(m, "internals_execution_rows_bucket", model="mlp", version="1", le=bound)
        for bound in ("1.0", "2.0", "4.0", "32.0", "1024.0", "+Inf")
    }
    assert at_most == {"1.0": 1, "2.0": 2, "4.0": 3, "32.0": 4, "1024.0": 4, "+Inf": 5}
    assert number(m, "internals_executions_total", model="mlp", version="1") == 5
    assert number(m, "internals_execution_requests_sum", model="mlp", version="1") == 5


def test_waiting_depth_and_bytes() -> None:
    m = Metrics()
    m.waited("mlp", "1", 0.25)
    m.queue("mlp", "1", 7)
    m.queue("mlp", "1", 3)
    m.input(True, 100)
    m.input(True, 28)
    m.input(False, 5)
    assert number(m, "internals_queue_seconds_sum", model="mlp", version="1") == 0.25
    assert number(m, "internals_queue_depth", model="mlp", version="1") == 3
    assert number(m, "internals_input_bytes_total", copied="0") == 128
    assert number(m, "internals_input_bytes_total", copied="1") == 5


def test_value_reads_one_number() -> None:
    m = Metrics()
    assert m.value("internals_requests_total", model="mlp", version="1", outcome="ok") == 0.0
    m.request("mlp", "1", "ok", 0.1)
    assert m.value("internals_requests_total", model="mlp", version="1", outcome="ok") == 1.0


def test_two_servers_do_not_mix_their_numbers() -> None:
    one, other = Metrics(), Metrics()
    one.request("mlp", "1", "ok", 0.1)
    assert "mlp" in one.text().decode()
    assert "mlp" not in other.text().decode()


def test_names_that_clients_make_up_do_not_become_labels() -> None:
    m = Metrics()
    for i in range(50):
        m.request(f"made-up-{i}", str(i), "not_found", 0.0)
    assert "made-up" not in m.text().decode()
    assert number(m, "internals_requests_total", model="", version="", outcome="not_found") == 50


def test_the_number_of_series_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_SERIES", 10)
    m = Metrics()
    for i in range(1000):
        m.queue(f"model-{i}", "1", i)
    depths = [value for (name, _), value in samples(m).items() if name == "internals_queue_depth"]
    assert len(depths) == 11
    assert number(m, "internals_queue_depth", model="other", version="other") == 999


def test_a_combination_of_labels_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    labels = prometheus_client.Counter.labels

    def listening(self: Any, *values: str) -> Any:
        asked.append(values)
        return labels(self, *values)

    m = Metrics()
    monkeypatch.setattr(prometheus_client.Counter, "labels", listening)
    for _ in range(5):
        m.request("mlp", "1", "ok", 0.1)
    assert asked == [("mlp", "1", "ok")]


def test_names_of_any_text_survive_the_exposition() -> None:
    m = Metrics()
    name = 'quote " backslash \\ newline \n ü'
    m.queue(name, "1", 2)
    assert number(m, "internals_queue_depth", model=name, version="1") == 2


def test_no_count_is_lost_between_threads() -> None:
    m = Metrics()

    def count() -> None:
        for _ in range(500):
            m.request("mlp", "1", "ok", 0.1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert number(m, "internals_requests_total", model="mlp", version="1", outcome="ok") == 2000
