"""What is done to good arguments: sizes near the ends of the integers, tensors that do not fit, lists of another length.

`mutate(values, schema, stream)` changes some of them. What comes out still has the types of the schema: what has not is the
argument parser's affair (tests/test_core_arg_parser.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from internals.core.schema import Argument, FunctionSchema
from tests.op_tensors import DTYPES, LAYOUTS, Dtype, Stream, TensorSpec
from tests.side_by_side import random_array

NEAR = [2**31, 2**32, 2**62, 2**63]
EXTREMES = [
    0,
    1,
    -1,
    -2,
    2,
    7,
    64,
    *(n + d for n in NEAR for d in (-1, 0, 1)),
    *(-n + d for n in NEAR for d in (-1, 0, 1)),
]
FLOATS = [
    0.0,
    -0.0,
    0.5,
    -1.0,
    1e-320,
    1e30,
    -1e30,
    1e308,
    2.0**31,
    2.0**63,
    float("inf"),
    float("-inf"),
    float("nan"),
]
FORMATS = ["channels_last", "channels_last_3d", "contiguous_format", "preserve_format"]
LARGER, MOST_ELEMENTS = [9, 16, 17, 33, 64, 65, 130], 1 << 13


class Strange(TensorSpec):
    """A tensor in a layout that tests which compare results have no use for."""

    def build(self, lib: Any, from_numpy: Callable[[Any], Any]) -> Any:
        a, made = self.values, from_numpy(self.values)
        if self.layout == "channels_last" and a.ndim in (4, 5):
            return made.contiguous(
                memory_format=lib.channels_last if a.ndim == 4 else lib.channels_last_3d
            )
        if self.layout == "overlapping" and a.size:
            return (
                made.as_strided(a.shape, (1,) * a.ndim) if sum(a.shape) - a.ndim < a.size else made
            )
        if self.layout == "all the same" and a.size:
            return made.reshape(-1)[-1].expand(a.shape)
        if self.layout == "huge" and a.size:
            return made.reshape(-1)[:1].expand(*a.shape[:-1], 2**40)
        if self.layout == "huge and empty":
            return from_numpy(np.zeros(0, a.dtype)).expand(*[2**62] * a.ndim, 0)
        if self.layout == "shrunk":
            made.untyped_storage().resize_(a.nbytes // 2)
        if self.layout == "at the end" and a.ndim:
            return (
                from_numpy(np.concatenate([a.ravel()[:1], a.ravel()]))[1:].reshape(a.shape)
                if a.size
                else made
            )
        return made


STRANGE = ["channels_last", "overlapping", "all the same", "huge and empty", "at the end", "shrunk"]


def grown(values: dict[str, Any], stream: Stream) -> dict[str, Any]:
    """One of the sizes made larger wherever it stands, so that what fitted together still does.

    Kernels of machine code work in blocks, which recipes' tensors do not fill.
    """
    found = sorted(
        {
            n
            for v in values.values()
            for t in listed(v)
            if isinstance(t, TensorSpec)
            for n in t.values.shape
            if n > 1
        }
    )
    if not found:
        return values
    old, new = int(stream.choice(found)), int(stream.choice(LARGER))

    def larger(name: str, value: Any) -> Any:
        if isinstance(value, TensorSpec):
            a = value.values
            for axis in [d for d, n in enumerate(a.shape) if n == old and a.size < MOST_ELEMENTS]:
                a = np.take(a, np.arange(new) % old, axis)
            return TensorSpec(a, value.layout)
        if isinstance(value, list):
            return [larger(name, v) for v in value]
        return (
            new
            if name.endswith(("size", "sizes", "shape")) and type(value) is int and value == old
            else value
        )

    return {name: larger(name, value) for name, value in values.items()}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def mutate(values: dict[str, Any], schema: FunctionSchema, stream: Stream) -> dict[str, Any]:
    """Some of the values changed, mostly one or two."""
    values = dict(values)
    for _ in range(int(stream.choice([1, 2, 3, 5], p=[0.5, 0.3, 0.15, 0.05]))):
        a = schema.arguments[int(stream.integers(len(schema.arguments)))]
        values[a.name] = changed(a, values[a.name], values, stream)
    return values


def changed(a: Argument, value: Any, values: dict[str, Any], stream: Stream) -> Any:
    """Another value for one argument."""
    if a.type.optional and stream.random() < 0.15:
        return None
    if isinstance(value, list):
        return changed_list(a, value, stream)
    if isinstance(value, TensorSpec):
        others = [v for v in values.values() if isinstance(v, TensorSpec)]
        if stream.random() < 0.1:  # the same tensor twice: `build` makes one of it
            return others[int(stream.integers(len(others)))]
        return changed_tensor(value, stream)
    if value is None:
        return a.default if a.type.base == "Tensor" or a.type.is_list else one(a.type.base, stream)
    if isinstance(value, Dtype):
        return Dtype(str(stream.choice(FORMATS if a.type.base == "MemoryFormat" else DTYPES)))
    return one(a.type.base, stream, value)


def one(base: str, stream: Stream, value: Any = None) -> Any:
    """A value of a type that is no tensor."""
    if base in ("int", "SymInt") or (base == "Scalar" and stream.random() < 0.6):
        near = isinstance(value, int) and stream.random() < 0.3
        return (
            value + int(stream.integers(-3, 4))
            if near
            else EXTREMES[int(stream.integers(len(EXTREMES)))]
        )
    if base in ("float", "Scalar"):
        return FLOATS[int(stream.integers(len(FLOATS)))]
    return not value if base == "bool" else value


def changed_list(a: Argument, value: list[Any], stream: Stream) -> list[Any]:
    """Shorter, longer, empty, or with another element."""
    value, roll = list(value), stream.random()
    if roll < 0.15 and value:
        del value[int(stream.integers(len(value)))]
    elif roll < 0.3:
        value.insert(
            0,
            value[0] if value else one(a.type.base, stream, 1) if a.type.base != "Tensor" else None,
        )
        value = [v for v in value if v is not None]
    elif roll < 0.35:
        value = []
    elif value:
        for _ in range(int(stream.integers(1, 3))):
            i = int(stream.integers(len(value)))
            if isinstance(value[i], TensorSpec):
                value[i] = changed_tensor(value[i], stream)
            elif value[i] is not None:
                value[i] = one(a.type.base, stream, value[i])
    return value


def changed_tensor(t: TensorSpec, stream: Stream) -> TensorSpec:
    """Other sizes, another dtype, another layout, or other elements."""
    a, roll = t.values, stream.random()
    if roll < 0.45:
        return TensorSpec(resized(a, stream), str(stream.choice(LAYOUTS)))
    if roll < 0.6:
        return TensorSpec(
            np.asarray(random_array(stream, a.shape, str(stream.choice(DTYPES)))), t.layout
        )
    if roll < 0.8:
        return Strange(a, str(stream.choice(STRANGE)) if stream.random() < 0.95 else "huge")
    return TensorSpec(with_extremes(a, stream), t.layout)


def resized(a: Any, stream: Stream) -> Any:
    """Of other sizes: a dimension more or less, or one that is longer, shorter, 1 or 0. The elements are taken from `a`."""
    sizes, roll = list(a.shape), stream.random()
    i = int(stream.integers(len(sizes) + 1))
    if roll < 0.15:
        sizes.insert(i, int(stream.integers(0, 4)))
    elif i == len(sizes):
        sizes = sizes[1:]
    elif roll < 0.3:
        del sizes[i]
    else:
        sizes[i] = max(
            0,
            int(stream.choice([0, 1, sizes[i] - 1, sizes[i] + 1, sizes[i] + 9, 2 * sizes[i], 40])),
        )
    return (
        np.resize(a, sizes)
        if a.size and np.prod(sizes) < 1 << 16
        else np.zeros([n if n < 50 else 1 for n in sizes], a.dtype)
    )


def with_extremes(a: Any, stream: Stream) -> Any:
    """A few elements at or beyond the ends of what makes sense, for an index as for a number."""
    a = np.array(a)
    for _ in range(int(stream.integers(1, 4)) if a.size else 0):
        i = int(stream.integers(a.size))
        if a.dtype.kind in "iu":
            limits = np.iinfo(a.dtype)
            small = stream.random() < 0.5
            new = (
                int(stream.integers(-9, 50))
                if small
                else EXTREMES[int(stream.integers(len(EXTREMES)))]
            )
            a.flat[i] = min(max(new, limits.min), limits.max)
        elif a.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                a.flat[i] = FLOATS[int(stream.integers(len(FLOATS)))]
    return a
