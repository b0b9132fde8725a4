"""REST as a client sees it: what is there, an answer in JSON, timeouts, and going away."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")

import internals
from internals.serving.models.table import ModelState
from internals.serving.settings import Settings
from tests.serving.rest_support import FUNCTIONS, MLP, RestServer, as_json, wait_until, waiting

X = np.array([[1.0, 2.0, 3.0]], np.float32)


@pytest.fixture(scope="module")
def server() -> Iterator[RestServer]:
    with RestServer(
        dict(FUNCTIONS), {"double": MLP}, Settings(control=True, token="s3cr3t")
    ) as server:
        yield server


def test_the_server_describes_itself(server: RestServer) -> None:
    for path in ("/v2", "/v2/"):
        answer = server.ask("GET", path)
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("application/json")
        assert answer.headers["Server"] == "internals"
        assert answer.json() == {
            "name": "internals",
            "version": internals.__version__,
            "extensions": ["binary_tensor_data", "model_repository"],
        }


def test_live_and_ready_until_it_shuts_down(server: RestServer) -> None:
    assert server.ask("GET", "/v2/health/live").json() == {"live": True}
    assert server.ask("GET", "/v2/health/ready").json() == {"ready": True}
    server.engine.stopping.set()
    try:
        assert server.ask("GET", "/v2/health/live").status == 200
        for path in ("/v2/health/ready", "/v2/models/double/ready"):
            answer = server.ask("GET", path)
            assert answer.status == 503
            assert answer.error == "the server is shutting down"
    finally:
        server.engine.stopping.clear()


def test_it_is_not_ready_while_a_model_is_loaded_for_the_first_time(server: RestServer) -> None:
    loading = server.engine.repository.loading
    loading.append(ModelState("new", "1", "LOADING"))
    try:
        answer = server.ask("GET", "/v2/health/ready")
        assert (answer.status, answer.error) == (503, "a model is being loaded")
    finally:
        loading.clear()


@pytest.mark.parametrize("path", ["/v2/models/double", "/v2/models/double/versions/1"])
def test_a_model_describes_itself(server: RestServer, path: str) -> None:
    answer = server.ask("GET", path)
    assert answer.status == 200
    assert answer.json() == {
        "name": "double",
        "versions": ["1"],
        "platform": "a function",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 3]}],
    }
    assert server.ask("GET", path + "/ready").json() == {"name": "double", "ready": True}


@pytest.mark.parametrize(
    "path", ["/v2/models/nope", "/v2/models/nope/ready", "/v2/models/double/versions/7"]
)
def test_a_model_that_is_not_there(server: RestServer, path: str) -> None:
    answer = server.ask("GET", path)
    assert answer.status == 404
    assert "there is no model" in answer.error


def test_json_in_and_out(server: RestServer) -> None:
    answer = server.infer("double", {"id": "r-1", "inputs": [as_json(X, "FP32")]})
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json() == {
        "model_name": "double",
        "model_version": "1",
        "id": "r-1",
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [1, 3], "data": [2.0, 4.0, 6.0]}],
    }
    seen = server.engine.seen[-1]
    assert (seen.model, seen.version, seen.id, seen.outputs, seen.deadline) == (
        "double",
        "",
        "r-1",
        (),
        None,
    )


def test_everything_that_a_request_can_say_reaches_the_engine(server: RestServer) -> None:
    said = {
        "inputs": [as_json(X, "FP32", "b"), as_json(X, "FP32", "a", parameters={"odd": 1})],
        "outputs": [{"name": "y1"}, {"name": "y0", "parameters": {"binary_data": False}}],
        "parameters": {"priority": 3, "note": "text", "yes": True, "share": 0.5, "timeout": 0},
        "unknown": [None],
    }
    answer = server.ask("POST", "/v2/models/echo/versions/1/infer", json.dumps(said).encode())
    assert answer.status == 200
    seen = server.engine.seen[-1]
    assert list(seen.inputs) == ["b", "a"]
    assert seen.version == "1"
    assert seen.outputs == ("y1", "y0")
    assert seen.parameters == {"priority": 3, "note": "text", "yes": True, "share": 0.5}


def test_a_timeout_begins_with_the_request(server: RestServer) -> None:
    said: dict[str, Any] = {"inputs": [as_json(X, "FP32")]}

    def deadline(parameters: dict[str, Any], headers: dict[str, str]) -> float:
        assert (
            server.infer("double", {**said, "parameters": parameters}, headers=headers).status
            == 200
        )
        found = server.engine.seen[-1].deadline
        assert found is not None
        return found

    before = time.monotonic()
    assert before + 2000 <= deadline({"timeout": 2_000_000_000}, {}) <= time.monotonic() + 2000
    assert before + 3000 <= deadline({}, {"Request-Timeout": "3e3"}) <= time.monotonic() + 3000
    both = deadline({"timeout": 2_000_000_000}, {"Request-Timeout": "3000"})
    assert before + 2000 <= both <= time.monotonic() + 2000


def test_the_repository(server: RestServer) -> None:
    index = server.ask("POST", "/v2/repository/index").json()
    assert {
        "name": "broken",
        "version": "1",
        "state": "UNAVAILABLE",
        "reason": "no archive",
    } in index
    ready = server.ask("POST", "/v2/repository/index", b'{"ready": true}').json()
    assert {entry["name"] for entry in ready} == set(server.engine.repository.functions)
    assert server.ask("POST", "/v2/repository/models/double/load", b"{}").status == 200
    assert server.engine.repository.loaded == ["double"]
    server.engine.repository.functions["passing"] = FUNCTIONS["echo"]
    assert server.ask("POST", "/v2/repository/models/passing/unload").status == 200
    assert "passing" not in server.engine.repository.functions
    assert server.ask("POST", "/v2/repository/models/passing/unload").status == 404
    files = server.ask(
        "POST", "/v2/repository/models/double/load", b'{"parameters": {"file:1/model.pt": "AAAA"}}'
    )
    assert files.status == 501
    assert "the server's own folder" in files.error
    assert server.ask("POST", "/v2/repository/index", b"[1]").status == 400


def test_without_control_nothing_is_loaded_over_the_wire() -> None:
    with RestServer(dict(FUNCTIONS)) as server:
        for what in ("load", "unload"):
            answer = server.ask("POST", f"/v2/repository/models/double/{what}", b"{}")
            assert answer.status == 403
            assert "--control" in answer.error
        assert not server.engine.repository.loaded


def test_addresses_that_are_none(server: RestServer) -> None:
    answer = server.ask("GET", "/v3/models")
    assert answer.status == 404
    assert answer.error == "there is nothing at /v3/models; the models are under /v2/models/NAME"
    answer = server.ask("GET", "/v2/models/double/infer")
    assert answer.status == 405
    assert answer.headers["Allow"] == "POST"
    assert answer.error == "/v2/models/double/infer does not take GET, but POST"


def test_head_is_get_without_the_body(server: RestServer) -> None:
    got, head = server.ask("GET", "/v2"), server.ask("HEAD", "/v2")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == got.headers["Content-Length"]
    missing = server.ask("HEAD", "/nothing")
    assert (missing.status, missing.body) == (404, b"")


def test_metrics_are_where_prometheus_looks(server: RestServer) -> None:
    copied = server.engine.metrics.value("internals_input_bytes_total", copied="1")
    server.infer("double", {"inputs": [as_json(X, "FP32")]})
    server.infer("double", {"inputs": []}, headers={"Request-Timeout": "soon"})
    answer = server.ask("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    refused = b'internals_requests_total{model="double",outcome="invalid_argument",version=""}'
    assert refused in answer.body
    assert (
        server.engine.metrics.value("internals_input_bytes_total", copied="1") == copied + X.nbytes
    )


def test_metrics_alone_on_a_port_of_their_own() -> None:
    with RestServer(dict(FUNCTIONS), metrics_only=True) as server:
        assert server.ask("GET", "/metrics").status == 200
        assert server.ask("GET", "/v2/health/ready").status == 200
        assert server.ask("GET", "/v2/models/double").status == 404
        assert server.infer("double", {}).status == 404


def test_an_accident_of_the_server_is_500_and_says_nothing_of_the_request(
    server: RestServer,
) -> None:
    answer = server.infer("fail", {"inputs": [as_json(X, "FP32")]})
    assert answer.status == 500
    assert answer.error == "the server made an error of its own; its log says where"
    line = json.loads(server.engine.written.getvalue().splitlines()[-1])
    assert (line["event"], line["type"]) == ("internal_error", "RuntimeError")
    assert line["where"].startswith("fail:")
    assert "31337" not in server.engine.written.getvalue()


def test_a_client_that_goes_away_takes_its_request_back(server: RestServer) -> None:
    body = json.dumps({"inputs": [as_json(X, "FP32")]}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(
            b"POST /v2/models/forever/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
            % len(body)
            + body
        )
        wait_until(lambda: len(waiting) == 1)
    wait_until(lambda: not waiting)
    assert server.ask("GET", "/v2/health/live").status == 200


def test_a_connection_is_used_again(server: RestServer) -> None:
    body = json.dumps({"inputs": [as_json(X, "FP32")]}).encode()
    request = (
        b"POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        % len(body)
        + body
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(request * 3)  # without waiting for answers
        received = b""
        while received.count(b'"data":[2.0,4.0,6.0]') < 3:
            piece = client.recv(65536)
            assert piece, received
            received += piece
    assert received.count(b"HTTP/1.1 200 OK") == 3
