"""A convolution of sequences whose channels come last: (time, batch, channels)
(`aten/src/ATen/native/ConvolutionTBC.cpp`).

In this order a kernel of K elements is K matrix products: element k multiplies the input from time
k on by its (channels, outputs) matrix, and the products are added up.

How the real one differs: `addmm_` adds each product to a part of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_dtype
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from .gradient_checks import check_sizes


def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Any:
    """The convolution of `self` (T, N, C) with `weight` (K, C, O) and `bias` (O): (T + 2 pad - K +
    1, N, O). Raises RuntimeError for other sizes and for several dtypes.
    """
    _check(self, weight, bias)
    x, w = array(self), array(weight)
    time = x.shape[0] + 2 * pad - w.shape[0] + 1
    sizes = [time, x.shape[1], w.shape[2]]
    if time < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {time}: {sizes}")
    check_dtype("addmm_impl_cpu_", self.dtype, dt.INTEGRAL, dt.FLOATING, dt.COMPLEX)
    if weight.dtype is not self.dtype or bias.dtype is not self.dtype:
        raise RuntimeError("self, weight and bias must have the same dtype")
    out = empty_contiguous(sizes, self.dtype)
    accumulate_dtype = np.float32 if self.dtype is dt.float16 else x.dtype
    total = np.zeros(sizes, accumulate_dtype) + array(bias)
    # The result at time t reads input t + k - pad for kernel element k. Padding is not stored:
    # times before `first` would read it, and so would those beyond the end of `x`, where the slice
    # stops.
    for k in range(w.shape[0]):
        first = max(pad - k, 0)
        inputs = x[first + k - pad : time + k - pad] if time + k > pad else x[:0]
        # (times, N, C) @ (C, O)
        total[first : first + len(inputs)] += inputs.astype(accumulate_dtype, copy=False) @ w[
            k
        ].astype(accumulate_dtype, copy=False)
    array(out)[...] = total
    return out


def conv_tbc_backward(
    self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int
) -> tuple[Any, Any, Any]:
    """The gradients of input (T, N, C), weight (K, C, O) and bias (O); `self` is the gradient of
    the result, (times, N, O). Raises RuntimeError for other sizes.
    """
    _check(input, weight, bias)
    times = input.shape[0] + 2 * pad - weight.shape[0] + 1
    check_sizes("conv_tbc_backward", "self", self, (times, input.shape[1], weight.shape[2]))
    padded = ops.constant_pad_nd(input, [0, 0, 0, 0, pad, pad], 0)
    flat = self.flatten(0, 1)
    to_input = padded.new_zeros(padded.shape)
    to_weight = []
    for k in range(weight.shape[0]):
        # (times, N, O) @ (O, C), which belongs to the times k ... k + times - 1 of the padded input
        share = self.matmul(weight[k].t().conj())
        to_input = to_input + ops.constant_pad_nd(
            share, [0, 0, 0, 0, k, padded.shape[0] - times - k], 0
        )
        # (C, times * N) @ (times * N, O)
        to_weight.append(padded.narrow(0, k, times).flatten(0, 1).t().conj().matmul(flat))
    return to_input.narrow(0, pad, input.shape[0]), ops.stack(to_weight, 0), self.sum([0, 1])


def _check(input: Tensor, weight: Tensor, bias: Tensor) -> None:
    """Raises RuntimeError unless the numbers of dimensions, of channels and of outputs fit."""
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
