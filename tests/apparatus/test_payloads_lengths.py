"""Lengths that are computed are the lengths that are written."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, strategies as st

from apparatus.payloads import lengths


@given(st.binary(max_size=1000))
def test_base64(payload: bytes) -> None:
    assert lengths.base64(len(payload)) == len(base64.b64encode(payload))
    in_lines = base64.encodebytes(payload)
    assert lengths.base64_mime(len(payload), 1) == len(in_lines)
    assert lengths.base64_mime(len(payload)) == len(in_lines.replace(b"\n", b"\r\n"))


@pytest.mark.parametrize("nbytes", [0, 1, 2, 3, 56, 57, 58, 114, 115])
def test_base64_at_its_edges(nbytes: int) -> None:
    assert lengths.base64(nbytes) == len(base64.b64encode(bytes(nbytes)))
    assert lengths.base64_mime(nbytes, 1) == len(base64.encodebytes(bytes(nbytes)))


def test_base64_needs_no_escapes_in_json() -> None:
    letters = base64.b64encode(bytes(range(256)) * 3).decode()
    assert len(json.dumps(letters)) == lengths.base64(768) + 2


def test_the_talks_batch() -> None:
    """128 images of 3 x 224 x 224 float32: "~74 MB" and a third more."""
    batch = 128 * 3 * 224 * 224 * 4
    assert batch == 77_070_336 and round(batch / 2**20, 1) == 73.5
    assert lengths.base64(batch) == 102_760_448
    assert round(lengths.base64(batch) / batch - 1, 3) == 0.333
    assert round(lengths.base64_mime(batch) / batch - 1, 3) == 0.368
    assert lengths.protobuf_bytes(batch, 2) - batch == 1 + 4


@pytest.mark.parametrize(
    "value, length",
    [
        (0, 1),
        (127, 1),
        (128, 2),
        (300, 2),
        (1 << 14, 3),
        (2**28 - 1, 4),
        (2**28, 5),
        (2**64 - 1, 10),
        (-1, 10),
    ],
)
def test_varint(value: int, length: int) -> None:
    assert lengths.varint(value) == length


@given(
    st.binary(max_size=400),
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=9),
    st.integers(-(1 << 31), (1 << 31) - 1),
)
def test_as_protobuf_writes_them(content: bytes, numbers: list[int], number: int) -> None:
    pytest.importorskip("grpc_tools", reason="the extra `serving` is not installed")
    from internals.serving.protocol.schema import open_inference

    schema = open_inference()
    request = schema.ModelInferRequest(raw_input_contents=[content])
    assert request.ByteSize() == lengths.protobuf_bytes(len(content), 7)
    assert schema.InferTensorContents(int64_contents=numbers).ByteSize() == lengths.packed(
        numbers, 3
    )
    if number:
        assert schema.InferParameter(int64_param=number).ByteSize() == 1 + lengths.varint(number)
