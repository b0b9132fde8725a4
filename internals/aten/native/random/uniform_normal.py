"""Uniform and normal numbers (`aten/src/ATen/native/Distributions.cpp`, `DistributionTemplates.h:
normal_impl_`).

The in-place operators check their bounds, draw as many numbers as there are elements and store
them. `normal` with a tensor of means or of deviations draws standard numbers, multiplies each by
its deviation and adds its mean. `transformations.py` computes the numbers.

How the real one differs: `transformations` says how far the numbers agree with PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.overlap import check_no_partial_overlap
from internals.aten.writing import resize_output
from internals.core.device import CPU, device
from internals.core.dtype import dtype
from internals.core.formats import layout
from internals.core.generator import Generator
from internals.core.tensor_impl import Tensor, TensorImpl, array, empty_contiguous

from . import transformations as draw
from .checks import check_normal, check_std, check_uniform
from .filling import kernel_device, on_cpu, store, target


def uniform_(self: Tensor, from_: float, to: float, generator: Generator | None) -> Any:
    """Numbers in [from_, to). Raises RuntimeError unless from_ <= to are finite in the dtype,
    NotImplementedError for integers.
    """
    kind = check_uniform(self, from_, to)
    how = "random.uniform", generator, from_, to
    return store(
        self, lambda n: draw.uniform(on_cpu(generator), n, kind.to_real(), from_, to), *how
    )


def normal_(self: Tensor, mean: float, std: float, generator: Generator | None) -> Any:
    """Normal numbers. A complex tensor gets half of the variance in each part. Raises RuntimeError
    for std < 0.
    """
    kind = check_normal(self, std, f"normal_kernel_{kernel_device(self)}")
    if kind.is_complex:  # the variances of both parts add up to that of the number
        std /= 2**0.5
    if not self._geometry.stored:
        return store(self, lambda n: None, "random.normal", generator, mean, std)
    g = on_cpu(generator)
    count = self.numel() * (2 if kind.is_complex else 1)
    # PyTorch has two algorithms, which give different numbers for the same seed
    if count >= draw.BLOCK and self.is_contiguous():
        return store(self, lambda n: draw.normal_block(g, n, kind.to_real(), mean, std))
    return store(self, lambda n: draw.normal_serial(g, n) * std + mean)


def normal_functional(self: Tensor, mean: float, std: float, generator: Generator | None) -> Any:
    """A copy of `self`, filled by `normal_`: `self` stays as it is."""
    return ops.normal_(ops.clone(ops.detach(self), None), mean, std, generator)


def normal_Tensor_float(mean: Tensor, std: float, generator: Generator | None) -> Any:
    """Normal numbers with a mean for each element."""
    return _shifted(
        normal_(empty_contiguous(mean.shape, mean.dtype, mean.device), 0.0, std, generator), mean
    )


def normal_float_Tensor(mean: float, std: Tensor, generator: Generator | None) -> Any:
    """Normal numbers with a standard deviation for each element."""
    check_std(std)
    t = empty_contiguous(std.shape, std.dtype, std.device)
    return _shifted(_stretched(normal_(t, 0.0, 1.0, generator), std), mean)


def normal_Tensor_Tensor(mean: Tensor, std: Tensor, generator: Generator | None) -> Any:
    """Normal numbers with a mean and a standard deviation for each element; they broadcast."""
    t = empty_contiguous(broadcast_shapes(mean.shape, std.shape), mean.dtype, mean.device)
    return normal_Tensor_Tensor_out(mean, std, generator, t)


def normal_Tensor_float_out(
    mean: Tensor, std: float, generator: Generator | None, out: Tensor
) -> Any:
    """`normal` with a tensor of means, written to `out` in its dtype; `out` keeps its shape if
    `mean` broadcasts to it.
    """
    check_no_partial_overlap(out, mean)
    resize_output(out, broadcast_shapes(mean.shape, out.shape))
    return _shifted(normal_(out, 0.0, std, generator), mean)


def normal_float_Tensor_out(
    mean: float, std: Tensor, generator: Generator | None, out: Tensor
) -> Any:
    """`normal` with a tensor of deviations, written to `out`, which gets its shape."""
    check_std(std)
    check_no_partial_overlap(out, std)
    resize_output(out, std.shape)
    return _shifted(_stretched(normal_(out, 0.0, 1.0, generator), std), mean)


def normal_Tensor_Tensor_out(
    mean: Tensor, std: Tensor, generator: Generator | None, out: Tensor
) -> Any:
    """`normal` with two tensors, written to `out`, which gets the shape they broadcast to."""
    check_std(std)
    check_no_partial_overlap(out, mean, std)
    resize_output(out, broadcast_shapes(mean.shape, std.shape))
    return _shifted(_stretched(normal_(out, 0.0, 1.0, generator), std), mean)


def normal_float_float(
    mean: float,
    std: float,
    size: Sequence[int],
    generator: Generator | None,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """Normal numbers in a new tensor of `size`, or in `out`."""
    return normal_(target(size, dtype, layout, device, pin_memory, out), mean, std, generator)


def _stretched(t: Tensor, std: Tensor) -> Any:
    """t * std, in place."""
    if t.device is not CPU:
        return ops.mul__Tensor(t, std.detach())
    array(t)[...] *= array(std)
    return t


def _shifted(t: Tensor, mean: float | Tensor) -> Any:
    """t + mean, in place; `mean` is a tensor or a number."""
    if t.device is not CPU:
        return (
            ops.add__Tensor(t, mean.detach(), 1)
            if hasattr(mean, "detach")
            else ops.add__Scalar(t, mean, 1)
        )
    array(t)[...] += array(mean) if isinstance(mean, TensorImpl) else mean
    return t
