"""Bodies that were damaged on the way: always an answer in JSON, never an accident, and the server
goes on.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")

from internals.serving.settings import Settings
from internals.serving.transport.rest_requests import HEADER_LENGTH
from tests.serving.rest_support import FUNCTIONS, MLP, Answer, RestServer, as_bytes, as_json

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SAID: dict[str, Any] = {
    "id": "r-1",
    "inputs": [
        as_bytes(X, "FP32", "a"),
        as_json(X, "FP32", "b"),
        as_bytes(np.array([True]), "BOOL", "c"),
    ],
    "outputs": [{"name": "y0", "parameters": {"binary_data": True}}, {"name": "y1"}],
    "parameters": {"timeout": 60_000_000, "binary_data_output": True, "priority": 1},
}
HEAD, BEHIND = json.dumps(SAID).encode(), X.tobytes() + b"\x01"
REQUEST = (
    b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    + f"{HEADER_LENGTH}: {len(HEAD)}\r\nContent-Length: {len(HEAD + BEHIND)}\r\n\r\n".encode()
    + HEAD
    + BEHIND
)
STATUSES = {200, 400, 404, 413, 501}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def server() -> Iterator[RestServer]:
    with RestServer(
        dict(FUNCTIONS), {"double": MLP}, Settings(max_message_bytes=100_000)
    ) as server:
        yield server


def check(server: RestServer, answer: Answer) -> None:
    assert answer.status in STATUSES, (
        answer.status,
        answer.body,
        server.engine.written.getvalue()[-500:],
    )
    if answer.status != 200:
        assert answer.error


@given(
    start=st.integers(0, len(HEAD + BEHIND)),
    removed=st.integers(0, 40),
    put=st.binary(max_size=40),
    length=st.none() | st.integers(0, len(HEAD + BEHIND) + 10),
)
def test_bytes_of_the_body_are_changed(
    server: RestServer, start: int, removed: int, put: bytes, length: int | None
) -> None:
    body = bytearray(HEAD + BEHIND)
    body[start : start + removed] = put
    headers = {HEADER_LENGTH: str(len(HEAD) if length is None else length)}
    check(server, server.ask("POST", "/v2/models/echo/infer", bytes(body), headers))


@given(data=st.data())
def test_something_in_the_json_is_something_else(server: RestServer, data: st.DataObject) -> None:
    said: Any = json.loads(HEAD)
    place, key = said, data.draw(st.sampled_from(sorted(said)))
    while isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(
            st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
        )
    place[key] = data.draw(values)
    head = json.dumps(said).encode()
    check(server, server.infer("echo", head, BEHIND))


@given(said=values)
def test_any_json(server: RestServer, said: Any) -> None:
    check(server, server.infer("echo", said))


@given(
    shape=st.lists(st.integers(-2, 5) | st.integers(-(2**70), 2**70), max_size=5),
    datatype=st.sampled_from(["FP32", "BOOL", "INT8", "FP64", "BYTES", ""]),
    size=st.integers(-5, 200) | st.integers(-(2**70), 2**70),
    sent=st.integers(1, 200),
)
def test_any_shape_and_size(
    server: RestServer, shape: list[int], datatype: str, size: int, sent: int
) -> None:
    said = {
        "name": "x",
        "datatype": datatype,
        "shape": shape,
        "parameters": {"binary_data_size": size},
    }
    check(server, server.infer("echo", {"inputs": [said]}, bytes(sent)))


@given(st.integers(0, len(REQUEST) - 1), st.binary(min_size=1, max_size=5))
def test_bytes_of_the_whole_request_are_changed(server: RestServer, start: int, put: bytes) -> None:
    """aiohttp may answer what is no HTTP by itself, or wait for the rest: it has to survive it."""
    request = bytearray(REQUEST)
    request[start : start + len(put)] = put
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        try:
            answer = client.recv(65536)
        except ConnectionResetError:
            answer = b""
    assert b" 500 " not in answer.partition(b"\r\n")[0]


def test_after_all_that_it_serves(server: RestServer) -> None:
    answer = server.infer("double", {"inputs": [as_json(X, "FP32")]})
    assert answer.json()["outputs"][0]["data"] == [0, 2, 4, 6, 8, 10]
    assert "internal_error" not in server.engine.written.getvalue()
