"""Random numbers for tensors on the GPU (`aten/src/ATen/native/cuda/DistributionTemplates.h`,
`Distributions.cu`).

Each thread has its own subsequence of numbers, so the number of threads decides which numbers a
seed gives. There are blocks of 256 threads, enough for all elements, but not more than the device
can hold at once. So a large tensor gets other numbers on another GPU.

Compared with PyTorch on a real GPU, uniform numbers, integers and bernoulli agree bit for bit, and
normal numbers up to the precision of the fast functions used there. None of them are the numbers of
the CPU.

How the real one differs: tensors of more than 2**31 elements are filled in several launches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from internals._generated import ops
from internals.aten.native.views import expand
from internals.core import dtype as dt
from internals.core.generator import Generator
from internals.core.tensor_impl import Tensor

from .. import backend
from ..device_array import flat
from ..kernels import distributions as kernels
from ..launch import THREADS, threads_for
from ..random import generator_for
from .copy import real_parts, walk

if TYPE_CHECKING:
    from internals.machine_code.templates import DeviceFunction

WORDS_AT_ONCE = 4  # that a thread takes from its subsequence


def uniform(self: Tensor, generator: Generator | None, from_: float, to: float) -> None:
    """Fills `self` with uniform numbers of [from_, to)."""
    kind = self.dtype
    if kind.is_complex:
        self, kind = real_parts(self), kind.to_real()
    number, compute = kind.np.type, _compute_type(kind)
    low, high = compute(number(from_)), compute(number(to))
    _draw(self, generator, "uniform", kernels.between.bind(T=number, C=compute), low, high)


def normal(self: Tensor, generator: Generator | None, mean: float, std: float) -> None:
    """Fills `self` with normal numbers. Both parts of a complex number have the deviation `std`;
    `mean` is added to its real part only.
    """
    kind = self.dtype
    if kind.is_complex:
        parts = real_parts(self)
        normal(parts, generator, 0.0, std)
        parts.select(-1, 0).add_(mean)
        return
    compute = _compute_type(kind)
    _draw(
        self, generator, "normal", kernels.scaled.bind(T=kind.np.type), compute(mean), compute(std)
    )


def exponential(self: Tensor, generator: Generator | None, rate: float) -> None:
    """Fills `self` with exponential numbers, with the density rate * exp(-rate * x). None is 0."""
    kind = self.dtype
    compute = _compute_type(kind)
    transform = kernels.exponential.bind(T=kind.np.type, C=compute)
    _draw(self, generator, "uniform", transform, compute(rate), compute(np.finfo(compute).eps / 2))


def bernoulli(self: Tensor, generator: Generator | None, p: float) -> None:
    """Fills `self` with 1 with probability `p`, else 0."""
    compute = _compute_type(self.dtype)
    transform = kernels.below.bind(T=self.dtype.np.type)
    _draw(self, generator, "uniform", transform, compute(p), compute(0))


def bernoulli_by_element(self: Tensor, generator: Generator | None, p: Tensor) -> None:
    """The same with a probability for each element. One that is not from 0 to 1 fails an assertion
    on the device.
    """
    if p.device is not self.device:
        p = ops._to_copy(p, None, None, self.device, None, False, None)
    expanded = expand(p, self.shape)
    n = self.numel()
    # a thread uses 4 words; PyTorch reserves 10, which decides where the next draw begins
    seed, position = generator_for(generator, self.device).philox_state(10)
    sizes, (strides, p_strides) = (
        _by_index(self),
        (self.stride() or (1,), expanded.stride() or (1,)),
    )
    kernel = kernels.bernoulli_by_element.bind(write=_toss(self.dtype))
    threads = (n + 3) // 4
    block = threads_for(threads, 512)
    grid = (threads + block - 1) // block
    kernel[grid, block](
        flat(self), flat(expanded), n, sizes, tuple(strides), tuple(p_strides), seed, position
    )


def integers(self: Tensor, generator: Generator | None, low: int, span: int, wide: bool) -> None:
    """Fills `self` with integers from `low` to low + span - 1, each drawn from 64 bits if `wide`,
    else from 32. A span of 2**64 takes all 64 bits as they are.
    """
    kind = self.dtype
    if span > (1 << 64) - 1:
        _draw(self, generator, "bits", kernels.any_integer.bind(T=kind.np.type), 0, 0, wide=True)
        return
    transform = kernels.modulo.bind(T=kind.np.type, C=_through(kind))
    _draw(self, generator, "bits", transform, np.uint64(span), np.int64(low), wide=wide)


def _draw(
    self: Tensor,
    generator: Generator | None,
    draw: str,
    transform: DeviceFunction,
    a: object,
    b: object,
    wide: bool | None = None,
) -> None:
    """Fills `self`. `draw` names the function that makes numbers of words ("uniform", "normal",
    "bits"), `transform` makes elements of numbers, with `a` and `b`. `wide`: draw two numbers of 64
    bits at a time, not four of 32; None: if the dtype is float64.
    """
    n = self.numel()
    two = self.dtype is dt.float64 if wide is None else wide
    at_once = 2 if two else 4
    blocks = execution_blocks(n, self.device)
    step = THREADS * blocks
    # the generator moves on by the words that the busiest thread uses
    seed, position = generator_for(generator, self.device).philox_state(
        ((n - 1) // (step * at_once) + 1) * WORDS_AT_ONCE
    )
    sizes, (strides,) = walk(self)
    _instance(draw, transform, two)[blocks, threads_for(n)](
        flat(self), n, sizes, strides, seed, position, step, a, b
    )


def execution_blocks(n: int, device: Any) -> int:
    """The number of blocks that PyTorch launches for `n` elements: not more than the device can
    hold at once.
    """
    properties = backend.driver().properties(device.index)
    at_once = properties.multi_processor_count * (
        properties.max_threads_per_multi_processor // THREADS
    )
    return min((n + THREADS - 1) // THREADS, at_once)


def _instance(draw: str, transform: DeviceFunction, two: bool) -> Any:
    """The kernel that draws four numbers at a time, or two of 64 bits."""
    kernel, numbers = (kernels.distribution2, 2) if two else (kernels.distribution4, 4)
    return kernel.bind(
        draw=getattr(kernels, f"{draw}{numbers}"), write=kernels.store.bind(transform=transform)
    )


def _toss(kind: dt.dtype) -> Any:
    """The `write` of `bernoulli_by_element` for results of dtype `kind`."""
    return kernels.toss.bind(T=kind.np.type, C=_compute_type(kind))


def _by_index(t: Tensor) -> tuple[int, ...]:
    """The sizes, of at least one dimension: elements are counted in index order."""
    return tuple(t.shape) or (1,)


def _through(kind: dt.dtype) -> Any:
    """The numpy type that an integer is converted to before it is converted to `kind`."""
    return np.float32 if kind is dt.float16 else np.int64


def _compute_type(kind: dt.dtype) -> Any:
    """The numpy type that numbers of `kind` are drawn in: float64, or else float32."""
    return np.float64 if kind is dt.float64 else np.float32
