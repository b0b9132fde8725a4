"""Convolution in one, two and three dimensions (`aten/src/ATen/native/Convolution.cpp`,
`NaiveConvolutionTranspose2d.cpp`).

A convolution can be computed as a matrix product: each window that the kernel covers becomes a
column (`unfold_windows`), and each output pixel is the product of a row of weights with a column.
The transposed convolution multiplies by the transposed weights and adds up the columns where
windows overlap (`fold_windows`). Groups split the channels; with as many groups as channels the
convolution is depthwise: each channel has a kernel of its own.

`convolution` is the one leaf; `conv1d`, `conv2d`, `conv3d` and their transposes prepare its
arguments. Its gradients are made of the same three functions on arrays: `forward`,
`input_gradient`, `weight_gradient`.

How the real one differs: PyTorch picks among a dozen backends (oneDNN, MKL, NNPACK, cuDNN,
Winograd, ...), and blocks the channel dimension for vector units instead of building the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.memory_format import empty_as
from internals.aten.native.reduction_tools import sum_of_products
from internals.aten.native.windows import fold_offsets, fold_windows, pad_spatial, unfold_windows
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor, array
from internals.machine_code.settings import use_compiled

from .convolution_checks import checked_arguments, spread

COMPILED = 1 << 14  # compiled kernels are used from this many elements on
# this many multiplications count as one of these elements, where each number that is loaded is used
# for several channels
REUSE = 64


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """Cross-correlate `input` (N, C, *S) with `weight` (O, C/groups, *K), or transposed: (C,
    O/groups, *K).

    Raises RuntimeError for sizes, strides or dtypes that do not fit together.
    """
    stride, padding, dilation, sizes = checked_arguments(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    if not input._geometry.stored:
        out, how = empty_as(input, sizes), (stride, padding, dilation)
        return on_device(
            "convolution.convolution", out, input, weight, bias, how, transposed, groups
        )
    if use_compiled(work(prod(sizes), weight, groups), COMPILED) and compiled_fits(input, weight):
        how = (stride, padding, dilation)
        if transposed:
            from internals.aten.compiled.convolution_gradients import (
                input_gradient as transposed_convolution,
            )

            return transposed_convolution(input, weight, bias, sizes, how, groups)
        from internals.aten.compiled.convolving import convolution as compiled_convolution

        return compiled_convolution(input, weight, bias, sizes, how, groups)
    x, w = _computable(input), _computable(weight)
    if transposed:
        y = input_gradient(x, w, sizes, stride, padding, dilation, groups)
    else:
        y = forward(x, w, stride, padding, dilation, groups)
    out = empty_as(input, y.shape)
    if bias is None:
        array(out)[...] = y
    else:
        np.add(
            y, _computable(bias).reshape(-1, *[1] * (w.ndim - 2)), out=array(out), casting="unsafe"
        )
    return out


def work(places: int, weight: Tensor, groups: int) -> int:
    """The work of a convolution with `places` results (or, transposed, inputs), measured in the
    elements that `COMPILED` counts.
    """
    # depthwise, a number is used for one channel only: 4 multiplications count as an element
    depthwise = groups > 1 and weight.shape[1] == 1
    return places * prod(tuple(weight.shape)[1:]) // (REUSE >> 4 if depthwise else REUSE)


def compiled_fits(input: Tensor, weight: Tensor) -> bool:
    """Whether there are compiled kernels for these tensors: float32 or float64, in one or two
    dimensions.
    """
    from internals.aten.compiled.convolving import available

    return weight.dim() <= 4 and bool(weight.numel()) and available(input.dtype)


def forward(
    x: Array,
    w: Array,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """The convolution of arrays x (N, C, *S) and w (O, C/groups, *K): an array (N, O, *S')."""
    windows = unfold_windows(pad_spatial(x, padding), w.shape[2:], stride, dilation)
    n, outputs, spatial = x.shape[0], w.shape[0], windows.shape[2 + len(padding) :]
    # (groups, O/groups, C/groups * K) @ (groups, C/groups * K, N * S')
    rows = w.reshape(groups, outputs // groups, prod(w.shape[1:]))
    y = np.matmul(rows, _columns(windows, w.shape[2:], groups))
    return y.reshape(outputs, n, *spatial).swapaxes(0, 1)


def input_gradient(
    g: Array,
    w: Array,
    input_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """The gradient of `forward`'s input, given the output's gradient g (N, O, *S'): the transposed
    convolution of g.
    """
    n, outputs, *spatial = g.shape
    # Depthwise there is no sum over channels: for each offset in the kernel, g times that weight is
    # added to the input pixels at this offset from the windows.
    if w.shape[1] == 1 and groups == outputs > 1:
        kernels = w[:, 0].reshape(outputs, *w.shape[2:], *[1] * len(spatial))
        shares = (g * kernels[(slice(None), *offset)] for offset in np.ndindex(*w.shape[2:]))
        return fold_offsets(shares, w.shape[2:], g.shape, input_size[2:], stride, padding, dilation)
    rows = w.reshape(groups, outputs // groups, prod(w.shape[1:])).swapaxes(1, 2)
    # (groups, C/groups * K, O/groups) @ (groups, O/groups, N * S'): the gradient of each column
    columns = np.matmul(rows, _by_channel(g, groups))
    # back to (N, C, *K, *S'), as `unfold_windows` returns them
    windows = np.moveaxis(
        columns.reshape(input_size[1], *w.shape[2:], n, *spatial), 1 + len(spatial), 0
    )
    return fold_windows(windows, input_size[2:], stride, padding, dilation)


def weight_gradient(
    g: Array,
    x: Array,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """The gradient of `forward`'s weight, given the output's gradient g (N, O, *S') and input x: an
    array (O, C/groups, *K).
    """
    n, outputs = g.shape[:2]
    windows = unfold_windows(pad_spatial(x, padding), kernel, stride, dilation)
    spatial = g.shape[2:]
    channels = x.shape[1] // groups
    # with output_padding there may be more windows than outputs
    windows = windows[(..., *(slice(s) for s in spatial))]
    if channels == 1 and groups == outputs > 1:
        # depthwise: for each offset in the kernel, the sum over samples and positions
        others = (0, *range(2, g.ndim))
        offsets = (windows[(slice(None), slice(None), *offset)] for offset in np.ndindex(*kernel))
        return np.stack(
            [sum_of_products(g, x, others).reshape(outputs, 1) for x in offsets], -1
        ).reshape(outputs, 1, *kernel)
    # (groups, O/groups, N * S') @ (groups, N * S', C/groups * K)
    products = np.matmul(_by_channel(g, groups), _columns(windows, kernel, groups).swapaxes(1, 2))
    return products.reshape(outputs, channels, *kernel)


def _columns(windows: Array, kernel: Sequence[int], groups: int) -> Any:
    """Windows (N, C, *K, *S') as columns (groups, C/groups * K, N * S'), so that the whole batch is
    one product for each group.
    """
    (n, channels), spatial = windows.shape[:2], windows.shape[2 + len(kernel) :]
    # (C, *K, N, *S')
    in_order = np.moveaxis(windows, 0, 1 + len(kernel))
    return in_order.reshape(groups, channels // groups * prod(kernel), n * prod(spatial))


def _by_channel(y: Array, groups: int) -> Any:
    """An array (N, C, *S) as (groups, C/groups, N * S)."""
    return y.swapaxes(0, 1).reshape(groups, y.shape[1] // groups, y.shape[0] * prod(y.shape[2:]))


# The functions below prepare the arguments of `convolution`. Inputs are (N, C, *S) or (C, *S), and
# the result has a batch dimension if the input has one.


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """`input` (N, C, L) with `weight` (O, C/groups, K)."""
    return _convolve(
        "conv1d", 1, input, weight, bias, stride, padding, dilation, False, [0], groups
    )


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """`input` (N, C, H, W) with `weight` (O, C/groups, KH, KW)."""
    return _convolve(
        "conv2d", 2, input, weight, bias, stride, padding, dilation, False, [0, 0], groups
    )


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """`input` (N, C, D, H, W) with `weight` (O, C/groups, KD, KH, KW)."""
    return _convolve(
        "conv3d", 3, input, weight, bias, stride, padding, dilation, False, [0, 0, 0], groups
    )


def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int, benchmark: bool, deterministic: bool,
    cudnn_enabled: bool, allow_tf32: bool,
) -> Any:  # fmt: skip
    """The convolution as traces record it. The last four arguments choose among cuDNN's algorithms;
    here they have no effect.
    """
    return ops.convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def conv1d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """`conv1d` with the padding "valid" or "same"."""
    return _convolve_named("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """`conv2d` with the padding "valid" or "same"."""
    return _convolve_named("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """`conv3d` with the padding "valid" or "same"."""
    return _convolve_named("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _convolution_mode(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """A convolution whose padding is a word, as traces record it."""
    n = weight.dim() - 2
    return _convolve_named(f"conv{n}d", n, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    dilation: Sequence[int],
) -> Any:
    """`input` (N, C, L) with `weight` (C, O/groups, K), transposed."""
    return _convolve(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        True,
        output_padding,
        groups,
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    dilation: Sequence[int],
) -> Any:
    """`input` (N, C, H, W) with `weight` (C, O/groups, KH, KW), transposed."""
    return _convolve(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        True,
        output_padding,
        groups,
    )


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    dilation: Sequence[int],
) -> Any:
    """`input` (N, C, D, H, W) with `weight` (C, O/groups, KD, KH, KW), transposed."""
    return _convolve(
        "conv_transpose3d",
        3,
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        True,
        output_padding,
        groups,
    )


def _convolve(name: str, n: int, input: Tensor, weight: Tensor, *rest: Any) -> Any:
    """`convolution` of an input with or without a batch dimension. Raises RuntimeError for other
    numbers of dimensions than n + 2 and n + 1.
    """
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input "
            f"of size: {list(input.shape)}"
        )
    batched = input if input.dim() == n + 2 else input.unsqueeze(0)
    result = ops.convolution(batched, weight, *rest)
    return result if batched is input else result.squeeze(0)


def _convolve_named(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """A convolution with padding "valid", which is 0, or "same", whose output is as large as the
    input. Raises RuntimeError for another word, and for "same" with strides.
    """
    if padding == "valid":
        return _convolve(
            name, n, input, weight, bias, stride, [0] * n, dilation, False, [0] * n, groups
        )
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(spread(dilation, n, "dilation"), weight.shape[2:])]
    # an odd amount of padding: the extra row or column of zeros is added at the end
    if any(t % 2 for t in total):
        extra = [v for t in reversed(total) for v in (0, t % 2)]
        input = ops.constant_pad_nd(input, extra, 0)
    return _convolve(
        name,
        n,
        input,
        weight,
        bias,
        stride,
        [t // 2 for t in total],
        dilation,
        False,
        [0] * n,
        groups,
    )


def _computable(t: Tensor) -> Any:
    """The tensor's array; half precision as float32, in which PyTorch's CPU kernels add up."""
    a = array(t)
    return a.astype(np.float32) if t.dtype is dt.float16 else a
