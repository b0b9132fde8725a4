"""Bytes become a tensor where they are, or a refusal that names what is wrong."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.serving.errors import InvalidRequest
from internals.serving.protocol.datatypes import DATATYPES, DTYPES, datatype_of
from internals.serving.protocol.policies import arrange, tensor_from_elements, tensor_from_memory
from internals.serving.settings import Settings

ACCEPT, REJECT = Settings(), Settings(nan_policy="reject")


def address(memory: Any) -> int:
    found: int = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
    return found


@pytest.mark.parametrize("datatype", DTYPES)
def test_aligned_memory_is_the_tensor(datatype: str) -> None:
    content = bytes(DTYPES[datatype].itemsize * 6)
    tensor, zero_copy = tensor_from_memory(content, datatype, (2, 3), "x", ACCEPT)
    assert zero_copy and tensor.data_ptr() == address(content)
    assert tensor.shape == (2, 3) and tensor.dtype is DTYPES[datatype]


@given(
    st.sampled_from([d for d in DTYPES if d != "BOOL"]),
    st.integers(0, 16),
    st.lists(st.integers(0, 4), max_size=4),
)
def test_the_elements_are_those_of_the_bytes_at_any_offset(
    datatype: str, offset: int, shape: list[int]
) -> None:
    nbytes = math.prod(shape) * DTYPES[datatype].itemsize
    content = np.random.default_rng(0).integers(0, 255, offset + nbytes, np.uint8).tobytes()
    tensor, zero_copy = tensor_from_memory(
        memoryview(content)[offset:], datatype, shape, "x", ACCEPT
    )
    assert tensor.numpy().tobytes() == content[offset:]
    if nbytes:
        aligned = (address(content) + offset) % DTYPES[datatype].itemsize == 0
        assert zero_copy == aligned == (tensor.data_ptr() == address(content) + offset)
        assert tensor.data_ptr() % DTYPES[datatype].itemsize == 0


def test_the_tensor_keeps_the_message_alive() -> None:
    content = np.arange(100_000, dtype=np.float32).tobytes()
    tensor, _ = tensor_from_memory(memoryview(content), "FP32", (100_000,), "x", ACCEPT)
    del content
    assert float(tensor[-1]) == 99_999.0


@pytest.mark.parametrize(
    "datatype, shape, nbytes, why",
    [
        ("FP32", (2, 3), 23, r"FP32 \[2, 3\] takes 24 bytes, the request has 23 bytes for it"),
        ("FP32", (-1, 3), 12, "sizes are 0 or more"),
        ("FP32", (1,) * 65, 4, "at most 64"),
        ("FP32", (1 << 40, 1 << 40), 4, "larger than any memory"),
        ("FP32", (0, 1 << 62), 0, "larger than any memory"),
        ("BYTES", (1,), 5, "datatype 'BYTES' is not served; these are: BOOL, UINT8"),
        ("", (1,), 4, "datatype '' is not served"),
        ("fp32", (1,), 4, "datatype 'fp32' is not served"),
    ],
)
def test_what_does_not_fit_is_named(
    datatype: str, shape: tuple[int, ...], nbytes: int, why: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"input 'x': .*{why}"):
        tensor_from_memory(bytes(nbytes), datatype, shape, "x", ACCEPT)


def test_a_bool_is_0_or_1() -> None:
    assert tensor_from_memory(b"\0\1", "BOOL", (2,), "x", ACCEPT)[0].tolist() == [False, True]
    with pytest.raises(InvalidRequest, match="a byte of a BOOL is 0 or 1"):
        tensor_from_memory(b"\0\2", "BOOL", (2,), "x", ACCEPT)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
def test_nan_is_the_operators_to_judge(datatype: str, value: float) -> None:
    array = np.zeros((2, 3), DTYPES[datatype].np)
    assert tensor_from_memory(array.tobytes(), datatype, (2, 3), "x", REJECT)[1]
    array[1, 2] = value
    assert np.array_equal(
        tensor_from_memory(array.tobytes(), datatype, (2, 3), "x", ACCEPT)[0].numpy(),
        array,
        equal_nan=True,
    )
    with pytest.raises(InvalidRequest, match=r"input 'x' is not finite at \[1, 2\]"):
        tensor_from_memory(array.tobytes(), datatype, (2, 3), "x", REJECT)


def test_elements_convert_where_nothing_is_lost() -> None:
    assert tensor_from_elements([[1, 2], [3, 4]], "FP32", (2, 2), "x", ACCEPT).tolist() == [
        [1.0, 2.0],
        [3.0, 4.0],
    ]
    assert tensor_from_elements([1, 2, 3, 4], "INT8", (2, 2), "x", ACCEPT).dtype is torch.int8
    assert tensor_from_elements([], "INT64", (0, 2), "x", ACCEPT).shape == (0, 2)
    assert tensor_from_elements([True], "BOOL", (1,), "x", ACCEPT).tolist() == [True]


@pytest.mark.parametrize(
    "elements, datatype, shape, why",
    [
        ([[1], [2, 3]], "FP32", (3,), "not equally long"),
        ([1.5], "INT32", (1,), "not all of the datatype INT32"),
        (["1"], "FP32", (1,), "not all of the datatype FP32"),
        ([None], "FP32", (1,), "not all of the datatype FP32"),
        ([1], "BOOL", (1,), "not all of the datatype BOOL"),
        ([300], "UINT8", (1,), "does not fit the datatype UINT8"),
        ([-1], "UINT8", (1,), "does not fit the datatype UINT8"),
        ([1 << 70], "INT64", (1,), "not all of the datatype INT64"),
        ([1, 2], "FP32", (3,), r"\[3\] has 3 elements, the request has 2"),
    ],
)
def test_elements_that_do_not_are_refused(
    elements: list[Any], datatype: str, shape: tuple[int, ...], why: str
) -> None:
    with pytest.raises(InvalidRequest, match=why):
        tensor_from_elements(elements, datatype, shape, "x", ACCEPT)


def spec(name: str, dtype: Any = None, shape: Any = None) -> Any:
    return SimpleNamespace(name=name, dtype=dtype, shape=shape)


def test_inputs_are_arranged_by_the_signature() -> None:
    a, b = torch.zeros(1, 2), torch.zeros(3, dtype=torch.int64)
    signature: Any = SimpleNamespace(inputs=(spec("a", torch.float32, (-1, 2)), spec("b")))
    assert list(arrange({"b": b, "a": a}, signature)) == ["a", "b"]
    assert arrange({"INPUT__1": b, "INPUT__0": a}, signature)["b"] is b
    for inputs, why in [
        ({"a": a}, "input 'b' is missing; the model takes a, b"),
        ({"a": a, "b": b, "c": a}, "no input 'c'; it has a, b"),
        (
            {"a": a, "b": b, "INPUT__0": a},
            "there twice, by its name and by its number: a, b, INPUT__0",
        ),
        ({"a": b, "b": b}, "input 'a' is INT64, the model takes FP32"),
        (
            {"a": torch.zeros(1, 3), "b": b},
            r"input 'a' has the shape \[1, 3\], the model takes \[-1, 2\]",
        ),
        ({"a": torch.zeros(2), "b": b}, r"shape \[2\], the model takes \[-1, 2\]"),
    ]:
        with pytest.raises(InvalidRequest, match=why):
            arrange(inputs, signature)


def test_every_datatype_has_a_dtype_and_back() -> None:
    assert {DATATYPES[dtype]: dtype for dtype in DATATYPES} == DTYPES
    with pytest.raises(TypeError, match="complex64 has no name"):
        datatype_of(torch.complex64)
