"""Random numbers in tensors of the GPU (`aten/src/ATen/native/cuda/DistributionTemplates.h`, `Distributions.cu`).

Bounds are checked as on the CPU, by the same functions; then a kernel draws. How many threads it has is part of what a seed
means: blocks of 256, as many as there are elements, but not more than the device can hold at once. So a large tensor gets other
numbers from another GPU.

Compared with PyTorch on a real GPU, uniform numbers, integers and bernoulli agree bit for bit, and normal numbers up to the
precision of the fast functions they are made with there. They have nothing to do with those of the CPU.

How the real one differs: tensors of more than 2**31 elements are filled in several launches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.random.checks import (
    check_bernoulli,
    check_exponential,
    check_integers,
    check_normal,
    check_uniform,
)
from internals.aten.native.views import expand
from internals.aten.overlap import check_no_internal_overlap, check_no_partial_overlap
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.generator import Generator
from internals.core.tensor_impl import TensorImpl

from .. import backend
from ..device_array import flat
from ..kernels import distributions as kernels
from ..launch import THREADS, threads_for
from ..random import generator_for
from .copy import real_parts, walk

WORDS_AT_ONCE = 4  # that a thread takes from its subsequence
DIGITS = {"float16": 11, "float32": 24, "float64": 53}


def uniform_(self: Any, from_: float, to: float, generator: Generator | None) -> Any:
    """Numbers in [from, to). Raises RuntimeError if the bounds are no range that the dtype has."""
    kind = check_uniform(self, from_, to)
    if kind.is_complex:
        uniform_(real_parts(self), from_, to, generator)
        return self
    number, compute = kind.np.type, _compute_type(kind)
    low, high = compute(number(from_)), compute(number(to))
    return _draw(self, generator, "uniform", kernels.between.bind(T=number, C=compute), low, high)


def normal_(self: Any, mean: float, std: float, generator: Generator | None) -> Any:
    """Normal numbers. A complex tensor gets half of the variance in each part. Raises RuntimeError for std < 0."""
    kind = check_normal(self, std, "normal_kernel_cuda")
    if kind.is_complex:
        parts = real_parts(self)
        normal_(parts, 0.0, std / 2**0.5, generator)
        parts.select(-1, 0).add_(mean)
        return self
    compute = _compute_type(kind)
    return _draw(self, generator, "normal", kernels.scaled.bind(T=kind.np.type), compute(mean), compute(std))


def exponential_(self: Any, rate: float, generator: Generator | None) -> Any:
    """Exponential numbers; none is 0. Raises RuntimeError unless rate > 0, and for a dtype that is not floating."""
    check_exponential(self, rate)
    kind = self.dtype
    compute = _compute_type(kind)
    transform = kernels.exponential.bind(T=kind.np.type, C=compute)
    return _draw(self, generator, "uniform", transform, compute(rate), compute(np.finfo(compute).eps / 2))


def bernoulli__float(self: Any, p: float, generator: Generator | None) -> Any:
    """1 with probability `p`, else 0. Raises RuntimeError unless 0 <= p <= 1."""
    check_bernoulli(self, p, "bernoulli_scalar_cuda_")
    compute = _compute_type(self.dtype)
    transform = kernels.below.bind(T=self.dtype.np.type)
    return _draw(self, generator, "uniform", transform, compute(p), compute(0))


def bernoulli__Tensor(self: Any, p: TensorImpl, generator: Generator | None) -> Any:
    """1 with the probability at the same place in `p`. A value that is no probability fails an assertion on the device."""
    if p.dtype.category != dt.FLOATING:
        raise RuntimeError(f"expected probabilities tensor to have floating type, got {SCALAR_TYPE_NAME[p.dtype]}")
    check_bernoulli(self, 1, "bernoulli_tensor_cuda_self_")
    check_no_internal_overlap(self)
    check_no_partial_overlap(self, p)
    if p.device is not self.device:
        p = ops._to_copy(p, None, None, self.device, None, False, None)
    expanded = expand(p, self.shape)
    n = self.numel()
    seed, position = generator_for(generator, self.device).philox_state(10)
    if n:
        sizes, (strides, p_strides) = _by_index(self), (self.stride() or (1,), expanded.stride() or (1,))
        kernel = kernels.bernoulli_by_element.bind(write=_toss(self.dtype))
        threads = (n + 3) // 4
        block = threads_for(threads, 512)
        grid = (threads + block - 1) // block
        kernel[grid, block](flat(self), flat(expanded), n, sizes, tuple(strides), tuple(p_strides), seed, position)
    return self


def random_from_(self: Any, from_: int, to: int | None, generator: Generator | None) -> Any:
    """Integers from `from` to `to - 1`; to the largest the dtype has when `to` is None."""
    span = check_integers(self, from_, to) - from_
    if span > (1 << 64) - 1:
        return _draw(self, generator, "bits", kernels.any_integer.bind(T=self.dtype.np.type), 0, 0, wide=True)
    return _integers(self, generator, from_, span, span >= 1 << 28)


def random_to_(self: Any, to: int, generator: Generator | None) -> Any:
    return random_from_(self, 0, to, generator)


def random_(self: Any, generator: Generator | None) -> Any:
    """Integers over all that the dtype can hold exactly, from 0 on."""
    kind = self.dtype
    if kind.is_complex:
        raise NotImplementedError(f"\"random_kernel_cuda\" not implemented for '{SCALAR_TYPE_NAME[kind]}'")
    largest = (
        2 ** DIGITS[kind.name] if kind.is_floating_point else 1 if kind is dt.bool_ else int(np.iinfo(kind.np).max)
    )
    return _integers(self, generator, 0, largest + 1, kind in (dt.int64, dt.float64))


def _integers(self: Any, generator: Generator | None, low: int, span: int, wide: bool) -> Any:
    kind = self.dtype
    transform = kernels.modulo.bind(T=kind.np.type, C=_through(kind))
    return _draw(self, generator, "bits", transform, np.uint64(span), np.int64(low), wide=wide)


def _draw(
    self: Any, generator: Generator | None, draw: str, transform: Any, a: Any, b: Any, wide: bool | None = None
) -> Any:
    """Fill `self`: `draw` names what the words become, `transform` what the numbers become. `wide`: of 64 bits each."""
    check_no_internal_overlap(self)
    n = self.numel()
    source = generator_for(generator, self.device)
    if not n:
        return self
    two = self.dtype is dt.float64 if wide is None else wide
    at_once = 2 if two else 4
    blocks = execution_blocks(n, self.device)
    step = THREADS * blocks
    seed, position = source.philox_state(((n - 1) // (step * at_once) + 1) * WORDS_AT_ONCE)
    sizes, (strides,) = walk(self)
    _instance(draw, transform, two)[blocks, threads_for(n)](flat(self), n, sizes, strides, seed, position, step, a, b)
    return self


def execution_blocks(n: int, device: Any) -> int:
    """How many blocks PyTorch launches for `n` elements: no more than can be on the device at once."""
    properties = backend.driver().properties(device.index)
    at_once = properties.multi_processor_count * (properties.max_threads_per_multi_processor // THREADS)
    return min((n + THREADS - 1) // THREADS, at_once)


def _instance(draw: str, transform: Any, two: bool) -> Any:
    """The kernel that draws four numbers at once, or two of 64 bits."""
    kernel, numbers = (kernels.distribution2, 2) if two else (kernels.distribution4, 4)
    return kernel.bind(draw=getattr(kernels, f"{draw}{numbers}"), write=kernels.store.bind(transform=transform))


def _toss(kind: dt.dtype) -> Any:
    return kernels.toss.bind(T=kind.np.type, C=_compute_type(kind))


def _by_index(t: Any) -> tuple[int, ...]:
    """The sizes, of at least one dimension: elements are counted in index order."""
    return tuple(t.shape) or (1,)


def _through(kind: dt.dtype) -> Any:
    """What an integer is converted to on its way to `kind`."""
    return np.float32 if kind is dt.float16 else np.int64


def _compute_type(kind: dt.dtype) -> Any:
    """What is drawn for `kind`: float16 is drawn as float32."""
    return np.float64 if kind is dt.float64 else np.float32


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for kind in (dt.float16, dt.float32, dt.float64):
        compute, number, two = _compute_type(kind), kind.np.type, kind is dt.float64
        for draw, transform in (
            ("uniform", kernels.between.bind(T=number, C=compute)),
            ("normal", kernels.scaled.bind(T=number)),
            ("uniform", kernels.below.bind(T=number)),
            ("uniform", kernels.exponential.bind(T=number, C=compute)),
        ):
            found.append((_instance(draw, transform, two), (f"{kind.name}[:]", *_LAUNCHED, compute, compute)))
    for kind in (dt.bool_, dt.uint8, dt.int32, dt.int64, dt.float16, dt.float32):
        transform = kernels.modulo.bind(T=kind.np.type, C=_through(kind))
        for two in (False, True):
            found.append((_instance("bits", transform, two), (f"{kind.name}[:]", *_LAUNCHED, np.uint64, np.int64)))
    found.append((_instance("bits", kernels.any_integer.bind(T=np.int64), True), ("int64[:]", *_LAUNCHED, int, int)))
    by_element = kernels.bernoulli_by_element.bind(write=_toss(dt.float32))
    numbers = (int, (int, int), (int, int), (int, int), np.uint64, np.uint64)
    return [*found, (by_element, ("float32[:]", "float16[:]", *numbers))]


_LAUNCHED = (int, (int, int), (int, int), np.uint64, np.uint64, int)
