"""Tensors in JSON: lists of numbers to a tensor, and back; and base64 in a string, for comparison.

A list of numbers is what JSON has for a tensor: flat in row-major order, or nested as the shape
says. Each element is text to parse, then an object of Python, then a number in an array: here that
is left to functions that walk lists in C (`map`, `chain`, `numpy.array`), so that it costs what
JSON must cost, and no more. Notebook 24 measures how much that is.

JSON has no NaN and no infinity. An answer spells them "NaN", "Infinity" and "-Infinity", strings,
as protobuf's mapping to JSON does: any parser reads the answer, no value turns into another, and
`numpy.array(data, dtype)`, which tritonclient uses, makes the right numbers of them. (`null`, which
some servers write, would lose the difference.) A request may spell them so too, or without quotes,
as Python and Triton write them; whether they are accepted is the operator's `nan_policy`.

`{"b64": "..."}` instead of a list is how TensorFlow Serving takes bytes, and how tutorials send
images: a third more bytes, and two copies. It is no part of the Open Inference Protocol.

Mirrors `ReadDataFromJson` and `WriteDataToJson` of Triton (`server/src/http_server.cc`).

How the real one differs: Triton accepts any nesting and counts elements only; it writes NaN without
quotes, which is not JSON; it refuses FP16 here.
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
    """The tensor that an input's "data" says, and whether that took no copy: True for base64 only,
    whose copy is the decoding.

    Raises InvalidRequest, which names the input, where the nesting, the number of elements or their
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
    """The elements, flat and row-major, as `json.dumps(allow_nan=False)` takes them. A float32
    keeps all of its digits.
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
    """The elements of a list that is nested as the shape says, or flat already."""
    if not data or type(data[0]) is not list:
        return data
    rows = [data]
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
    """An array of exactly these elements: no string is parsed, no number is cut off, true is no
    1.
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
    objects = np.array(elements, dtype=object)
    for word, value in NOT_FINITE.items():
        objects[objects == word] = value
    replaced: list[Any] = objects.tolist()
    return replaced


def decoded(data: dict[str, Any], name: str) -> bytes:
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
    """What a person who writes JSON calls it."""
    return JSON_TYPES.get(type(value), "null")
