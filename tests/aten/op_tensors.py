"""Tensors that are in no library yet: random numbers, a dtype and a layout, from which `internals`
and PyTorch build the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
        return (
            f"{self.layout} {self.values.dtype} {list(self.values.shape)} "
            f"{self.values.ravel()[:12].tolist()}"
        )


@dataclass
class Dtype:
    """A dtype by name; also a memory format."""

    name: str


def shape(stream: Stream) -> Sizes:
    return tuple(
        int(n)
        for n in stream.choice(
            [0, 1, 2, 3, 4, 5], stream.choice([0, 1, 2, 3, 4]), p=[0.06, 0.14, 0.25, 0.25, 0.2, 0.1]
        )
    )


def related(stream: Stream, sizes: Sizes) -> Sizes:
    """Sizes that broadcast with `sizes`, mostly the same."""
    roll = stream.random()
    if roll < 0.5:
        return sizes
    if roll < 0.95:
        return tuple(
            1 if stream.random() < 0.3 else n
            for n in sizes[int(stream.integers(0, len(sizes) + 1)) :]
        )
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


def tensor(stream: Stream, sizes: Sizes, dtype: str, layout: str | None = None) -> TensorSpec:
    a = np.asarray(random_array(stream, sizes, dtype))
    if dtype in FLOATS and a.size and stream.random() < 0.15:
        a.flat[int(stream.integers(a.size))] = stream.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    layout = layout or str(stream.choice(LAYOUTS))
    if layout == "expanded" and a.ndim and a.shape[0]:
        a = np.broadcast_to(a[:1], a.shape).copy()
    return TensorSpec(a, layout)


Recipe = Callable[[Stream], dict[str, Any]]


def n(stream: Stream, low: int = 1, high: int = 5) -> int:
    return int(stream.integers(low, high))


def integers(stream: Stream, sizes: Sizes, below: int) -> TensorSpec:
    return TensorSpec(stream.integers(0, max(below, 1), sizes))


def uniform(stream: Stream, sizes: Sizes) -> TensorSpec:
    return TensorSpec(stream.uniform(0.05, 0.95, sizes).astype("float32"))
