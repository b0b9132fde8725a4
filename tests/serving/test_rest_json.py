"""Tensors in JSON: nesting, types of elements, and the numbers that JSON does not have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")

import internals
from internals.serving.errors import InvalidRequest
from internals.serving.protocol.datatypes import DTYPES
from internals.serving.settings import Settings
from internals.serving.transport.rest_tensors import elements_to_json, tensor_from_json
from tests.serving.rest_support import FUNCTIONS, RestServer

SETTINGS = Settings()


@pytest.fixture(scope="module")
def server() -> Iterator[RestServer]:
    with RestServer(dict(FUNCTIONS)) as server:
        yield server


def read(data: Any, datatype: str, shape: list[int], settings: Settings = SETTINGS) -> Any:
    tensor, zero_copy = tensor_from_json(data, datatype, shape, "x", settings)
    assert not zero_copy
    assert list(tensor.shape) == shape
    assert tensor.dtype is DTYPES[datatype]
    return tensor


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        ([1, 2, 3, 4, 5, 6], [2, 3]),
        ([[1, 2, 3], [4, 5, 6]], [2, 3]),
        ([[[1], [2], [3]], [[4], [5], [6]]], [2, 3, 1]),
        ([1, 2, 3, 4, 5, 6], [6]),
    ],
)
@pytest.mark.parametrize("datatype", ["FP32", "INT64", "UINT8", "FP16"])
def test_flat_or_nested_as_the_shape_says(data: Any, shape: list[int], datatype: str) -> None:
    assert read(data, datatype, shape).flatten().tolist() == [1, 2, 3, 4, 5, 6]


def test_nothing_and_one() -> None:
    assert read([], "FP32", [0]).numel() == 0
    assert read([[], []], "FP32", [2, 0]).numel() == 0
    assert read([], "BOOL", [0, 5]).numel() == 0
    assert read([5], "INT8", []).item() == 5


@pytest.mark.parametrize(
    ("data", "datatype", "shape", "told"),
    [
        ([[1, 2], [3]], "FP32", [2, 2], "neither flat nor nested as its shape [2, 2] says"),
        ([[1, 2, 3], [4, 5, 6]], "FP32", [3, 2], "neither flat nor nested"),
        ([[1, 2], 3], "FP32", [2, 2], "neither flat nor nested"),
        ([[1, 2], "ab"], "FP32", [2, 2], "neither flat nor nested"),
        ([[[1], [2]]], "FP32", [1, 2], "its data has a list"),
        ([1, 2, 3], "FP32", [2, 2], "[2, 2] has 4 elements, its data has 3"),
        ([], "FP32", [1], "[1] has 1 elements, its data has 0"),
        ([1, [2]], "FP32", [2], "an element of FP32 is a number"),
        ([1, None], "FP32", [2], "its data has null"),
        ([1, {}], "FP32", [2], "its data has an object"),
        ([1, "2"], "FP32", [2], "its data has a string"),
        (["nan", 1], "FP32", [2], "its data has a string"),
        (
            [1.0, 2],
            "INT32",
            [2],
            "an element of INT32 is an integer, its data has a number with a fraction",
        ),
        ([True, 2], "INT32", [2], "its data has true or false"),
        ([True, 2.0], "FP32", [2], "its data has true or false"),
        ([0, 1], "BOOL", [2], "an element of BOOL is true or false, its data has an integer"),
        (["NaN"], "INT32", [1], "its data has a string"),
        ([256], "UINT8", [1], "a number is out of the range of UINT8"),
        ([-1], "UINT8", [1], "a number is out of the range of UINT8"),
        ([1 << 63], "INT64", [1], "a number is out of the range of INT64"),
        ([10**400], "FP64", [1], "a number is out of the range of FP64"),
        ("text", "FP32", [1], "data is a list of elements, or an object with 'b64', not a string"),
        (5, "FP32", [], "not an integer"),
        ({"b65": "AAAA"}, "FP32", [1], "one key, 'b64'"),
        ([1], "FP31", [1], "datatype 'FP31' is not served"),
        (["a"], "BYTES", [1], "datatype 'BYTES' is not served"),
        ([1], "FP32", [-1], "sizes are 0 or more"),
        ([], "FP32", [0, 2**62, 2**62], "larger than any memory"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    data: Any, datatype: str, shape: list[int], told: str
) -> None:
    with pytest.raises(InvalidRequest) as error:
        tensor_from_json(data, datatype, shape, "x", SETTINGS)
    assert str(error.value).startswith("input 'x'")
    assert told in str(error.value)


def test_a_long_string_among_numbers_does_not_widen_the_others() -> None:
    data: list[Any] = [0.5] * 100_000
    data[7] = "a" * 1_000_000  # as an array of strings this would take 400 GB
    with pytest.raises(InvalidRequest, match="its data has a string"):
        tensor_from_json(data, "FP32", [100_000], "x", SETTINGS)


@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
def test_what_json_has_no_number_for_is_spelled(datatype: str) -> None:
    tensor = read([1, "NaN", 0.5, "Infinity", "-Infinity"], datatype, [5])
    np.testing.assert_array_equal(tensor.numpy(), [1, np.nan, 0.5, np.inf, -np.inf])
    assert elements_to_json(tensor) == [1.0, "NaN", 0.5, "Infinity", "-Infinity"]
    with pytest.raises(InvalidRequest, match=r"is not finite at \[1\]"):
        read([1, "NaN"], datatype, [2], Settings(nan_policy="reject"))


def test_an_answer_is_json_even_when_it_is_not_a_number(server: RestServer) -> None:
    for spelled in (b'"NaN", 1, "-Infinity"', b"NaN, 1, -Infinity"):
        said = (
            b'{"inputs": [{"name": "x", "datatype": "FP32", "shape": [3], "data": ['
            + spelled
            + b"]}]}"
        )
        answer = server.infer("echo", said)
        assert answer.status == 200
        (output,) = answer.json()["outputs"]
        assert output["data"] == ["NaN", 1.0, "-Infinity"]
        np.testing.assert_array_equal(np.array(output["data"], np.float32), [np.nan, 1, -np.inf])


def test_too_large_for_a_float32_is_infinity_as_in_pytorch() -> None:
    assert read([1e39, -1e39], "FP32", [2]).tolist() == [np.inf, -np.inf]
    assert read([1e39], "FP64", [1]).tolist() == [1e39]


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_a_float32_survives_the_way_there_and_back(values: list[float]) -> None:
    array = np.array(values, np.float32)
    text = json.dumps(elements_to_json(internals.from_numpy(array)), allow_nan=False)
    back = read(json.loads(text), "FP32", [len(values)])
    np.testing.assert_array_equal(back.numpy(), array)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50))
def test_an_int64_survives_the_way_there_and_back(values: list[int]) -> None:
    tensor = read(json.loads(json.dumps(values)), "INT64", [len(values)])
    assert tensor.tolist() == values
    assert elements_to_json(tensor) == values
