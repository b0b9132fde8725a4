"""Converts tensors from and to JSON: lists of numbers, and base64 in a string, for comparison.

In JSON, a tensor is a list of numbers: flat in row-major order, or nested like the shape. Each
element is text to parse, then a Python object, then a number in an array. Here this is done by
functions that loop in C (`map`, `chain`, `numpy.array`), so that it takes no longer than JSON must.
Notebook 24 measures how long that is.

JSON has no NaN and no infinity. A response has the strings "NaN", "Infinity" and "-Infinity"
instead, as in protobuf's mapping to JSON: any parser can read them, the three values stay
different, and `numpy.array(data, dtype)`, which tritonclient uses, converts them to the right
numbers. (With `null`, which some servers write, the difference would be lost.) A request may have
these strings, too, or the words without quotes, as Python and Triton write them; the operator's
`nan_policy` decides whether they are accepted.

`{"b64": "..."}` instead of a list is the form in which TensorFlow Serving takes bytes, and
tutorials send images: a third more bytes, and two copies. It is not part of the Open Inference
Protocol.

Mirrors `ReadDataFromJson` and `WriteDataToJson` of Triton (`server/src/http_server.cc`).

How the real one differs: Triton accepts any nesting and only counts the elements; it writes NaN
without quotes, which is not JSON; it refuses FP16 in JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from internals import Tensor

from ..errors import InvalidRequest
from ..protocol.policies import check_header, tensor_from_elements, tensor_from_memory
from ..settings import Settings

NOT_FINITE = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def tensor_from_json(
    data: Any, datatype: str, shape: Sequence[int], name: str, settings: Settings
) -> tuple[Tensor, bool]:
    """Returns the tensor in an input's "data", and whether it is a view: True only for base64, of
    the decoded bytes.

    Raises InvalidRequest, with the input's name, if the nesting, the number of elements or their
    type is not as declared.
    """
    dtype = check_header(datatype, shape, name)
    if isinstance(data, dict):
        return tensor_from_memory(decoded(data, name), datatype, shape, name, settings)
    if not isinstance(data, list):
        raise InvalidRequest(
            f"input '{name}': data is a list of elements, or an object with 'b64', not "
            f"{json_type(data)}"
        )
    elements = flattened(data, shape, name)
    if len(elements) != prod(shape):
        raise InvalidRequest(
            f"input '{name}': {list(shape)} has {prod(shape)} elements, its data has "
            f"{len(elements)}: they have to be as many"
        )
    array = numbers(elements, dtype.np, datatype, name)
    return tensor_from_elements(array, datatype, shape, name, settings), False


def elements_to_json(tensor: Tensor) -> list[Any]:
    """The elements in row-major order as a flat list, for `json.dumps(allow_nan=False)`. A float32
    becomes a Python float of the same value, so it keeps all of its digits.
    """
    array = tensor.detach().contiguous().numpy().reshape(-1)
    if array.dtype.kind != "f" or np.isfinite(array).all():
        plain: list[Any] = array.tolist()
        return plain
    objects = array.astype(object)
    objects[np.isnan(array)], objects[array == np.inf], objects[array == -np.inf] = NOT_FINITE
    mixed: list[Any] = objects.tolist()
    return mixed


def flattened(data: list[Any], shape: Sequence[int], name: str) -> list[Any]:
    """The elements of a list that is flat, or nested like the shape. Raises InvalidRequest."""
    if not data or type(data[0]) is not list:
        return data
    rows = [data]  # in each step, `rows` are all lists of one level, each of length `size`
    for size in shape:
        if set(map(type, rows)) - {list} or set(map(len, rows)) - {size}:
            raise InvalidRequest(
                f"input '{name}': its data is neither flat nor nested as its shape {list(shape)} "
                "says"
            )
        rows = list(chain.from_iterable(rows))
    return rows


def numbers(
    elements: list[Any], dtype: np.dtype[Any], datatype: str, name: str
) -> np.ndarray[Any, Any]:
    """An array of exactly these elements. Raises InvalidRequest for an element of another type:
    numpy would parse strings, truncate floats to integers, and take true for 1.
    """
    found: set[type] = set(map(type, elements))
    allowed = ACCEPTED[dtype.kind]
    if dtype.kind == "f" and str in found:
        elements = with_values_for_words(elements)
        found = set(map(type, elements))
    if wrong := sorted(json_type(kind()) for kind in found - allowed):
        raise InvalidRequest(
            f"input '{name}': an element of {datatype} is {' or '.join(KINDS[dtype.kind])}, its "
            f"data has {wrong[0]}"
        )
    try:
        with np.errstate(over="ignore"):  # 1e39 is infinity as FP32, as in PyTorch
            return np.array(elements, dtype)
    except OverflowError:
        raise InvalidRequest(
            f"input '{name}': a number is out of the range of {datatype}"
        ) from None


def with_values_for_words(elements: list[Any]) -> list[Any]:
    """The elements with "NaN", "Infinity" and "-Infinity" replaced by their values."""
    objects = np.array(elements, dtype=object)
    for word, value in NOT_FINITE.items():
        objects[objects == word] = value
    replaced: list[Any] = objects.tolist()
    return replaced


def decoded(data: dict[str, Any], name: str) -> bytes:
    """The bytes in `{"b64": "..."}`. Raises InvalidRequest."""
    if data.keys() != {"b64"} or not isinstance(data["b64"], str):
        raise InvalidRequest(
            f"input '{name}': data that is an object has one key, 'b64', and a string there"
        )
    try:
        return base64.b64decode(data["b64"], validate=True)
    except ValueError:
        raise InvalidRequest(
            f"input '{name}': its b64 is not base64 (RFC 4648, with padding, without line breaks)"
        ) from None


# numpy's kind of a dtype -> the Python types of its elements, and their names in errors
ACCEPTED: dict[str, set[type]] = {"b": {bool}, "f": {float, int}, "i": {int}, "u": {int}}
KINDS = {
    "b": ("true", "false"),
    "f": ("a number", '"NaN"', '"Infinity"', '"-Infinity"'),
    "i": ("an integer",),
    "u": ("an integer",),
}
JSON_TYPES = {
    bool: "true or false",
    int: "an integer",
    float: "a number with a fraction",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def json_type(value: Any) -> str:
    """The name of a value's type in JSON, for errors."""
    return JSON_TYPES.get(type(value), "null")
