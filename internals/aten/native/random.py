"""Random tensors (`aten/src/ATen/native/Distributions.cpp`, `TensorFactories.cpp`).

The in-place ops do the work: they check their bounds, draw `numel` numbers from the generator and store them in the order in
which the elements lie in memory. `rand`, `randn`, `randint` and their kind are an empty tensor and one of these. What the
numbers are made of, and how far they agree with PyTorch's, is told in `distributions`.

`multinomial` without replacement divides each weight by an exponential number and takes the largest: the same trick as in
PyTorch, and the same samples where `bernoulli_(p)` agrees. Its samples with replacement agree too.

How the real one differs: see `distributions`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes, memory_order
from internals.aten.native import distributions as draw
from internals.aten.native.factories import empty, empty_like
from internals.aten.native.views import expand
from internals.aten.overlap import check_no_internal_overlap
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.scalar import C_NAME, checked
from internals.core.tensor_impl import TensorImpl, array, empty_contiguous
from internals.random import Generator, default_generator, uniform32, uniform64

_TYPE_NAME = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long"}
_DIGITS = {"float16": 11, "float32": 24, "float64": 53}


def uniform_(self: TensorImpl, from_: float, to: float, generator: Generator | None) -> Any:
    """Numbers in [from, to). Raises RuntimeError if the bounds are no range that the dtype has."""
    kind = check_uniform(self, from_, to)
    return _store(self, lambda n: draw.uniform(_generator(generator), n, _real(kind), from_, to))


def normal_(self: TensorImpl, mean: float, std: float, generator: Generator | None) -> Any:
    """Normal numbers. A complex tensor gets half of the variance in each part. Raises RuntimeError for std < 0."""
    kind = check_normal(self, std, "normal_kernel_cpu")
    g = _generator(generator)
    if kind.is_complex:
        std /= 2**0.5
    count = self.numel() * (2 if kind.is_complex else 1)
    if count >= draw.BLOCK and self.is_contiguous():
        return _store(self, lambda n: draw.normal_block(g, n, _real(kind), mean, std))
    return _store(self, lambda n: draw.normal_serial(g, n) * std + mean)


def random_from_(self: TensorImpl, from_: int, to: int | None, generator: Generator | None) -> Any:
    """Integers from `from` to `to - 1`; to the largest the dtype has when `to` is None."""
    top = check_integers(self, from_, to)
    return _store(self, lambda n: draw.integers(_generator(generator), n, from_, top - from_))


def random_to_(self: TensorImpl, to: int, generator: Generator | None) -> Any:
    return random_from_(self, 0, to, generator)


def random_(self: TensorImpl, generator: Generator | None) -> Any:
    """Integers over all that the dtype can hold exactly, from 0 on."""
    kind, g = self.dtype, _generator(generator)
    if kind.is_complex:
        raise NotImplementedError(f"\"random_kernel_cpu\" not implemented for '{SCALAR_TYPE_NAME[kind]}'")
    span = np.uint64(_limits(kind)[1] + 1)
    words = g.random64 if kind.itemsize == 8 else g.random32
    return _store(self, lambda n: (words(n) % span).view(np.int64))


def bernoulli__float(self: TensorImpl, p: float, generator: Generator | None) -> Any:
    """1 with probability `p`, else 0. Raises RuntimeError unless 0 <= p <= 1."""
    check_bernoulli(self, p, "bernoulli_scalar_cpu_")
    return _store(self, lambda n: uniform64(_generator(generator), n) < p)


def bernoulli__Tensor(self: TensorImpl, p: TensorImpl, generator: Generator | None) -> Any:
    """1 with the probability at the same place in `p`. Raises RuntimeError unless these are probabilities of the same shape."""
    if p.dtype.category != dt.FLOATING:
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{SCALAR_TYPE_NAME[p.dtype]}'")
    values = array(expand(p, self.shape))
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    g, n = _generator(generator), self.numel()
    u = uniform64(g, n) if p.dtype is dt.float64 else uniform32(g, n)
    array(self)[...] = u.reshape(self.shape) < values
    return self


def bernoulli(self: TensorImpl, generator: Generator | None) -> Any:
    """1 with the probability each element says, else 0."""
    return _stub("bernoulli__Tensor", _like(self), self, generator)


def bernoulli_p(self: TensorImpl, p: float, generator: Generator | None) -> Any:
    return _stub("bernoulli__float", _like(self), p, generator)


def randperm(n: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return randperm_generator(n, None, dtype, layout, device, pin_memory)


def randperm_generator(
    n: int, generator: Generator | None, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    """0 to n-1 in random order. Raises RuntimeError when the dtype cannot hold n."""
    kind = dtype or dt.int64
    t = empty((n,), kind, layout, device, pin_memory)
    check_permutation(n, kind)
    return _store(t, lambda count: draw.permutation(_generator(generator), count))


def multinomial(self: TensorImpl, num_samples: int, replacement: bool, generator: Generator | None) -> Any:
    """`num_samples` indices from each row, drawn with probabilities proportional to its weights.

    Raises RuntimeError for weights that are negative, not finite or all zero, or when there are too few to draw from.
    """
    weights = array(self)
    check_weights(self, weights, num_samples, replacement)
    rows = weights.reshape(-1, weights.shape[-1])
    g = _generator(generator)
    if not replacement or num_samples == 1:
        q = draw.exponential(g, rows.size).reshape(rows.shape).astype(weights.dtype)
        with np.errstate(all="ignore"):
            keys = rows / q
        picked = np.argsort(-keys, axis=1, kind="stable")[:, :num_samples]
    else:
        total = np.cumsum(rows, axis=1)
        cumulative = total / total[:, -1:]
        cumulative[:, -1] = 1
        u = uniform64(g, len(rows) * num_samples).reshape(len(rows), num_samples)
        picked = np.stack([np.searchsorted(c, v, side="left") for c, v in zip(cumulative.astype(np.float64), u)])
    t = empty_contiguous((*self.shape[:-1], num_samples), dt.int64)
    array(t)[...] = picked.reshape(t.shape)
    return t


def rand(size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return _stub("uniform_", empty(size, dtype, layout, device, pin_memory), 0.0, 1.0, None)


def rand_generator(
    size: Sequence[int], generator: Generator | None, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return _stub("uniform_", empty(size, dtype, layout, device, pin_memory), 0.0, 1.0, generator)


def randn(size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return _stub("normal_", empty(size, dtype, layout, device, pin_memory), 0.0, 1.0, None)


def randn_generator(
    size: Sequence[int], generator: Generator | None, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return _stub("normal_", empty(size, dtype, layout, device, pin_memory), 0.0, 1.0, generator)


def randint(high: int, size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return randint_low_generator(0, high, size, None, dtype, layout, device, pin_memory)


def randint_generator(
    high: int, size: Sequence[int], generator: Generator | None, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return randint_low_generator(0, high, size, generator, dtype, layout, device, pin_memory)


def randint_low(low: int, high: int, size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return randint_low_generator(low, high, size, None, dtype, layout, device, pin_memory)


def randint_low_generator(
    low: int,
    high: int,
    size: Sequence[int],
    generator: Generator | None,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Any:
    """Integers from `low` to `high - 1`."""
    return _stub("random_from_", empty(size, dtype or dt.int64, layout, device, pin_memory), low, high, generator)


def rand_like(self: TensorImpl, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    return _stub("uniform_", empty_like(self, dtype, layout, device, pin_memory, memory_format), 0.0, 1.0, None)


def randn_like(self: TensorImpl, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    return _stub("normal_", empty_like(self, dtype, layout, device, pin_memory, memory_format), 0.0, 1.0, None)


def randint_like(
    self: TensorImpl, high: int, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Any:
    return _stub("random_from_", empty_like(self, dtype, layout, device, pin_memory, memory_format), 0, high, None)


def randint_like_low_dtype(
    self: TensorImpl, low: int, high: int, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Any:
    return _stub("random_from_", empty_like(self, dtype, layout, device, pin_memory, memory_format), low, high, None)


def normal_Tensor_float(mean: TensorImpl, std: float, generator: Generator | None) -> Any:
    """Normal numbers with a mean for each element."""
    return _shifted(_stub("normal_", _like(mean), 0.0, std, generator), mean)


def normal_float_Tensor(mean: float, std: TensorImpl, generator: Generator | None) -> Any:
    """Normal numbers with a standard deviation for each element."""
    return _scaled(_stub("normal_", _like(std), 0.0, 1.0, generator), std, mean)


def normal_Tensor_Tensor(mean: TensorImpl, std: TensorImpl, generator: Generator | None) -> Any:
    """Normal numbers with a mean and a standard deviation for each element; they broadcast."""
    t = empty_contiguous(broadcast_shapes(mean.shape, std.shape), mean.dtype, mean.device)
    return _scaled(_stub("normal_", t, 0.0, 1.0, generator), std, mean)


def normal_float_float(
    mean: float,
    std: float,
    size: Sequence[int],
    generator: Generator | None,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Any:
    return _stub("normal_", empty(size, dtype, layout, device, pin_memory), mean, std, generator)


def _store(t: Any, numbers: Any) -> Any:
    """Call `numbers(count)` and store what it returns in `t`, in the order of its memory; a complex number takes two."""
    check_no_internal_overlap(t)
    if t.device is not CPU or not t.numel():
        return t
    a, n = array(t), t.numel()
    if t.is_complex():
        pairs = numbers(2 * n).reshape(-1, 2)
        values = pairs[:, 0] + 1j * pairs[:, 1]
    else:
        values = numbers(n)
    order = memory_order(t.shape, [t.stride()]) if not t.is_contiguous() else tuple(range(t.dim()))
    with np.errstate(all="ignore"):
        a.transpose(order)[...] = values.reshape([t.shape[d] for d in order])
    return t


def _scaled(t: Any, std: Any, mean: Any) -> Any:
    """t * std + mean, in place. Whether all of `std` is >= 0 the host has to know: for a GPU it waits here."""
    if std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    std = std.detach()
    if std.numel() and not bool((std >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if t.device is CPU:
        array(t)[...] *= array(std)
    else:
        ops.mul__Tensor(t, std)
    return _shifted(t, mean)


def _shifted(t: Any, mean: Any) -> Any:
    """t + mean, in place; `mean` is a tensor or a number."""
    if t.device is not CPU:
        return ops.add__Tensor(t, mean.detach(), 1) if hasattr(mean, "detach") else ops.add__Scalar(t, mean, 1)
    array(t)[...] += array(mean) if isinstance(mean, TensorImpl) else mean
    return t


def _stub(kernel: str, t: Any, *args: Any) -> Any:
    """Run an in-place kernel of this module, or the one of that name for the GPU (`DispatchStub`)."""
    if t.device.type == "cuda":
        from internals.cuda.native import random as kernels_of_the_gpu

        return getattr(kernels_of_the_gpu, kernel)(t, *args)
    return globals()[kernel](t, *args)


def _generator(given: Generator | None) -> Generator:
    given = given or default_generator
    if given.device is not CPU:
        raise RuntimeError(f"Expected a 'cpu' device type for generator but found '{given.device.type}'")
    return given


def _like(t: TensorImpl) -> Any:
    return empty_like(t, None, None, None, None, None)


def check_uniform(t: TensorImpl, low: float, high: float, kernel: str = "check_uniform_bounds") -> dtype:
    """The dtype to draw. Raises RuntimeError unless low <= high are two finite numbers of it."""
    kind = _floating(t, kernel)
    highest = float(np.finfo(_real(kind).np).max)
    for name, value in (("from", low), ("to", high)):
        if not -highest <= value <= highest:
            raise RuntimeError(f"{name} is out of bounds for {C_NAME[_real(kind).name]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return kind


def check_normal(t: TensorImpl, std: float, kernel: str) -> dtype:
    """The dtype to draw. Raises RuntimeError for std < 0, NotImplementedError for integers."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return _floating(t, kernel)


def check_integers(t: TensorImpl, low: int, high: int | None) -> int:
    """What comes after the largest integer to draw, by default after the largest there is. Raises RuntimeError."""
    if t.is_complex():
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    top = int(_limits(t.dtype)[1]) + 1 if high is None else high
    _check_bounds(low, top, t.dtype)
    return top


def check_bernoulli(t: TensorImpl, p: float, kernel: str) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if t.is_complex():
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAME[t.dtype]}'")


def _floating(t: TensorImpl, kernel: str) -> dtype:
    if t.dtype.category < dt.FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAME[t.dtype]}'")
    return t.dtype


def _real(kind: dtype) -> dtype:
    return kind.to_real()


def _limits(kind: dtype) -> tuple[int, int]:
    """The integers that `kind` holds exactly, smallest and largest."""
    if kind.category == dt.BOOL:
        return 0, 1
    if kind.category == dt.INTEGRAL:
        info = np.iinfo(kind.np)
        return int(info.min), int(info.max)
    return -(2 ** _DIGITS[kind.name]), 2 ** _DIGITS[kind.name]


def _check_bounds(low: int, high: int, kind: dtype) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    smallest, largest = _limits(kind)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if kind.category == dt.FLOATING:
            if abs(value) > largest:
                power = _DIGITS[kind.name]
                warnings.warn(
                    f"{name} is out of bounds [-(2^{power}), 2^{power}]. Due to precision limitations {C_NAME[kind.name]} can "
                    "support discrete uniform distribution only within this range. This warning will become an error in "
                    "version 1.7 release, please fix the code in advance",
                    UserWarning,
                    stacklevel=5,
                )
        elif not smallest <= value <= largest:
            raise RuntimeError(f"{name} is out of bounds for {_TYPE_NAME.get(kind.name, kind.name)}")


def check_permutation(n: int, kind: dtype) -> None:
    """Raises RuntimeError when the dtype cannot hold n, NotImplementedError for bool and complex."""
    if kind.category == dt.FLOATING and n > 2 ** _DIGITS[kind.name] + 1:
        raise RuntimeError(f"n cannot be greater than {2 ** _DIGITS[kind.name] + 1} for {SCALAR_TYPE_NAME[kind]} type.")
    if kind.category in (dt.BOOL, dt.COMPLEX):
        raise NotImplementedError(f"\"randperm\" not implemented for '{SCALAR_TYPE_NAME[kind]}'")
    checked(n, kind)


def check_weights(t: TensorImpl, weights: Any, num_samples: int, replacement: bool) -> None:
    """Raises RuntimeError for weights nothing can be drawn from; `weights` is a numpy array of those in `t`."""
    if t.dtype.category != dt.FLOATING:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {SCALAR_TYPE_NAME[t.dtype]}"
        )
    if t.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > t.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not prod(t.shape):
        raise RuntimeError("multinomial: there are no weights to draw from")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
