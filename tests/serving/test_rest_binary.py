"""The binary tensor extension: bytes behind the JSON, that are the tensor on the way in and the
tensor's on the way out.
"""

from __future__ import annotations

import asyncio.selector_events as selector_events
import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")

import internals
from internals.serving.models.signature import Signature, TensorSpec
from internals.serving.protocol.datatypes import DTYPES
from internals.serving.transport.rest_requests import HEADER_LENGTH
from tests.serving.rest_support import FUNCTIONS, MLP, Answer, RestServer, as_bytes, as_json

IMAGE = Signature((TensorSpec("image", internals.uint8, (-1, 2, 3)),))
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def server() -> Iterator[RestServer]:
    functions = {
        **FUNCTIONS,
        "image": FUNCTIONS["echo"],
        "text": lambda x: x.type(internals.complex64),
    }
    with RestServer(functions, {"double": MLP, "image": IMAGE}) as server:
        yield server


def outputs(answer: Answer) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of an answer: from its JSON, or from the bytes that follow."""
    assert answer.status == 200, answer.body
    length = int(answer.headers.get(HEADER_LENGTH, len(answer.body)))
    said, rest, position = json.loads(answer.body[:length]), answer.body[length:], 0
    found = {}
    for output in said["outputs"]:
        dtype = DTYPES[output["datatype"]].np
        size = output.get("parameters", {}).get("binary_data_size")
        if size is None:
            array = np.array(output["data"], dtype)
        else:
            array = np.frombuffer(rest[position : position + size], dtype)
            position += size
        found[output["name"]] = array.reshape(output["shape"])
    assert position == len(rest)
    return found


def all_as_bytes(*inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"inputs": list(inputs), "parameters": {"binary_data_output": True}, **more}


def test_bytes_in_and_out(server: RestServer) -> None:
    answer = server.infer("double", all_as_bytes(as_bytes(X, "FP32")), X.tobytes())
    assert answer.headers["Content-Type"] == "application/octet-stream"
    np.testing.assert_array_equal(outputs(answer)["y"], X * 2)
    head = answer.body[: int(answer.headers[HEADER_LENGTH])]
    assert json.loads(head)["outputs"] == [
        {"name": "y", "datatype": "FP32", "shape": [2, 3], "parameters": {"binary_data_size": 24}}
    ]


@pytest.mark.parametrize("datatype", DTYPES)
def test_every_datatype_goes_both_ways(server: RestServer, datatype: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(DTYPES[datatype].np)
    answer = server.infer("echo", all_as_bytes(as_bytes(array, datatype)), array.tobytes())
    back = outputs(answer)["y0"]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    answer = server.infer("echo", {"inputs": [as_json(array, datatype)]})
    np.testing.assert_array_equal(outputs(answer)["y0"], array)


def test_json_and_bytes_in_one_request(server: RestServer) -> None:
    a, b, c = X, np.arange(4, dtype=np.int64), np.array([True, False])
    said = {
        "inputs": [as_bytes(a, "FP32", "a"), as_json(b, "INT64", "b"), as_bytes(c, "BOOL", "c")],
        "outputs": [{"name": "y0"}, {"name": "y1", "parameters": {"binary_data": True}}],
    }
    answer = server.infer("echo", said, a.tobytes() + c.tobytes())
    found = outputs(answer)
    np.testing.assert_array_equal(found["y0"], a)
    np.testing.assert_array_equal(found["y1"], b)
    np.testing.assert_array_equal(found["y2"], c)
    described = json.loads(answer.body[: int(answer.headers[HEADER_LENGTH])])["outputs"]
    assert ["data" in output for output in described] == [True, False, True]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1, 1)])
def test_no_dimension_and_no_element(server: RestServer, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.float64)
    for said, behind in (
        (all_as_bytes(as_bytes(array, "FP64")), array.tobytes()),
        ({"inputs": [as_json(array.reshape(-1), "FP64") | {"shape": list(shape)}]}, b""),
    ):
        headers = {HEADER_LENGTH: str(len(json.dumps(said)))} if "parameters" in said else {}
        back = outputs(server.infer("echo", said, behind, headers))["y0"]
        assert back.shape == shape
        np.testing.assert_array_equal(back, array)


@given(padding=st.integers(0, 64), count=st.integers(1, 2000))
def test_the_first_tensor_is_never_copied_whatever_the_length_of_the_json(
    server: RestServer, padding: int, count: int
) -> None:
    array = np.arange(count, dtype=np.float64)
    not_copied = server.engine.metrics.value("internals_input_bytes_total", copied="0")
    server.infer("echo", all_as_bytes(as_bytes(array, "FP64"), note="a" * padding), array.tobytes())
    tensor = server.engine.inputs["x"]
    assert tensor.data_ptr() % 16 == 0
    assert (
        server.engine.metrics.value("internals_input_bytes_total", copied="0")
        == not_copied + array.nbytes
    )


def test_the_tensors_of_a_request_lie_in_its_one_buffer(server: RestServer) -> None:
    a, b = X, np.arange(10, dtype=np.float64)
    server.infer(
        "echo",
        all_as_bytes(as_bytes(a, "FP32", "a"), as_bytes(b, "FP64", "b")),
        a.tobytes() + b.tobytes(),
    )
    one, other = server.engine.inputs.values()
    assert other.data_ptr() - one.data_ptr() == a.nbytes


def test_a_tensor_at_an_odd_address_is_copied_once_and_counted(server: RestServer) -> None:
    a, b = np.arange(3, dtype=np.uint8), X
    value = server.engine.metrics.value
    before = [value("internals_input_bytes_total", copied=copied) for copied in "01"]
    said = all_as_bytes(as_bytes(a, "UINT8", "a"), as_bytes(b, "FP32", "b"))
    answer = server.infer("echo", said, a.tobytes() + b.tobytes())
    np.testing.assert_array_equal(outputs(answer)["y1"], b)
    assert [value("internals_input_bytes_total", copied=copied) for copied in "01"] == [
        before[0] + 3,
        before[1] + 24,
    ]
    assert server.engine.inputs["b"].data_ptr() % 4 == 0


def test_what_goes_to_the_socket_is_the_memory_of_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By address: each piece that asyncio's transport is given lies in a tensor, and together they
    are the tensors.
    """
    made = [
        internals.arange(100_000, dtype=internals.float64),
        internals.arange(7, dtype=internals.int8),
    ]
    written: list[tuple[int, int]] = []
    events: Any = selector_events
    transport = events._SelectorSocketTransport
    write = transport.write

    def listening(self: Any, data: Any) -> None:
        if isinstance(data, memoryview):
            written.append(
                (np.frombuffer(data, np.uint8).__array_interface__["data"][0], data.nbytes)
            )
        write(self, data)

    with RestServer({"made": lambda x: {"a": made[0], "b": made[1]}}) as server:
        monkeypatch.setattr(transport, "write", listening)
        found = outputs(server.infer("made", all_as_bytes(as_bytes(X, "FP32")), X.tobytes()))
        monkeypatch.undo()
    np.testing.assert_array_equal(found["a"], np.arange(100_000))
    for tensor in made:
        start, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
        pieces = [(address, size) for address, size in written if start <= address < end]
        assert sum(size for _, size in pieces) == tensor.nbytes
        assert [address for address, _ in pieces] == [
            start + sum(size for _, size in pieces[:i]) for i in range(len(pieces))
        ]


def test_an_output_with_gaps_is_put_together(server: RestServer) -> None:
    with RestServer({"transposed": lambda x: x.t()}) as server:
        found = outputs(server.infer("transposed", all_as_bytes(as_bytes(X, "FP32")), X.tobytes()))
    np.testing.assert_array_equal(found["y"], X.T)


def test_one_body_without_json_is_the_only_input(server: RestServer) -> None:
    pixels = np.arange(12, dtype=np.uint8)
    answer = server.infer("image", b"", pixels.tobytes(), {HEADER_LENGTH: "0"})
    np.testing.assert_array_equal(outputs(answer)["y0"], pixels.reshape(2, 2, 3))
    assert list(server.engine.inputs) == ["image"]
    answer = server.infer("image", b"", pixels.tobytes()[:-1], {HEADER_LENGTH: "0"})
    assert answer.status == 400
    assert (
        answer.error
        == "input 'image': UINT8 [1, 2, 3] takes 6 bytes, the request has 11 bytes for it"
    )
    answer = server.infer("echo", b"", pixels.tobytes(), {HEADER_LENGTH: "0"})
    assert answer.status == 400
    assert "a model with one input, of known datatype and shape" in answer.error


def test_base64_as_the_tutorials_have_it(server: RestServer) -> None:
    said = {
        "name": "x",
        "datatype": "FP32",
        "shape": [2, 3],
        "data": {"b64": base64.b64encode(X.tobytes()).decode()},
    }
    np.testing.assert_array_equal(outputs(server.infer("double", {"inputs": [said]}))["y"], X * 2)
    for wrong in ("AAA", "AAAA\n", "A*==", 5, None):
        answer = server.infer("double", {"inputs": [said | {"data": {"b64": wrong}}]})
        assert answer.status == 400
        assert "b64" in answer.error
    answer = server.infer("double", {"inputs": [said | {"data": {"b64": "AAAA"}}]})
    assert answer.error == "input 'x': FP32 [2, 3] takes 24 bytes, the request has 3 bytes for it"


def test_an_output_that_the_protocol_has_no_name_for(server: RestServer) -> None:
    answer = server.infer("text", {"inputs": [as_json(X, "FP32")]})
    assert answer.status == 500
    assert "output 'y'" in answer.error and "complex64" in answer.error
