"""Factories of random tensors: `rand`, `randn`, `randint` and their kind
(`aten/src/ATen/native/TensorFactories.cpp`).

Each makes an empty tensor, or resizes `out`, and calls the in-place operator that fills it. The
overloads differ in their arguments: with a generator or without, with a size or, those named
`_like`, with a tensor that gives size and dtype.

How the real one differs: `transformations` says how far the numbers agree with PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.aten.native.factories import empty_like
from internals.core import dtype as dt
from internals.core.device import CPU, device
from internals.core.dtype import dtype
from internals.core.formats import layout
from internals.core.generator import Generator
from internals.core.scalar import checked
from internals.core.tensor_impl import Tensor, array

from .discrete import random_from_
from .filling import target
from .uniform_normal import normal_, uniform_


def rand(
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """Uniform numbers in [0, 1). Raises NotImplementedError for integers and bools."""
    return uniform_(target(size, dtype, layout, device, pin_memory, out), 0.0, 1.0, None)


def rand_generator(
    size: Sequence[int],
    generator: Generator | None,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """`rand` from a given generator; None means the default one."""
    return uniform_(target(size, dtype, layout, device, pin_memory, out), 0.0, 1.0, generator)


def randn(
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """Standard normal numbers. Raises NotImplementedError for integers and bools."""
    return normal_(target(size, dtype, layout, device, pin_memory, out), 0.0, 1.0, None)


def randn_generator(
    size: Sequence[int],
    generator: Generator | None,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """`randn` from a given generator."""
    return normal_(target(size, dtype, layout, device, pin_memory, out), 0.0, 1.0, generator)


def randint(
    high: int,
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """Integers from 0 to `high - 1`, int64 by default. Raises RuntimeError for high < 1, and where
    the dtype cannot hold them.
    """
    return randint_low_generator(0, high, size, None, dtype, layout, device, pin_memory, out)


def randint_generator(
    high: int, size: Sequence[int], generator: Generator | None, dtype: dtype | None,
    layout: layout | None, device: device | None, pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:  # fmt: skip
    """`randint` from a given generator."""
    return randint_low_generator(0, high, size, generator, dtype, layout, device, pin_memory, out)


def randint_low(
    low: int,
    high: int,
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """`randint` from `low` on."""
    return randint_low_generator(low, high, size, None, dtype, layout, device, pin_memory, out)


def randint_low_generator(
    low: int,
    high: int,
    size: Sequence[int],
    generator: Generator | None,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """Integers from `low` to `high - 1`."""
    return random_from_(
        target(size, dtype or dt.int64, layout, device, pin_memory, out), low, high, generator
    )


def rand_like(self: Tensor, *options: Any) -> Any:
    """Uniform numbers in [0, 1) in the shape of `self`. `options` are dtype, layout, device,
    pin_memory and memory_format; those that are None are taken from `self`.
    """
    return rand_like_generator(self, None, *options)


def rand_like_generator(self: Tensor, generator: Generator | None, *options: Any) -> Any:
    """Uniform numbers in [0, 1)."""
    return uniform_(empty_like(self, *options), 0.0, 1.0, generator)


def randn_like(self: Tensor, *options: Any) -> Any:
    """Standard normal numbers; `options` as in `rand_like`."""
    return randn_like_generator(self, None, *options)


def randn_like_generator(self: Tensor, generator: Generator | None, *options: Any) -> Any:
    """Standard normal numbers."""
    return normal_(empty_like(self, *options), 0.0, 1.0, generator)


def randint_like(self: Tensor, high: int, *options: Any) -> Any:
    """Integers from 0 to `high - 1`; `options` as in `rand_like`."""
    return randint_like_low_generator_dtype(self, 0, high, None, *options)


def randint_like_generator(
    self: Tensor, high: int, generator: Generator | None, *options: Any
) -> Any:
    """`randint_like` from a given generator."""
    return randint_like_low_generator_dtype(self, 0, high, generator, *options)


def randint_like_low_dtype(self: Tensor, low: int, high: int, *options: Any) -> Any:
    """`randint_like` from `low` on."""
    return randint_like_low_generator_dtype(self, low, high, None, *options)


def randint_like_low_generator_dtype(
    self: Tensor, low: int, high: int, generator: Generator | None, *options: Any
) -> Any:
    """Integers from `low` to `high - 1`."""
    return random_from_(empty_like(self, *options), low, high, generator)


def randint_like_Tensor(self: Tensor, high: Tensor, *options: Any) -> Any:
    """`randint_like` with `high` in a 0-d tensor."""
    return randint_like_Tensor_generator(self, high, None, *options)


def randint_like_Tensor_generator(
    self: Tensor, high: Tensor, generator: Generator | None, *options: Any
) -> Any:
    """Integers from 0 to `high - 1`. Raises RuntimeError unless `high` is one number on the CPU."""
    if high.dim() or high.device is not CPU:
        raise RuntimeError("high must be a scalar tensor and on CPU")
    return randint_like_low_generator_dtype(
        self, 0, int(checked(array(high).item(), dt.int64)), generator, *options
    )
