"""What is done to good arguments: sizes near the ends of the integers, tensors that do not fit.

What comes out still has the types of the schema. What has not is the argument parser's affair
(tests/core/test_arg_parser.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from internals.core.schema import Argument, FunctionSchema
from tests.aten.op_tensors import DTYPES, LAYOUTS, Dtype, Stream, TensorSpec
from tests.side_by_side import random_array

NEAR = [sign * n + d for n in (2**31, 2**32, 2**62, 2**63) for d in (-1, 0, 1) for sign in (1, -1)]
EXTREMES = [0, 1, 2, 7, 64, -1, -2, *NEAR]
TINY, LARGE = [0.0, -0.0, 0.5, -1.0, 1e-320], [1e30, -1e30, 1e308, 2.0**31, 2.0**63]
FLOATS = [*TINY, *LARGE, float("inf"), float("-inf"), float("nan")]
FORMATS = ["channels_last", "channels_last_3d", "contiguous_format", "preserve_format"]
STRANGE = ["channels_last", "overlapping", "all the same", "at the end", "shrunk", "huge and empty"]
LARGER, MOST_ELEMENTS = [9, 16, 17, 33, 64, 65, 130], 1 << 16


class Strange(TensorSpec):
    """A tensor in a layout that tests which compare results have no use for."""

    def build(self, lib: Any, from_numpy: Callable[[Any], Any]) -> Any:
        a, made = self.values, from_numpy(self.values)
        if self.layout == "huge and empty":
            return from_numpy(np.zeros(0, a.dtype)).expand(*[2**15] * a.ndim, 0)
        if not a.size or not a.ndim:
            return made
        if self.layout == "channels_last" and a.ndim in (4, 5):
            last = lib.channels_last if a.ndim == 4 else lib.channels_last_3d
            return made.contiguous(memory_format=last)
        if self.layout == "overlapping" and sum(a.shape) - a.ndim < a.size:
            return made.as_strided(a.shape, (1,) * a.ndim)
        if self.layout == "all the same":
            return made.reshape(-1)[-1].expand(a.shape)
        if self.layout == "at the end":
            return from_numpy(np.append(a.flat[0], a).astype(a.dtype))[1:].reshape(a.shape)
        if self.layout == "shrunk":
            made.untyped_storage().resize_(a.nbytes // 2)
        if self.layout == "huge":
            return made.reshape(-1)[:1].expand(*a.shape[:-1], 2**40)
        return made


def grown(values: dict[str, Any], stream: Stream) -> dict[str, Any]:
    """One of the sizes made larger wherever it stands, so that what fitted together still does.

    Kernels of machine code work in blocks, which recipes' tensors do not fill.
    """
    specs = [t for v in values.values() for t in listed(v) if isinstance(t, TensorSpec)]
    sizes = sorted({n for t in specs for n in t.values.shape if n > 1})
    if not sizes:
        return values
    old, new = pick(sizes, stream), pick(LARGER, stream)

    def larger(name: str, value: Any) -> Any:
        if isinstance(value, TensorSpec):
            a = value.values
            for axis in [d for d, n in enumerate(a.shape) if n == old]:
                if a.size // old * new <= MOST_ELEMENTS:
                    a = np.take(a, np.arange(new) % old, axis)
            return TensorSpec(a, value.layout)
        if isinstance(value, list):
            return [larger(name, v) for v in value]
        is_size = type(value) is int and name.endswith(("size", "sizes", "shape"))
        return new if is_size and value == old else value

    return {name: larger(name, value) for name, value in values.items()}


def mutate(values: dict[str, Any], schema: FunctionSchema, stream: Stream) -> dict[str, Any]:
    """Some of the values changed, mostly one or two."""
    values = dict(values)
    for _ in range(int(stream.choice([1, 2, 3, 5], p=[0.5, 0.3, 0.15, 0.05]))):
        a = pick(schema.arguments, stream)
        values[a.name] = changed(a, values[a.name], values, stream)
    return values


def changed(a: Argument, value: Any, values: dict[str, Any], stream: Stream) -> Any:
    """Another value for one argument."""
    if a.type.optional and stream.random() < 0.15:
        return None
    if isinstance(value, list):
        return changed_list(a, value, stream)
    if isinstance(value, TensorSpec):
        if stream.random() < 0.1:  # one that is there already: it will be the same tensor
            return pick([v for v in values.values() if isinstance(v, TensorSpec)], stream)
        return changed_tensor(value, stream)
    if value is None:
        return a.default if a.type.base == "Tensor" or a.type.is_list else one(a, None, stream)
    if isinstance(value, Dtype):
        return Dtype(pick(FORMATS if a.type.base == "MemoryFormat" else DTYPES, stream))
    return one(a, value, stream)


def one(a: Argument, value: Any, stream: Stream) -> Any:
    """Another value that is no tensor, or another element of a list of such."""
    base = a.type.base
    if base == "int" or (base == "Scalar" and stream.random() < 0.6):
        close = isinstance(value, int) and stream.random() < 0.3
        return value + int(stream.integers(-3, 4)) if close else pick(EXTREMES, stream)
    if base in ("float", "Scalar"):
        return pick(FLOATS, stream)
    return not value if base == "bool" else value


def changed_list(a: Argument, value: list[Any], stream: Stream) -> list[Any]:
    """Shorter, longer, empty, or with other elements."""
    value, roll = list(value), stream.random()
    if roll < 0.05 or not value:
        return []
    i = int(stream.integers(len(value)))
    if roll < 0.2:
        del value[i]
    elif roll < 0.35:
        value.insert(i, value[i])
    elif isinstance(value[i], TensorSpec):
        value[i] = changed_tensor(value[i], stream)
    elif value[i] is not None:
        value[i] = one(a, value[i], stream)
    return value


def changed_tensor(t: TensorSpec, stream: Stream) -> TensorSpec:
    """Other sizes, another dtype, another layout, or other elements."""
    a, roll = t.values, stream.random()
    if roll < 0.45:
        return TensorSpec(resized(a, stream), pick(LAYOUTS, stream))
    if roll < 0.6:
        return TensorSpec(np.asarray(random_array(stream, a.shape, pick(DTYPES, stream))), t.layout)
    if roll < 0.8:
        return Strange(a, pick(STRANGE, stream) if stream.random() < 0.95 else "huge")
    return TensorSpec(with_extremes(a, stream), t.layout)


def resized(a: Any, stream: Stream) -> Any:
    """The elements in other sizes: a dimension more or less, or one that is longer or shorter."""
    sizes, roll = list(a.shape), stream.random()
    i = int(stream.integers(len(sizes) + 1))
    if roll < 0.15:
        sizes.insert(i, int(stream.integers(0, 4)))
    elif i == len(sizes) or roll < 0.3:
        del sizes[i : i + 1]
    else:
        n = sizes[i]
        sizes[i] = max(0, pick([0, 1, n - 1, n + 1, n + 9, 2 * n, 40], stream))
    if np.prod(sizes) > MOST_ELEMENTS:
        return a
    return np.resize(a, sizes) if a.size else np.zeros(sizes, a.dtype)


def with_extremes(a: Any, stream: Stream) -> Any:
    """A few elements at or beyond the ends of what makes sense, for an index as for a number."""
    a = np.array(a)
    for _ in range(int(stream.integers(1, 4)) if a.size else 0):
        i = int(stream.integers(a.size))
        if a.dtype.kind in "iu":
            new = int(stream.integers(-9, 50)) if stream.random() < 0.5 else pick(EXTREMES, stream)
            a.flat[i] = min(max(new, np.iinfo(a.dtype).min), np.iinfo(a.dtype).max)
        elif a.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                a.flat[i] = pick(FLOATS, stream)
    return a


def pick(options: Sequence[Any], stream: Stream) -> Any:
    return options[int(stream.integers(len(options)))]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
