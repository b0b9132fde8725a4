"""What REST refuses: each with the status that fits, and words that name what is wrong."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")

import internals
from internals.serving.settings import Settings
from internals.serving.transport import rest_bodies, rest_requests
from internals.serving.transport.rest_requests import HEADER_LENGTH
from tests.serving.rest_support import (
    FUNCTIONS,
    MLP,
    Answer,
    RestServer,
    as_bytes,
    as_json,
    wait_until,
)

X = np.array([[1.0, 2.0, 3.0]], np.float32)
MOST = 100_000


@pytest.fixture(scope="module")
def server() -> Iterator[RestServer]:
    with RestServer(
        dict(FUNCTIONS), {"double": MLP}, Settings(max_message_bytes=MOST, max_queue_bytes=MOST)
    ) as server:
        yield server


def tensor(**changed: Any) -> dict[str, Any]:
    """An input in JSON, with something changed (None: left out)."""
    return {
        key: value for key, value in (as_json(X, "FP32") | changed).items() if value is not None
    }


def refused(answer: Answer, status: int, *told: str) -> None:
    assert answer.status == status, answer.body
    for text in told:
        assert text in answer.error


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"", "the body is not JSON; when tensors follow it, Inference-Header-Content-Length"),
        (b'{"inputs": ', "the body is not JSON"),
        (
            b'{"inputs": []}xxxx',
            "when tensors follow it, Inference-Header-Content-Length has to say how long it is",
        ),
        (
            b'{"inputs": "\xff"}',
            "not JSON in UTF-8; when tensors follow it, Inference-Header-Content-Length",
        ),
        (b"[1]", "the JSON is a list: a request is an object with 'inputs'"),
        (b"null", "the JSON is null"),
        (b"[" * 90_000, "nested too deeply"),
        (b'{"a":' * 15_000, "nested too deeply"),
        (b'{"inputs": ' + b"9" * 5000 + b"}", "a number with thousands of digits"),
        ({}, "'inputs' is null: it is a list of objects"),
        ({"inputs": {"x": 1}}, "'inputs' is an object: it is a list of objects"),
        ({"inputs": [1]}, "'inputs' is a list: it is a list of objects, each with a 'name'"),
        ({"inputs": [tensor(name=None)]}, "inputs[0]: 'name' is a string"),
        ({"inputs": [tensor(name="n" * 2000)]}, "'name' is a string of at most 1024 characters"),
        ({"inputs": [tensor(), tensor()]}, "input 'x' is there twice"),
        (
            {"inputs": [tensor(name=str(i)) for i in range(300)]},
            "there are 300 inputs: at most 256 are accepted",
        ),
        ({"inputs": [tensor(datatype=None)]}, "input 'x': 'datatype' is a string"),
        ({"inputs": [tensor(datatype="FP8")]}, "input 'x': datatype 'FP8' is not served"),
        ({"inputs": [tensor(datatype=32)]}, "input 'x': 'datatype' is a string"),
        ({"inputs": [tensor(shape=None)]}, "input 'x': shape is a list of integers"),
        ({"inputs": [tensor(shape=[1.0, 3])]}, "input 'x': shape is a list of integers"),
        ({"inputs": [tensor(shape=[True, 3])]}, "input 'x': shape is a list of integers"),
        (
            {"inputs": [tensor(shape=[10**4000])]},
            "input 'x': shape is a list of integers of 64 bits",
        ),
        ({"inputs": [tensor(shape=[-1, -3])]}, "input 'x': shape [-1, -3]: sizes are 0 or more"),
        ({"inputs": [tensor(shape=[1] * 65)]}, "at most 64"),
        ({"inputs": [tensor(shape=[2**62, 2**62])]}, "larger than any memory"),
        (
            {"inputs": [tensor(data=None)]},
            "input 'x' has neither data nor, among its parameters, binary_data_size",
        ),
        ({"inputs": [tensor(data="abc")]}, "not a string"),
        ({"inputs": [tensor(parameters=[1])]}, "input 'x': parameters is an object"),
        ({"inputs": [tensor(parameters={"a": [1]})]}, "the parameter 'a' is a list"),
        ({"inputs": [tensor()], "parameters": 5}, "the request: parameters is an object"),
        ({"inputs": [tensor()], "parameters": {"timeout": -1}}, "parameters.timeout"),
        ({"inputs": [tensor()], "parameters": {"timeout": "5"}}, "parameters.timeout is a string"),
        (
            {"inputs": [tensor()], "parameters": {"binary_data_output": 1}},
            "binary_data_output is an integer",
        ),
        ({"inputs": [tensor()], "id": 5}, "the request: 'id' is a string"),
        ({"inputs": [tensor()], "outputs": {}}, "'outputs' is an object"),
        ({"inputs": [tensor()], "outputs": [{"name": "y"}] * 2}, "output 'y' is there twice"),
        (
            {
                "inputs": [tensor()],
                "outputs": [{"name": "y", "parameters": {"binary_data": "yes"}}],
            },
            "output 'y': binary_data",
        ),
    ],
)
def test_json_that_is_wrong(server: RestServer, said: Any, told: str) -> None:
    refused(server.infer("double", said), 400, told)


def test_what_the_protocol_knows_and_this_server_does_not(server: RestServer) -> None:
    shared = {"shared_memory_region": "r", "shared_memory_byte_size": 12}
    refused(
        server.infer("double", {"inputs": [tensor(data=None, parameters=shared)]}),
        501,
        "input 'x': shared memory",
    )
    classes = [{"name": "y", "parameters": {"classification": 3}}]
    refused(
        server.infer("double", {"inputs": [tensor()], "outputs": classes}),
        501,
        "classification is not served",
    )


@pytest.mark.parametrize(
    ("size", "behind", "told"),
    [
        (12, b"a" * 11, "input 'x': binary_data_size is 12, but the body has 11 bytes for it"),
        (12, b"a" * 13, "behind the JSON are 13 bytes, of which the inputs take 12"),
        (11, b"a" * 11, "input 'x': FP32 [1, 3] takes 12 bytes, the request has 11 bytes for it"),
        (10**30, b"a" * 12, "the body has 12 bytes for it"),
        (-12, b"a" * 12, "binary_data_size is an integer: it is a number of bytes, not negative"),
        (12.0, b"a" * 12, "binary_data_size is a number with a fraction"),
        ("12", b"a" * 12, "binary_data_size is a string"),
        (True, b"a" * 12, "binary_data_size is true or false"),
    ],
)
def test_lies_about_the_bytes(server: RestServer, size: Any, behind: bytes, told: str) -> None:
    said = {"inputs": [as_bytes(X, "FP32") | {"parameters": {"binary_data_size": size}}]}
    refused(server.infer("double", said, behind), 400, told)


def test_data_and_bytes_for_one_input(server: RestServer) -> None:
    said = {"inputs": [as_bytes(X, "FP32") | {"data": [1, 2, 3]}]}
    refused(
        server.infer("double", said, X.tobytes()),
        400,
        "input 'x' has data and binary_data_size: send one of them",
    )


def test_a_byte_of_a_bool_is_0_or_1(server: RestServer) -> None:
    said = {"inputs": [as_bytes(np.array([True, False]), "BOOL")]}
    refused(server.infer("echo", said, b"\x01\x02"), 400, "a byte of a BOOL is 0 or 1")


def test_the_header_that_tells_where_the_json_ends(server: RestServer) -> None:
    head = json.dumps({"inputs": [as_bytes(X, "FP32")]}).encode()
    path, body = "/v2/models/double/infer", head + X.tobytes()
    refused(
        server.ask("POST", path, head),
        400,
        "input 'x' has binary_data_size, but the header",
        "is missing",
    )
    refused(server.ask("POST", path, body), 400, "when tensors follow it", HEADER_LENGTH)
    for length in ("-5", "1e3", "", "12a", "9" * 30, "²"):
        refused(
            server.ask("POST", path, body, {HEADER_LENGTH: length}),
            400,
            "it is the number of bytes of the JSON",
        )
    refused(
        server.ask("POST", path, body, {HEADER_LENGTH: "5000"}),
        400,
        f"is 5000, but the body has {len(body)} bytes",
    )
    refused(
        server.ask("POST", path, body, {HEADER_LENGTH: str(len(head) - 1)}),
        400,
        f"in its first {len(head) - 1} bytes",
    )
    assert server.ask("POST", path, body, {HEADER_LENGTH: str(len(head))}).status == 200


@pytest.mark.parametrize("timeout", ["soon", "0", "-1", "nan", "inf", ""])
def test_a_timeout_that_is_none(server: RestServer, timeout: str) -> None:
    answer = server.infer("double", {"inputs": [tensor()]}, headers={"Request-Timeout": timeout})
    refused(answer, 400, "Request-Timeout", "a number of seconds above 0")


def test_a_model_that_is_not_there_is_said_before_the_body_is_read(server: RestServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(
            b"POST /v2/models/nope/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n"
        )
        assert client.recv(65536).startswith(b"HTTP/1.1 404 ")
    refused(server.infer("double/versions/2", {}), 404, "there is no model 'double' of version '2'")
    refused(server.infer("..%2F..%2Fetc", {}), 404, "there is no model")


def test_a_body_that_is_too_large(server: RestServer) -> None:
    told = (
        f"the body has more than {MOST} bytes (max_message_bytes): split the batch into several "
        "requests"
    )
    refused(server.infer("double", b"x" * (MOST + 1)), 413, told)
    pieces = [b"x" * 10_000] * 11
    refused(
        server.ask(
            "POST", "/v2/models/double/infer", iter(pieces), {"Transfer-Encoding": "chunked"}
        ),
        413,
        told,
    )


def test_json_has_a_limit_of_its_own(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_requests, "JSON_MOST", 500)
    refused(
        server.infer("double", b" " * 501),
        413,
        "the JSON has 501 bytes, 500 are parsed: send tensors as binary data",
    )
    big = np.zeros((200, 3), np.float32)
    assert server.infer("double", {"inputs": [as_bytes(big, "FP32")]}, big.tobytes()).status == 200


def test_all_bodies_together_have_a_limit(server: RestServer) -> None:
    body = json.dumps({"inputs": [tensor()]}).encode() + b" " * 60_000
    request = (
        b"POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        % len(body)
        + body
    )
    bodies = server.runner.app[rest_bodies.BODIES]
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.sendall(request[:-10])
        wait_until(lambda: bodies.held >= 60_000)
        refused(
            server.infer("double", body),
            429,
            f"the server is receiving {MOST} bytes of requests already",
        )
        slow.sendall(request[-10:])
        assert slow.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert server.infer("double", body).status == 200
    assert bodies.held == 0


def test_a_client_that_falls_silent(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_bodies, "SILENCE", 0.05)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(
            b"POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nabc"
        )
        received = client.recv(65536)
        assert received.startswith(b"HTTP/1.1 408 ")
        assert b"nothing of the body came for 0.05 seconds" in received


def test_a_body_that_drips_does_not_keep_others_out() -> None:
    settings = Settings(max_message_bytes=MOST, max_queue_bytes=MOST, max_body_seconds=0.5)
    with RestServer(dict(FUNCTIONS), {"double": MLP}, settings) as server:
        body, received = json.dumps({"inputs": [tensor()]}).encode().ljust(60_000), b""
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            client.sendall(
                b"POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n"
                + body
            )
            wait_until(lambda: server.runner.app[rest_bodies.BODIES].held >= 60_000)
            refused(server.infer("double", body), 429, "try again later")
            client.settimeout(0.01)
            for _ in range(3000):  # a byte each hundredth of a second
                try:
                    received = client.recv(65536)
                    break
                except TimeoutError:
                    client.sendall(b" ")
        assert received.startswith(b"HTTP/1.1 408 "), received
        assert b"the body has not come within 0.5 seconds (max_body_seconds)" in received
        assert server.infer("double", body).status == 200


def test_a_client_that_does_not_read_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_bodies, "SILENCE", 0.05)
    with RestServer({"large": lambda x: internals.zeros(8_000_000)}) as server:
        body = json.dumps(
            {"inputs": [tensor()], "parameters": {"binary_data_output": True}}
        ).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            client.sendall(
                b"POST /v2/models/large/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                % len(body)
                + body
            )
            received = 0
            wait_until(lambda: server.engine.seen and not connections(server))
            try:
                while piece := client.recv(1 << 20):
                    received += len(piece)
            except ConnectionResetError:
                pass
        assert received < 32_000_000
        assert server.ask("GET", "/v2/health/live").status == 200


def connections(server: RestServer) -> list[Any]:
    inner: Any = server.runner.server
    return list(inner.connections)


def test_chunked_bodies(server: RestServer) -> None:
    head = json.dumps({"inputs": [as_bytes(X, "FP32")]}).encode()
    body = head + X.tobytes()
    pieces = [body[i : i + 7] for i in range(0, len(body), 7)]
    headers = {HEADER_LENGTH: str(len(head)), "Transfer-Encoding": "chunked"}
    answer = server.ask("POST", "/v2/models/double/infer", iter(pieces), headers)
    assert answer.json()["outputs"][0]["data"] == [2, 4, 6]
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(
            b"POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
            b"chunked\r\n\r\nzz\r\n"
        )
        assert client.recv(65536).split()[1] == b"400"


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_compressed_bodies(server: RestServer, encoding: str, compress: Any) -> None:
    head = json.dumps({"inputs": [as_bytes(X, "FP32")]}).encode()
    packed = compress(head + X.tobytes())
    headers = {HEADER_LENGTH: str(len(head)), "Content-Encoding": encoding}
    path = "/v2/models/double/infer"
    assert server.ask("POST", path, packed, headers).json()["outputs"][0]["data"] == [2, 4, 6]
    for broken in (packed[:-20], packed[:-1], packed + b"!", b"no such thing at all"):
        refused(
            server.ask("POST", path, broken, headers), 400, "not encoded as", "Content-Encoding"
        )


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_compressed_body_that_is_cut_short(
    server: RestServer, encoding: str, compress: Any, apart: bool
) -> None:
    """Whether it comes with the headers or after the handler has begun to wait for it."""
    body = compress(json.dumps({"inputs": [as_json(X, "FP32")]}).encode())[:-3]
    said = [f"POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"]
    said += [f"Content-Encoding: {encoding}", *["Expect: 100-continue"] * apart]
    head = ("\r\n".join(said) + "\r\n\r\n").encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(head if apart else head + body)
        if apart:
            assert client.recv(65536).split()[1] == b"100"  # from here on the handler waits
            client.sendall(body)
        assert client.recv(65536).split()[1] == b"400"


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_a_bomb_is_stopped_at_the_limit(server: RestServer, encoding: str, compress: Any) -> None:
    packed = compress(b" " * 50_000_000)
    assert len(packed) < MOST
    answer = server.ask("POST", "/v2/models/double/infer", packed, {"Content-Encoding": encoding})
    refused(answer, 413, f"the body has more than {MOST} bytes")
    assert server.runner.app[rest_bodies.BODIES].held == 0


def test_an_encoding_that_is_not_known(server: RestServer) -> None:
    answer = server.ask("POST", "/v2/models/double/infer", b"abc", {"Content-Encoding": "rot13"})
    refused(answer, 415, "a body may be encoded as identity, gzip, deflate, not as 'rot13'")


def test_expect_100_continue(server: RestServer) -> None:
    body = json.dumps({"inputs": [tensor()]}).encode()
    start = (
        b"POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nExpect: %s\r\nContent-Length: "
        b"%d\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(start % (b"100-continue", len(body)))
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    for expected, length, status in ((b"100-continue", MOST + 1, b"413"), (b"miracles", 5, b"417")):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            client.sendall(start % (expected, length))
            received = client.recv(65536)
            assert received.startswith(b"HTTP/1.1 %s " % status)
            assert b'{"error":"' in received


def test_nothing_of_a_request_is_in_the_log() -> None:
    secret = "s3cr3t-t0ken"
    with RestServer(
        dict(FUNCTIONS), settings=Settings(token=secret, nan_policy="reject")
    ) as server:
        values = np.array([31337.5, np.nan], np.float32)
        headers = {"Authorization": f"Bearer {secret}"}
        for model in ("echo", "nope", secret, "fail"):
            server.infer(model, {"inputs": [as_bytes(values, "FP32")]}, values.tobytes(), headers)
            server.infer(
                model, {"inputs": [as_json(np.array([31337.5]), "INT32")]}, headers=headers
            )
            server.infer(
                model,
                {"inputs": [as_json(np.array([31337.5]), "FP32")], "id": secret},
                headers=headers,
            )
        server.ask("GET", "/v2/" + secret, headers=headers)
        written = server.engine.written.getvalue()
    assert written.count("request_failed") == 10
    assert "31337" not in written
    assert secret not in written
