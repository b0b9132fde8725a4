"""Random, sensible arguments for any operator, from its schema and a few recipes for those whose tensors must fit together.

`arguments(schema, stream)` gives one value for each argument. Tensors come as `TensorSpec`s: numbers and a layout, from which both
libraries build the same tensor. Most calls are good, some are not (a dimension out of range, sizes that do not fit): then both
libraries must raise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from internals.core.schema import Argument, FunctionSchema
from tests.side_by_side import random_array

Stream = np.random.Generator
Sizes = tuple[int, ...]

FLOATS = ["float32", "float64", "float16"]
DTYPES = [*FLOATS, "complex64", "complex128", "int64", "int32", "int16", "int8", "uint8", "bool"]
WEIGHTS = np.array([8, 4, 2, 2, 1, 4, 2, 1, 1, 2, 2]) / 29
LAYOUTS = ["plain", "plain", "plain", "transposed", "strided", "expanded", "offset"]


@dataclass
class TensorSpec:
    """A tensor in no library yet."""

    values: Any
    layout: str = "plain"

    def build(self, lib: Any, from_numpy: Callable[[Any], Any]) -> Any:
        a = self.values
        if self.layout == "transposed" and a.ndim > 1:
            return from_numpy(np.ascontiguousarray(a.T)).permute(*range(a.ndim - 1, -1, -1))
        if self.layout == "strided" and a.ndim:
            return from_numpy(np.repeat(a, 2, axis=-1))[..., ::2]
        if self.layout == "offset" and a.ndim:
            return from_numpy(np.concatenate([a, a]))[a.shape[0] :]
        if self.layout == "expanded" and a.ndim and a.shape[0] > 1:
            return from_numpy(a[:1]).expand(*a.shape)
        return from_numpy(a)

    def __repr__(self) -> str:
        return f"{self.layout} {self.values.dtype} {list(self.values.shape)} {self.values.ravel()[:12].tolist()}"


@dataclass
class Dtype:
    """A dtype by name; also a memory format."""

    name: str


def arguments(schema: FunctionSchema, stream: Stream) -> dict[str, Any]:
    """One value for each argument, by name, in schema order."""
    name = schema.name.removesuffix("_") if schema.name not in RECIPES else schema.name
    given = RECIPES[name](stream) if name in RECIPES else {}
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
    """Recipes serve several overloads: what is an int in one may be a tensor, a list or a string in another."""
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
        return TensorSpec(np.zeros(0 if stream.random() < 0.7 else sizes, OUT_DTYPES.get(a.name, other)))
    if base == "Tensor" and a.type.is_list:
        return [tensor(stream, sizes, dtype) for _ in range(int(stream.integers(1, 4)))]
    if base == "Tensor":
        if a.type.optional and stream.random() < 0.5:
            return None
        if not earlier:
            return tensor(stream, sizes, dtype)
        if a.name in ("mask", "condition"):
            return tensor(stream, related(stream, sizes), "bool")
        return tensor(stream, related(stream, sizes), dtype if stream.random() < 0.7 else str(stream.choice(DTYPES)))
    if a.has_default and (base in ("Layout", "Device", "str", "MemoryFormat") or stream.random() < 0.4):
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
        return [0, 1, 2, -1, 3, 0.5, -1.5, 2.0, True, 1 + 2j][int(stream.integers(10 if dtype[0] == "c" else 9))]
    if a.type.is_list:
        return int_list(a, stream, ndim, sizes)
    if a.name.startswith(("dim", "start_dim", "end_dim", "axis", "source", "destination")):
        return int(stream.integers(-ndim - (stream.random() < 0.1), max(ndim, 1) + (stream.random() < 0.1)))
    return int(stream.integers(0, 4)) if stream.random() < 0.9 else -1


def int_list(a: Argument, stream: Stream, ndim: int, sizes: Sizes) -> list[int]:
    if a.name in ("size", "shape") or a.name.endswith("size"):
        return reshaped(stream, sizes) if stream.random() < 0.9 else [2, 3]
    if a.name in ("dim", "dims", "source", "destination"):
        n = ndim if stream.random() < 0.5 else int(stream.integers(0, ndim + 1))
        return [int(d) - (ndim if stream.random() < 0.3 else 0) for d in stream.permutation(ndim)[:n]]
    if a.name in ("repeats", "shifts"):
        return [int(i) for i in stream.integers(0, 3, ndim)]
    return [int(i) for i in stream.integers(0, 3, a.type.list_size or max(ndim, 1))]


def shape(stream: Stream) -> Sizes:
    return tuple(
        int(n)
        for n in stream.choice([0, 1, 2, 3, 4, 5], stream.choice([0, 1, 2, 3, 4]), p=[0.06, 0.14, 0.25, 0.25, 0.2, 0.1])
    )


def related(stream: Stream, sizes: Sizes) -> Sizes:
    """Sizes that broadcast with `sizes`, mostly the same."""
    roll = stream.random()
    if roll < 0.5:
        return sizes
    if roll < 0.95:
        return tuple(1 if stream.random() < 0.3 else n for n in sizes[int(stream.integers(0, len(sizes) + 1)) :])
    return shape(stream)


def reshaped(stream: Stream, sizes: Sizes) -> list[int]:
    """Other sizes for as many elements."""
    n = math.prod(sizes)
    result = [int(stream.choice([d for d in range(1, 6) if n % d == 0]))] if n else list(sizes)
    if n:
        result.append(n // result[0])
    if stream.random() < 0.3 and n:
        result[int(stream.integers(len(result)))] = -1
    return result


def first_shape(earlier: dict[str, Any], sizes: Sizes) -> Sizes:
    value = next(iter(earlier.values()), None)
    return value.values.shape if isinstance(value, TensorSpec) else sizes


def tensor(stream: Stream, sizes: Sizes, dtype: str, layout: str | None = None) -> TensorSpec:
    a = np.asarray(random_array(stream, sizes, dtype))
    if dtype in FLOATS and a.size and stream.random() < 0.15:
        a.flat[int(stream.integers(a.size))] = stream.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    layout = layout or str(stream.choice(LAYOUTS))
    if layout == "expanded" and a.ndim and a.shape[0]:
        a = np.broadcast_to(a[:1], a.shape).copy()
    return TensorSpec(a, layout)


OPTIONS = ("dtype", "layout", "device", "pin_memory", "memory_format")  # `out` has them already
STRINGS = {
    "padding": ["same", "valid"], "rounding_mode": ["floor", "trunc"], "approximate": ["none", "tanh"], "mode": ["constant"],
    "p": ["fro"],
}  # fmt: skip
OUT_DTYPES = {"indices": "int64"}
Recipe = Callable[[Stream], dict[str, Any]]


def n(stream: Stream, low: int = 1, high: int = 5) -> int:
    return int(stream.integers(low, high))


def integers(stream: Stream, sizes: Sizes, below: int) -> TensorSpec:
    return TensorSpec(stream.integers(0, max(below, 1), sizes))


def uniform(stream: Stream, sizes: Sizes) -> TensorSpec:
    return TensorSpec(stream.uniform(0.05, 0.95, sizes).astype("float32"))


def _mm(s: Stream) -> dict[str, Any]:
    a, b, c = n(s, 0), n(s, 0), n(s)
    return {"self": (a, b), "mat2": (b, c)}


def _bmm(s: Stream) -> dict[str, Any]:
    k, a, b, c = n(s), n(s, 0), n(s, 0), n(s)
    return {"self": (k, a, b), "mat2": (k, b, c)}


def _addmm(s: Stream) -> dict[str, Any]:
    a, b, c = n(s), n(s, 0), n(s)
    return {"self": (a, c), "mat1": (a, b), "mat2": (b, c)}


def _addmv(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s, 0)
    return {"self": (a,), "mat": (a, b), "vec": (b,)}


def _mv(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s, 0)
    return {"self": (a, b), "vec": (b,)}


def _addbmm(s: Stream) -> dict[str, Any]:
    k, a, b, c = n(s), n(s), n(s), n(s)
    return {"self": (a, c), "batch1": (k, a, b), "batch2": (k, b, c)}


def _baddbmm(s: Stream) -> dict[str, Any]:
    k, a, b, c = n(s), n(s), n(s), n(s)
    return {"self": (k, a, c), "batch1": (k, a, b), "batch2": (k, b, c)}


def _vectors(s: Stream) -> dict[str, Any]:
    a = n(s, 0)
    return {"self": (a,), "tensor": (a,), "vec2": (n(s),)}


def _matmul(s: Stream) -> dict[str, Any]:
    a, b, c, k = n(s), n(s), n(s), n(s)
    return {
        "self": [(b,), (a, b), (k, a, b), (2, 1, a, b)][n(s, 0, 4)],
        "other": [(b,), (b, c), (k, b, c), (3, b, c)][n(s, 0, 4)],
    }


def _linear(s: Stream) -> dict[str, Any]:
    a, b, c = n(s), n(s), n(s)
    return {
        "input": [(b,), (a, b), (2, a, b)][n(s, 0, 3)],
        "weight": (c, b),
        "bias": (c,) if s.random() < 0.7 else None,
    }


def _einsum(s: Stream) -> dict[str, Any]:
    a, b, c = n(s), n(s), n(s)
    x, y = tensor(s, (a, b), "float32"), tensor(s, (b, c), "float32")
    return [
        {"equation": "ij,jk->ik", "tensors": [x, y], "path": None},
        {"equation": "ij->ji", "tensors": [x], "path": None},
        {"equation": "...j->...", "tensors": [x], "path": None},
        {"equation": "ij,jk", "tensors": [x, y], "path": None},
    ][n(s, 0, 4)]


def _conv(dims: int) -> Recipe:
    def recipe(s: Stream) -> dict[str, Any]:
        groups, cin, cout, kernel = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3), n(s, 1, 4)
        sizes = tuple(n(s, 3, 7) for _ in range(dims))
        return {
            "input": (n(s, 1, 3), groups * cin, *sizes), "weight": (groups * cout, cin, *[kernel] * dims),
            "bias": (groups * cout,) if s.random() < 0.5 else None, "stride": [n(s, 1, 3)] * dims,
            "dilation": [n(s, 1, 3)] * dims, "padding": [n(s, 0, 3)] * dims, "groups": groups,
            "output_padding": [0] * dims, "floating": True,
        }  # fmt: skip

    return recipe


def _conv_named(dims: int) -> Recipe:
    return _conv(dims)


def _conv_transpose(s: Stream) -> dict[str, Any]:
    groups, cin, cout = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3)
    return {
        "input": (2, groups * cin, n(s, 2, 5), n(s, 2, 5)), "weight": (groups * cin, cout, 2, 3), "bias": (groups * cout,),
        "stride": [2, 2], "padding": [n(s, 0, 2)] * 2, "output_padding": [n(s, 0, 2)] * 2, "groups": groups, "dilation": [1, 1],
        "floating": True,
    }  # fmt: skip


def _pool(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s), n(s), n(s, 4, 8), n(s, 4, 8)), "kernel_size": [n(s, 2, 4)] * 2, "stride": [n(s)] * 2,
        "padding": [n(s, 0, 2)] * 2, "dilation": [1, 1], "divisor_override": None, "floating": True,
        "out1": TensorSpec(np.zeros(0, "int64")),
    }  # fmt: skip


def _upsample(s: Stream) -> dict[str, Any]:
    scale = [float(s.choice([1.5, 2.0, 0.5]))] * 2
    sizes = (n(s, 2, 6), n(s, 2, 6))
    return {
        "self": (n(s), n(s), *sizes), "input": (n(s), n(s), *sizes), "output_size": [n(s, 1, 7), n(s, 1, 7)],
        "scale_factors": None, "scales_h": None, "scales_w": None, "floating": True, "scale": scale,
    }  # fmt: skip


def _channels(s: Stream) -> dict[str, Any]:
    c = n(s)
    return {
        "input": (n(s, 2), c, n(s)), "weight": (c,), "bias": (c,), "running_mean": (c,), "momentum": 0.1, "eps": 1e-5,
        "running_var": uniform(s, (c,)), "training": True, "floating": True, "cudnn_enabled": False,
    }  # fmt: skip


def _batch_norm(s: Stream) -> dict[str, Any]:
    c = n(s)
    f = lambda *sizes: TensorSpec(s.standard_normal(sizes).astype("float32"))  # noqa: E731
    return {
        "input": f(n(s, 2), c, n(s)), "weight": f(c), "bias": f(c), "running_mean": f(c), "momentum": 0.1, "eps": 1e-5,
        "running_var": uniform(s, (c,)), "training": bool(n(s, 0, 2)), "cudnn_enabled": False,
    }  # fmt: skip


def _layer_norm(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s)
    return {
        "input": (n(s), a, b),
        "normalized_shape": [a, b],
        "weight": (a, b),
        "bias": (a, b),
        "eps": 1e-5,
        "floating": True,
    }


def _group_norm(s: Stream) -> dict[str, Any]:
    g, c, k, hw = n(s, 1, 3), n(s, 1, 3), n(s), n(s)
    return {
        "input": (k, g * c, hw), "num_groups": g, "weight": (g * c,), "bias": (g * c,), "eps": 1e-5, "floating": True,
        "N": k, "C": g * c, "HxW": hw, "group": g, "cudnn_enabled": False,
    }  # fmt: skip


def _nll(s: Stream) -> dict[str, Any]:
    k, c = n(s), n(s)
    return {
        "self": (k, c), "target": integers(s, (k,), c), "weight": (c,) if s.random() < 0.5 else None, "floating": True,
        "reduction": n(s, 0, 3), "ignore_index": int(s.choice([-100, 0])), "label_smoothing": 0.1,
    }  # fmt: skip


def _nll2d(s: Stream) -> dict[str, Any]:
    k, c, h, w = n(s), n(s), n(s), n(s)
    return {**_nll(s), "self": (k, c, h, w), "target": integers(s, (k, h, w), c), "weight": None}


def _loss(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {"self": sizes, "target": sizes, "reduction": n(s, 0, 3), "beta": 0.7, "delta": 0.7, "floating": True}


def _bce(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "self": uniform(s, sizes),
        "target": uniform(s, sizes),
        "weight": None,
        "pos_weight": None,
        "reduction": n(s, 0, 3),
    }


def _embedding(s: Stream) -> dict[str, Any]:
    rows = n(s)
    return {
        "weight": (rows, n(s)),
        "indices": integers(s, related(s, shape(s)), rows),
        "padding_idx": -1,
        "floating": True,
    }


def _indexed(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    count = n(s, 0)
    return {
        "self": sizes, "dim": dim, "index": integers(s, (count,), sizes[dim]),
        "source": (*sizes[:dim], count, *sizes[dim + 1 :]),
    }  # fmt: skip


def _scattered(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    index = tuple(n(s, 1, k + 1) for k in sizes)
    return {
        "self": sizes,
        "dim": dim,
        "index": integers(s, index, sizes[dim]),
        "src": sizes,
        "reduce": str(s.choice(["add", "multiply"])),
    }


def _index(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    k = n(s, 0)
    indices = [None if s.random() < 0.3 else integers(s, (k,), d) for d in sizes]
    if all(i is None for i in indices):
        indices[0] = integers(s, (k,), sizes[0])
    return {"self": sizes, "indices": indices, "values": (1,)}


def _where(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {"condition": tensor(s, related(s, sizes), "bool"), "self": sizes, "other": related(s, sizes)}


def _squares(s: Stream) -> dict[str, Any]:
    return {"self": tuple(n(s, 0) for _ in range(n(s, 1, 4)))}


def _attention(s: Stream) -> dict[str, Any]:
    b, h, q, k, d = n(s, 1, 3), n(s, 1, 3), n(s), n(s), n(s)
    return {
        "query": (b, h, q, d), "key": (b, h, k, d), "value": (b, h, k, d), "attn_mask": None, "dropout_p": 0.0, "floating": True,
        "enable_gqa": False, "scale": None,
    }  # fmt: skip


def _narrow(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    start = n(s, 0, sizes[dim] + 1)
    length = n(s, 0, sizes[dim] - start + 1)
    return {
        "self": sizes,
        "dim": dim,
        "start": start,
        "length": length,
        "index": n(s, -sizes[dim], sizes[dim]),
        "size": n(s, 1, 3),
        "step": n(s, 1, 3),
    }


def _split(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    k = n(s, 0, sizes[dim] + 1)
    return {
        "self": sizes,
        "dim": dim,
        "split_sizes": [k, sizes[dim] - k],
        "split_size": [k, sizes[dim] - k],
        "chunks": n(s),
    }


def _split_tensor(s: Stream) -> dict[str, Any]:
    return {**_split(s), "split_size": n(s)}


def _pad(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s, 1, 3), n(s, 3, 6), n(s, 3, 6)),
        "pad": [int(p) for p in s.integers(-1, 3, 2 * n(s, 1, 3))],
        "mode": str(s.choice(["constant", "reflect", "replicate", "circular"])),
        "value": 0,
        "floating": True,
    }


def _im2col(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s), n(s), 5, 6),
        "kernel_size": [2, n(s, 1, 4)],
        "dilation": [1, n(s, 1, 3)],
        "padding": [n(s, 0, 2), 0],
        "stride": [n(s, 1, 3), 1],
        "floating": True,
    }


def _strided(s: Stream) -> dict[str, Any]:
    return {
        "self": TensorSpec(np.arange(24.0)),
        "size": [n(s, 0), n(s)],
        "stride": [n(s, 0), n(s, 0)],
        "storage_offset": n(s, 0, 4),
    }


def _expand(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    target = [n(s), *[n(s) if k == 1 else (k if s.random() < 0.6 else -1) for k in sizes]]
    return {"self": sizes, "size": target[int(s.random() < 0.5) :]}


def _probabilities(s: Stream) -> dict[str, Any]:
    k = n(s, 2)
    return {"self": uniform(s, (n(s), k)), "num_samples": n(s, 1, k + 1), "p": 0.3, "generator": None}


def _sized(s: Stream) -> dict[str, Any]:
    low = n(s, -3, 2)
    return {
        "size": list(shape(s)),
        "low": low,
        "high": low + n(s),
        "steps": n(s, 0, 8),
        "generator": None,
        "n": n(s, 0, 6),
        "m": n(s, 0, 6),
        "from": low,
        "to": low + 5,
        "stride": None,
    }


def _range(s: Stream) -> dict[str, Any]:
    start, end = n(s, -3, 3), n(s, 0, 6)
    return {
        "start": start,
        "end": end + 0.5 * n(s, 0, 2),
        "step": [1, 2, 0.5, -1][n(s, 0, 4)],
        "dtype": None if s.random() < 0.5 else Dtype("float32"),
    }


def _flat(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s, 1, 4)))
    return {
        "self": sizes,
        "dim": -1,
        "sizes": [1, -1],
        "dimension": n(s, 0, len(sizes)),
        "size": n(s, 1, 3),
        "step": n(s, 1, 3),
    }


def _repeats(s: Stream) -> dict[str, Any]:
    k = n(s)
    return {"self": (k, 2), "dim": 0, "repeats": integers(s, (k,), 3), "output_size": None}


def _repeats_int(s: Stream) -> dict[str, Any]:
    return {"self": shape(s), "repeats": n(s, 0, 3), "output_size": None}


def _uniform(s: Stream) -> dict[str, Any]:
    return {
        "from": 0,
        "to": 2,
        "mean": 1.0,
        "std": 0.5,
        "p": 0.4,
        "low": 0,
        "high": 5,
        "floating": True,
        "generator": None,
    }


RECIPES: dict[str, Recipe] = {
    "mm": _mm, "bmm": _bmm, "addmm": _addmm, "addmv": _addmv, "mv": _mv, "addbmm": _addbmm, "baddbmm": _baddbmm,
    "dot": _vectors, "outer": _vectors, "matmul": _matmul, "linear": _linear, "einsum": _einsum, "conv1d": _conv(1),
    "conv2d": _conv(2), "conv_transpose2d": _conv_transpose, "convolution": _conv(2), "max_pool2d": _pool,
    "max_pool2d_with_indices": _pool, "avg_pool2d": _pool, "_adaptive_avg_pool2d": _upsample, "adaptive_avg_pool2d": _upsample,
    "upsample_nearest2d": _upsample, "upsample_bilinear2d": _upsample, "batch_norm": _batch_norm, "native_batch_norm": _batch_norm,
    "layer_norm": _layer_norm, "native_layer_norm": _layer_norm, "group_norm": _group_norm, "native_group_norm": _group_norm,
    "nll_loss": _nll, "nll_loss_forward": _nll, "nll_loss_nd": _nll, "cross_entropy_loss": _nll, "nll_loss2d": _nll2d,
    "nll_loss2d_forward": _nll2d, "mse_loss": _loss, "l1_loss": _loss, "smooth_l1_loss": _loss, "huber_loss": _loss,
    "kl_div": _loss, "binary_cross_entropy": _bce, "binary_cross_entropy_with_logits": _bce, "embedding": _embedding,
    "index_select": _indexed, "index_add": _indexed, "gather": _scattered, "scatter": _scattered, "scatter_add": _scattered,
    "index": _index, "index_put": _index, "_index_put_impl": _index, "where": _where, "tril": _squares, "triu": _squares,
    "scaled_dot_product_attention": _attention, "narrow": _narrow, "select": _narrow, "slice": lambda s: {**_narrow(s), "end": n(s, 0)},
    "split_with_sizes": _split, "split": _split_tensor, "chunk": _split, "pad": _pad, "constant_pad_nd": _pad, "im2col": _im2col,
    "as_strided": _strided, "expand": _expand, "broadcast_to": _expand, "multinomial": _probabilities, "bernoulli": _probabilities,
    "empty": _sized, "zeros": _sized, "ones": _sized, "full": _sized, "rand": _sized, "randn": _sized, "randint": _sized,
    "randperm": _sized, "eye": _sized, "linspace": lambda s: {**_sized(s), "start": 0, "end": 3}, "arange": _range,
    "unflatten": _flat, "unfold": _flat, "uniform_": _uniform, "normal_": _uniform, "bernoulli_": _uniform, "random_": _uniform,
    "repeat_interleave": lambda s: (_repeats if s.random() < 0.5 else _repeats_int)(s), "nuclear_norm": _mm,
    "embedding_renorm_": lambda s: {"self": (4, 2), "indices": integers(s, (3,), 4), "floating": True}, "one_hot": lambda s: {"self": integers(s, shape(s), 4), "num_classes": [-1, 4, 2][n(s, 0, 3)]},
    "dropout": lambda s: {"p": [0.0, 1.0, 0.5][n(s, 0, 3)], "floating": True},
    "view_as": lambda s: {"self": (2, 6), "other": (3, 4)}, "reshape_as": lambda s: {"self": (2, 6), "other": (3, 4)},
    "expand_as": lambda s: {"self": (1, 4), "other": (3, 4)},
}  # fmt: skip
