"""Random numbers in tensors of the GPU (`aten/src/ATen/native/cuda/DistributionTemplates.h`,
`Distributions.cu`).

How many threads a kernel has that draws is part of what a seed means: blocks of 256, as many as
there are elements, but not more than the device can hold at once. So a large tensor gets other
numbers from another GPU.

Compared with PyTorch on a real GPU, uniform numbers, integers and bernoulli agree bit for bit, and
normal numbers up to the precision of the fast functions they are made with there. They have nothing
to do with those of the CPU.

How the real one differs: tensors of more than 2**31 elements are filled in several launches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from internals._generated import ops
from internals.aten.native.views import expand
from internals.core import dtype as dt
from internals.core.generator import Generator

from .. import backend
from ..device_array import flat
from ..kernels import distributions as kernels
from ..launch import THREADS, threads_for
from ..random import generator_for
from .copy import real_parts, walk

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.machine_code.templates import DeviceFunction

WORDS_AT_ONCE = 4  # that a thread takes from its subsequence


def uniform(self: Tensor, generator: Generator | None, from_: float, to: float) -> None:
    kind = self.dtype
    if kind.is_complex:
        self, kind = real_parts(self), kind.to_real()
    number, compute = kind.np.type, _compute_type(kind)
    low, high = compute(number(from_)), compute(number(to))
    _draw(self, generator, "uniform", kernels.between.bind(T=number, C=compute), low, high)


def normal(self: Tensor, generator: Generator | None, mean: float, std: float) -> None:
    """A complex number gets `mean` in its real part."""
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
    """None of the numbers is 0."""
    kind = self.dtype
    compute = _compute_type(kind)
    transform = kernels.exponential.bind(T=kind.np.type, C=compute)
    _draw(self, generator, "uniform", transform, compute(rate), compute(np.finfo(compute).eps / 2))


def bernoulli(self: Tensor, generator: Generator | None, p: float) -> None:
    compute = _compute_type(self.dtype)
    transform = kernels.below.bind(T=self.dtype.np.type)
    _draw(self, generator, "uniform", transform, compute(p), compute(0))


def bernoulli_by_element(self: Tensor, generator: Generator | None, p: Tensor) -> None:
    """A value of `p` that is no probability fails an assertion on the device."""
    if p.device is not self.device:
        p = ops._to_copy(p, None, None, self.device, None, False, None)
    expanded = expand(p, self.shape)
    n = self.numel()
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
    """`span` of them from `low` on; `wide`: from 64 bits each."""
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
    """Fill `self`: `draw` names what the words become, `transform` what the numbers become. `wide`:
    of 64 bits each.
    """
    n = self.numel()
    two = self.dtype is dt.float64 if wide is None else wide
    at_once = 2 if two else 4
    blocks = execution_blocks(n, self.device)
    step = THREADS * blocks
    seed, position = generator_for(generator, self.device).philox_state(
        ((n - 1) // (step * at_once) + 1) * WORDS_AT_ONCE
    )
    sizes, (strides,) = walk(self)
    _instance(draw, transform, two)[blocks, threads_for(n)](
        flat(self), n, sizes, strides, seed, position, step, a, b
    )


def execution_blocks(n: int, device: Any) -> int:
    """How many blocks PyTorch launches for `n` elements: no more than can be on the device at
    once.
    """
    properties = backend.driver().properties(device.index)
    at_once = properties.multi_processor_count * (
        properties.max_threads_per_multi_processor // THREADS
    )
    return min((n + THREADS - 1) // THREADS, at_once)


def _instance(draw: str, transform: DeviceFunction, two: bool) -> Any:
    """The kernel that draws four numbers at once, or two of 64 bits."""
    kernel, numbers = (kernels.distribution2, 2) if two else (kernels.distribution4, 4)
    return kernel.bind(
        draw=getattr(kernels, f"{draw}{numbers}"), write=kernels.store.bind(transform=transform)
    )


def _toss(kind: dt.dtype) -> Any:
    return kernels.toss.bind(T=kind.np.type, C=_compute_type(kind))


def _by_index(t: Tensor) -> tuple[int, ...]:
    """The sizes, of at least one dimension: elements are counted in index order."""
    return tuple(t.shape) or (1,)


def _through(kind: dt.dtype) -> Any:
    """What an integer is converted to on its way to `kind`."""
    return np.float32 if kind is dt.float16 else np.int64


def _compute_type(kind: dt.dtype) -> Any:
    """What is drawn for `kind`: float16 is drawn as float32."""
    return np.float64 if kind is dt.float64 else np.float32
