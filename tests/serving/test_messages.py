"""A ModelInferRequest as protobuf writes it becomes tensors on its own bytes; a response is what
protobuf reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

pytest.importorskip("grpc_tools", reason="the extra `serving` is not installed")

import internals as torch
from internals.serving.client import read_response, write_request
from internals.serving.errors import InvalidRequest
from internals.serving.inference import InferResponse
from internals.serving.protocol.messages import read_request, write_response, write_stream_response
from internals.serving.protocol.schema import open_inference
from internals.serving.settings import Settings

SETTINGS = Settings()
SCHEMA = open_inference()


def request(*inputs: dict[str, Any], raw: list[bytes] | None = None, **fields: Any) -> bytes:
    message = SCHEMA.ModelInferRequest(model_name="m", **fields)
    for given_input in inputs:
        message.inputs.add(**given_input)
    message.raw_input_contents.extend(raw or [])
    content: bytes = message.SerializeToString()
    return content


def test_a_tensor_stays_where_it_is_in_the_message() -> None:
    x = torch.arange(12.0).view(3, 4)
    message = write_request("m", {"x": x}, "2", id="seven", outputs=["y"])
    read, copies = read_request(message, SETTINGS)
    begin = np.frombuffer(message, np.uint8).__array_interface__["data"][0]
    offset = message.index(x.numpy().tobytes())
    assert read.inputs["x"].data_ptr() == begin + offset
    assert copies == [(True, 48)]
    assert (read.model, read.version, read.id, read.outputs) == ("m", "2", "seven", ("y",))
    assert read.inputs["x"].tolist() == x.tolist()


@given(
    st.lists(
        st.sampled_from([torch.float32, torch.float64, torch.int8, torch.int64]),
        min_size=1,
        max_size=5,
    ),
    st.text(max_size=9),
)
def test_our_client_aligns_every_tensor(dtypes: list[Any], name: str) -> None:
    tensors = {f"{name}{i}": torch.ones(i + 1, 3, dtype=dtype) for i, dtype in enumerate(dtypes)}
    message = write_request(name, tensors)
    read, copies = read_request(message, SETTINGS)
    assert all(zero_copy for zero_copy, _ in copies)
    assert {key: t.tolist() for key, t in read.inputs.items()} == {
        key: t.tolist() for key, t in tensors.items()
    }
    # whoever does not know the padding skips it
    assert SCHEMA.ModelInferRequest.FromString(message).model_name == name


def test_elements_may_come_as_fields() -> None:
    message = request(
        {
            "name": "x",
            "datatype": "FP32",
            "shape": [2, 1],
            "contents": {"fp32_contents": [1.5, -2]},
        },
        {"name": "y", "datatype": "INT8", "shape": [3], "contents": {"int_contents": [1, -2, 127]}},
        {"name": "z", "datatype": "BOOL", "shape": [1], "contents": {"bool_contents": [True]}},
        {"name": "none", "datatype": "INT64", "shape": [0]},
    )
    read, copies = read_request(message, SETTINGS)
    assert {name: t.tolist() for name, t in read.inputs.items()} == {
        "x": [[1.5], [-2.0]],
        "y": [1, -2, 127],
        "z": [True],
        "none": [],
    }
    assert not any(zero_copy for zero_copy, _ in copies)


X = {"name": "x", "datatype": "FP32", "shape": [1]}


@pytest.mark.parametrize(
    "message, why",
    [
        (b"\x0a\xff", "not a ModelInferRequest"),
        (b"\x0a\x01\xff", "not a ModelInferRequest"),  # a string that is not UTF-8
        (request(X, raw=[b"abcd", b"abcd"]), "there are 1 inputs, but raw_input_contents for 2"),
        (request(X, X, raw=[b"abcd", b"abcd"]), "input 'x' is there twice"),
        (
            request({**X, "contents": {"fp32_contents": [1]}}, raw=[b"abcd"]),
            "has contents and raw_input_contents",
        ),
        (
            request({**X, "contents": {"fp64_contents": [1]}}),
            "are in fp32_contents, not in fp64_contents",
        ),
        (
            request({**X, "datatype": "FP16", "contents": {}}),
            "FP16 comes in raw_input_contents only",
        ),
        (request({**X, "datatype": "STRING"}), "datatype 'STRING' is not served"),
        (
            request({**X, "datatype": "INT8", "contents": {"int_contents": [128]}}),
            "does not fit the datatype INT8",
        ),
        (request({**X, "shape": [-4]}, raw=[b"abcd"]), "sizes are 0 or more"),
    ],
)
def test_what_contradicts_itself_is_refused(message: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        read_request(message, SETTINGS)


def test_a_response_is_what_protobuf_reads() -> None:
    y, n = torch.arange(6.0).view(2, 3), torch.tensor(7)
    message = write_response(
        InferResponse("m", "1", {"y": y.t(), "n": n, "none": torch.zeros(0, 2)}, id="a")
    )
    read = SCHEMA.ModelInferResponse.FromString(message)
    assert (read.model_name, read.model_version, read.id) == ("m", "1", "a")
    assert [(o.name, o.datatype, list(o.shape)) for o in read.outputs] == [
        ("y", "FP32", [3, 2]), ("n", "INT64", []), ("none", "FP32", [0, 2])
    ]  # fmt: skip
    assert read.raw_output_contents[0] == np.arange(6, dtype=np.float32).reshape(2, 3).T.tobytes()
    assert {name: t.tolist() for name, t in read_response(message).items()} == {
        "y": y.t().tolist(),
        "n": 7,
        "none": [],
    }


def test_a_streams_response_wraps_one() -> None:
    inner = write_response(InferResponse("m", "1", {"y": torch.ones(2)}))
    read = SCHEMA.ModelStreamInferResponse.FromString(write_stream_response(inner))
    assert read.infer_response.SerializeToString() == inner and read.error_message == ""
    assert (
        SCHEMA.ModelStreamInferResponse.FromString(write_stream_response(error="no")).error_message
        == "no"
    )


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_refused(content: bytes) -> None:
    try:
        read_request(content, SETTINGS)
    except InvalidRequest:
        pass
