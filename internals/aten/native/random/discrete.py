"""Random integers, choices and permutations (`aten/src/ATen/native/Distributions.cpp`,
`TensorFactories.cpp`).

`multinomial` without replacement divides each weight by an exponential number and takes the largest
quotients, as PyTorch does. An exponential number divided by w is the time until the first event at
rate w; of several events with rates w, each is the first one with a probability proportional to its
w. The samples are PyTorch's where `exponential_` agrees; those with replacement agree, too.

How the real one differs: on Intel processors it draws `bernoulli_(p)` from a stream of MKL (see
`transformations`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.broadcasting import memory_order
from internals.aten.dtype_checks import check_dtype, not_implemented
from internals.aten.native.factories import empty
from internals.aten.native.views import expand
from internals.aten.on_device import on_device
from internals.aten.overlap import check_no_internal_overlap, check_no_partial_overlap
from internals.core import dtype as dt
from internals.core.device import CPU, device
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.formats import layout
from internals.core.generator import Generator, uniform32, uniform64
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from . import transformations as draw
from .checks import (
    check_bernoulli,
    check_geometric,
    check_integers,
    check_permutation,
    check_weights,
    limits,
)
from .filling import kernel_device, like, on_cpu, store, target


def random_from_(self: Tensor, from_: int, to: int | None, generator: Generator | None) -> Any:
    """Integers from `from_` to `to - 1`; up to the largest of the dtype when `to` is None."""
    top = check_integers(self, from_, to)
    # a range of 2 ** 28 numbers or more takes two 32-bit words for each
    how = generator, from_, top - from_, top - from_ >= 1 << 28
    return store(
        self,
        lambda n: draw.integers(on_cpu(generator), n, from_, top - from_),
        "random.integers",
        *how,
    )


def random_to_(self: Tensor, to: int, generator: Generator | None) -> Any:
    """Integers from 0 to `to - 1`."""
    return random_from_(self, 0, to, generator)


def random_(self: Tensor, generator: Generator | None) -> Any:
    """Integers from 0 to the largest that the dtype holds exactly. Raises NotImplementedError for
    complex.
    """
    d = self.dtype
    if d.is_complex:
        raise not_implemented(f"random_kernel_{kernel_device(self)}", d)
    span, wide = limits(d)[1] + 1, d.itemsize == 8

    def numbers(n: int) -> Any:
        g = on_cpu(generator)
        return ((g.random64 if wide else g.random32)(n) % np.uint64(span)).view(np.int64)

    return store(self, numbers, "random.integers", generator, 0, span, wide)


def bernoulli__float(self: Tensor, p: float, generator: Generator | None) -> Any:
    """1 with probability `p`, else 0. Raises RuntimeError unless 0 <= p <= 1."""
    check_bernoulli(self, p, f"bernoulli_scalar_{kernel_device(self)}_")
    return store(
        self, lambda n: uniform64(on_cpu(generator), n) < p, "random.bernoulli", generator, p
    )


def bernoulli__Tensor(self: Tensor, p: Tensor, generator: Generator | None) -> Any:
    """1 with the probability that `p`, expanded to the shape of `self`, has at the same position,
    else 0. Raises RuntimeError for elements of `p` outside of 0...1.
    """
    if kernel_device(self) == "cuda" and p.dtype.category != dt.FLOATING:
        raise RuntimeError(
            f"expected probabilities tensor to have floating type, got {SCALAR_TYPE_NAME[p.dtype]}"
        )
    if kernel_device(self) == "cuda":
        check_bernoulli(self, 1, "bernoulli_tensor_cuda_self_")
    check_dtype("bernoulli_tensor_cpu_p_", p.dtype, dt.FLOATING)
    check_no_internal_overlap(self)
    check_no_partial_overlap(self, p)
    if self.device is not CPU:
        return on_device("random.bernoulli_by_element", self, generator, p)
    p = expand(p, self.shape)
    # the generator is read in the order in which PyTorch's TensorIterator visits the elements
    order = memory_order(
        self.shape, [tuple(s * t.dtype.itemsize for s in t.stride()) for t in (self, p)]
    )
    here, values = array(self).transpose(order), array(p).transpose(order)
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    g, n = on_cpu(generator), self.numel()
    u = uniform64(g, n) if p.dtype is dt.float64 else uniform32(g, n)
    here[...] = u.reshape(here.shape) < values
    return self


def bernoulli(self: Tensor, generator: Generator | None) -> Any:
    """1 with the probability that each element of `self` is, else 0: a new tensor like `self`."""
    return bernoulli__Tensor(like(self), self, generator)


def bernoulli_out(self: Tensor, generator: Generator | None, out: Tensor) -> Any:
    """`bernoulli` written to `out`, in its dtype."""
    check_no_partial_overlap(out, self)
    return bernoulli__Tensor(target(self.shape, None, None, None, None, out), self, generator)


def bernoulli_p(self: Tensor, p: float, generator: Generator | None) -> Any:
    """1 with probability `p`, else 0, in the shape of `self`."""
    return bernoulli__float(like(self), p, generator)


def randperm(
    n: int,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """0 to n - 1 in random order, int64 by default."""
    return randperm_generator(n, None, dtype, layout, device, pin_memory)


def randperm_generator(
    n: int,
    generator: Generator | None,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
) -> Any:
    """0 to n - 1 in random order. Raises RuntimeError when the dtype cannot hold n."""
    kind = dtype or dt.int64
    t = empty((n,), kind, layout, device, pin_memory)
    check_permutation(n, kind)
    return store(
        t,
        lambda count: draw.permutation(on_cpu(generator), count),
        "sampling.permutation",
        generator,
    )


def multinomial(
    self: Tensor, num_samples: int, replacement: bool, generator: Generator | None
) -> Any:
    """`num_samples` indices from each row of `self`, (n) or (rows, n), drawn with probabilities
    proportional to the row's weights: int64, (num_samples) or (rows, num_samples).

    Raises RuntimeError for weights that are negative, not finite or all zero, or when there are too
    few to draw from.
    """
    weights = array(self)
    check_weights(self, weights, num_samples, replacement)
    rows = weights.reshape(-1, weights.shape[-1])
    g = on_cpu(generator)
    if not replacement or num_samples == 1:
        q = draw.exponential(g, rows.size).reshape(rows.shape).astype(weights.dtype)
        with np.errstate(all="ignore"):
            keys = rows / q
        # stable: of equal keys the first one, as a maximum would find it
        picked = np.argsort(-keys, axis=1, kind="stable")[:, :num_samples]
    else:
        # u is uniform in [0, 1): the interval of the cumulative sums that it falls in is the index
        total = np.cumsum(rows, axis=1)
        cumulative = total / total[:, -1:]
        cumulative[:, -1] = 1
        u = uniform64(g, len(rows) * num_samples).reshape(len(rows), num_samples)
        picked = np.empty(u.shape, np.int64)
        for row, c, v in zip(picked, cumulative.astype(np.float64), u):
            row[...] = np.searchsorted(c, v, side="left")
    t = empty_contiguous((*self.shape[:-1], num_samples), dt.int64)
    array(t)[...] = picked.reshape(t.shape)
    return t


def geometric_(self: Tensor, p: float, generator: Generator | None) -> Any:
    """The number of tries until the first success, where each succeeds with probability `p`. Raises
    RuntimeError unless 0 < p < 1.
    """
    check_geometric(self, p)
    return store(self, lambda n: draw.geometric(on_cpu(generator), n, p))
