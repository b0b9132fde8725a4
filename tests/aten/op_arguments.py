"""Random, sensible arguments for any operator, from its schema and from recipes where tensors must
fit together.

`arguments(schema, stream)` gives one value for each argument. Most calls are good, some are not (a
dimension out of range, sizes that do not fit): then both libraries must raise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.schema import Argument, FunctionSchema
from tests.aten.op_recipes import recipe
from tests.aten.op_tensors import (
    DTYPES,
    FLOATS,
    WEIGHTS,
    Dtype,
    Sizes,
    Stream,
    TensorSpec,
    related,
    reshaped,
    shape,
    tensor,
)

OPTIONS = ("dtype", "layout", "device", "pin_memory", "memory_format")  # `out` has them already
OUT_DTYPES = {"indices": "int64"}
STRINGS = {
    "padding": ["same", "valid"], "rounding_mode": ["floor", "trunc"],
    "approximate": ["none", "tanh"], "mode": ["constant"], "p": ["fro"], "ord": ["fro", "nuc"],
}  # fmt: skip


def arguments(schema: FunctionSchema, stream: Stream) -> dict[str, Any]:
    """One value for each argument, by name, in schema order."""
    made = recipe(schema)
    given = made(stream) if made else {}
    dtype = str(stream.choice(DTYPES, p=WEIGHTS))
    if given.pop("floating", False):
        dtype = str(stream.choice(FLOATS[:2]))
    sizes = shape(stream)
    values: dict[str, Any] = {}
    is_factory = any(a.name == "pin_memory" for a in schema.arguments)
    for a in schema.arguments:
        if a.name in given and fits(a, given[a.name]):
            value = given[a.name]
            if isinstance(value, tuple):  # sizes of a tensor
                value = tensor(stream, value, dtype)
        else:
            value = argument(a, stream, sizes, dtype, values)
        values[a.name] = None if is_factory and schema.is_out and a.name in OPTIONS else value
    return values


def fits(a: Argument, value: Any) -> bool:
    """Recipes serve several overloads: what is an int in one may be a tensor, a list or a string in
    another.
    """
    if a.type.base == "Tensor" and not a.type.is_list:
        return value is None or isinstance(value, (tuple, TensorSpec))
    if a.type.base == "str":
        return value is None or isinstance(value, str)
    if a.type.is_list:
        return value is None or isinstance(value, list)
    return not isinstance(value, (tuple, list, TensorSpec, str))


def argument(a: Argument, stream: Stream, sizes: Sizes, dtype: str, earlier: dict[str, Any]) -> Any:
    """A value for one argument of an op without a recipe for it."""
    base, ndim = a.type.base, len(first_shape(earlier, sizes))
    if a.is_write and a.name not in ("self", "input") and a.kwarg_only:  # out=
        other = dtype if stream.random() < 0.93 else str(stream.choice(DTYPES))
        return TensorSpec(
            np.zeros(0 if stream.random() < 0.7 else sizes, OUT_DTYPES.get(a.name, other))
        )
    if base == "Tensor" and a.type.is_list:
        return [tensor(stream, sizes, dtype) for _ in range(int(stream.integers(1, 4)))]
    if base == "Tensor":
        if a.type.optional and stream.random() < 0.5:
            return None
        if not earlier:
            return tensor(stream, sizes, dtype)
        if a.name in ("mask", "condition"):
            return tensor(stream, related(stream, sizes), "bool")
        return tensor(
            stream,
            related(stream, sizes),
            dtype if stream.random() < 0.7 else str(stream.choice(DTYPES)),
        )
    if a.has_default and (
        base in ("Layout", "Device", "str", "MemoryFormat") or stream.random() < 0.4
    ):
        if base in ("ScalarType", "MemoryFormat") and a.default:
            return Dtype({"long": "int64"}.get(a.default, a.default))
        return a.default
    if base == "Generator":
        return None
    if a.type.optional and a.default is None and stream.random() < 0.3:
        return None
    if base == "ScalarType":
        return Dtype(str(stream.choice(DTYPES, p=WEIGHTS)))
    if base == "bool":
        return [True] * 3 if a.type.is_list else bool(stream.integers(2))
    if base == "Device":
        return "cpu"
    if base == "str":
        return str(stream.choice(STRINGS[a.name]))
    if base == "float":
        return [1.5, 2.0] if a.type.is_list else float(stream.choice([0.0, 0.5, 1.0, 2.0, -1.5]))
    if base == "Scalar":
        return [0, 1, 2, -1, 3, 0.5, -1.5, 2.0, True, 1 + 2j][
            int(stream.integers(10 if dtype[0] == "c" else 9))
        ]
    if a.type.is_list:
        return int_list(a, stream, ndim, sizes)
    if a.name.startswith(("dim", "start_dim", "end_dim", "axis", "source", "destination")):
        return int(
            stream.integers(-ndim - (stream.random() < 0.1), max(ndim, 1) + (stream.random() < 0.1))
        )
    return int(stream.integers(0, 4)) if stream.random() < 0.9 else -1


def int_list(a: Argument, stream: Stream, ndim: int, sizes: Sizes) -> list[int]:
    if a.name in ("size", "shape") or a.name.endswith("size"):
        return reshaped(stream, sizes) if stream.random() < 0.9 else [2, 3]
    if a.name in ("dim", "dims", "source", "destination"):
        n = ndim if stream.random() < 0.5 else int(stream.integers(0, ndim + 1))
        return [
            int(d) - (ndim if stream.random() < 0.3 else 0) for d in stream.permutation(ndim)[:n]
        ]
    if a.name in ("repeats", "shifts"):
        return [int(i) for i in stream.integers(0, 3, ndim)]
    return [int(i) for i in stream.integers(0, 3, a.type.list_size or max(ndim, 1))]


def first_shape(earlier: dict[str, Any], sizes: Sizes) -> Sizes:
    value = next(iter(earlier.values()), None)
    return value.values.shape if isinstance(value, TensorSpec) else sizes
