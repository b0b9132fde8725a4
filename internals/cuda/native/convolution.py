"""Convolution and its gradients on the device (`aten/src/ATen/native/cudnn/ConvShared.cpp`,
`cuda/DepthwiseConv2d.cu`).

The forward pass, the gradient of the input and the gradient of the weight are one matrix product
per group each (`kernels/convolution.py`). A transposed convolution is the gradient of the input,
with the names of the two sides exchanged.

With a single channel in a group, tiles would be nearly empty. Then `direct` or `gathered` computes
the products, and the kernel of `kernels/depthwise.py` the gradient of the weight. All sums have a
fixed order, so that results repeat bit for bit.

How the real one differs: it calls cuDNN, which may first measure its algorithms
(`torch.backends.cudnn.benchmark`); some of those add with atomics, in any order, unless
`use_deterministic_algorithms` is set.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor, empty_contiguous

from .. import backend
from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import convolution as kernels, depthwise
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.convolution import Windows
from ..kernels.functors import add
from ..kernels.gemm import Blocking
from ..language import Kernel
from ..launch import counted, launch_1d
from .matmul import LAST_BLOCK, MEDIUM, blocking, forced, lanes_for
from .opmath import acc_type, dtype_of

How = tuple[Sequence[int], Sequence[int], Sequence[int]]  # stride, padding, dilation
FORWARD, INPUT, WEIGHT = "forward", "input", "weight"  # which of the three products


def convolution(
    result: Tensor,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    how: How,
    transposed: bool,
    groups: int,
) -> None:
    """Fills `result` with the convolution of `input` and `weight`, or the transposed one.

    Raises NoKernel for dtypes without a kernel, which the CPU then computes.
    """
    if not has_kernel(input.dtype):
        raise NoKernel
    if not input.shape[1]:
        return
    # `windows` takes (image, y): of a transposed convolution the result is the image
    if transposed:
        fill_image(
            result, weight, input, bias, windows(result, input, weight, *how, groups), groups
        )
    else:
        fill_output(
            result, weight, input, bias, windows(input, result, weight, *how, groups), groups
        )


def convolution_backward(
    results: tuple[Any, Any, Any],
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    how: How,
    transposed: bool,
    groups: int,
) -> None:
    """Fills `results`, the gradients of input, weight and bias; None for one that is not needed."""
    if not has_kernel(input.dtype):
        raise NoKernel
    grad_input, grad_weight, grad_bias = results
    x, y = (grad_output, input) if transposed else (input, grad_output)
    given = windows(x, y, weight, *how, groups)
    # the gradient of the input has the input's geometry, but strides of its own
    if grad_input is not None and transposed:
        fill_output(
            grad_input, weight, grad_output, None, given._replace(y=grad_input.stride()), groups
        )
    elif grad_input is not None:
        fill_image(
            grad_input, weight, grad_output, None, given._replace(image=grad_input.stride()), groups
        )
    if grad_weight is not None:
        fill_weight(grad_weight, y, x, given, groups)
    if grad_bias is not None:
        ops.sum_IntList_out(
            grad_output, [0, *range(2, grad_output.dim())], False, weight.dtype, grad_bias
        )


def windows(
    x: Tensor,
    y: Tensor,
    w: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Windows:
    """The geometry of a convolution that takes the image `x` to `y`."""
    kernel = tuple(w.shape[2:])
    return Windows(
        tuple(x.shape[2:]), tuple(y.shape[2:]), kernel, tuple(stride), tuple(padding),
        tuple(dilation), tuple(x.stride()), tuple(y.stride()), prod(kernel), w.shape[1],
        w.shape[0] // groups,
    )  # fmt: skip


def fill_output(
    y: Tensor, w: Tensor, x: Tensor, bias: Tensor | None, how: Windows, groups: int
) -> None:
    """y = the convolution of x with w, plus the bias of each channel. In each group (outputs,
    channels * taps) @ (channels * taps, images * places).
    """
    m, n, k = how.outputs, y.shape[0] * prod(how.places), how.channels * how.taps
    _multiply(FORWARD, y, w.contiguous(), x, bias, groups, m, n, k, how)


def fill_image(
    x: Tensor, w: Tensor, y: Tensor, bias: Tensor | None, how: Windows, groups: int
) -> None:
    """x = the transposed convolution of y with w, plus the bias of each channel. In each group
    (channels, outputs * taps) @ (outputs * taps, images * pixels).
    """
    m, n, k = how.channels, x.shape[0] * prod(how.sizes), how.outputs * how.taps
    _multiply(INPUT, x, w.contiguous(), y, bias, groups, m, n, k, how)


def fill_weight(w: Any, y: Any, x: Any, how: Windows, groups: int) -> None:
    """w = the sum over all windows of their elements times y at their places. In each group
    (outputs, images * places) @ (images * places, channels * taps). A long sum is cut into parts,
    which are added at the end (split-k).
    """
    m, n, k = how.outputs, how.channels * how.taps, y.shape[0] * prod(how.places)
    T = w.dtype.np.type
    if how.channels == 1 and groups > 1 and w.numel():
        kernel = counted(depthwise_gradient(T), k)
        kernel[groups * how.outputs * how.taps, lanes_for(k)](flat(w), flat(y), flat(x), k, how)
        return
    parts = parts_of(m, n, k, groups)
    if parts == 1:
        _multiply(WEIGHT, w, y, x, None, groups, m, n, k, how)
        return
    wide = dtype_of(acc_type(w.dtype))
    partial = empty_contiguous((parts, *w.shape), wide, w.device)
    _multiply(WEIGHT, partial, y, x, None, groups, m, n, k, how, parts)
    ops.copy_(w, ops.sum_dim_IntList(partial, [0], False, wide), False)


def parts_of(m: int, n: int, k: int, groups: int, shortest: int = 256) -> int:
    """The number of parts to cut a sum of k products into, so that every multiprocessor has a block
    but no part is shorter than `shortest`.
    """
    if backend.driver().simulated:  # has no multiprocessors to keep busy
        return 1
    processors = backend.driver().properties(backend.current_device()).multi_processor_count
    blocks = prod(MEDIUM.grid(m, n, groups))
    return max(1, min(processors // blocks, k // shortest, LAST_BLOCK // groups))


def has_kernel(d: dt.dtype) -> bool:
    """Whether there is a kernel for the dtype: all but complex numbers and bool."""
    return not d.is_complex and d is not dt.bool_


def _multiply(
    which: str,
    c: Any,
    a: Any,
    b: Any,
    bias: Any,
    groups: int,
    m: int,
    n: int,
    k: int,
    how: Windows,
    parts: int = 1,
) -> None:
    """Launches the product c = a @ b of FORWARD, INPUT or WEIGHT, (m, k) @ (k, n) in each group: on
    tiles if a group has enough rows to fill them.
    """
    if not c.numel():
        return
    T, acc = c.dtype.np.type, acc_type(c.dtype)
    # without a bias any array will do: with beta 0 it is not read
    arrays = flat(c), flat(a), flat(b), flat(c if bias is None else bias.contiguous())
    # the largest number that the kernel divides: it decides whether 32 bits are enough
    largest = max(n, k, groups * m, sum(map(max, (how.sizes, how.padding, how.stride))))
    scaling = acc(1), acc(0 if bias is None else 1)  # alpha, beta
    if parts == 1 and (groups > LAST_BLOCK or not is_tiled(m)):
        launch_1d(
            counted(direct(which, T), largest),
            groups * m * n,
            *arrays,
            groups,
            m,
            n,
            k,
            how,
            *scaling,
        )
        return
    cut = blocking(m, n, groups * parts, c.dtype)
    share = -(-k // parts)
    kernel = counted(tiles(which, T, cut), largest)
    kernel[cut.grid(m, n, groups * parts), cut.threads](
        *arrays, m, n, k, share, groups, how, *scaling
    )


def is_tiled(m: int) -> bool:
    """Whether a product of `m` rows is faster on tiles. The simulator runs one thread after the
    other, so there they are only slower.
    """
    form = forced()
    return form == "blocked" if form else m >= 8 and not backend.driver().simulated


@cache
def functions(which: str, T: type) -> dict[str, Any]:
    """The device functions with which `gemm` reads and writes for the product `which`."""
    acc = acc_type(dtype_of(T))
    element = kernels.window_element.bind(ACC=acc)
    # the weight is always a matrix in memory; windows are one of the two factors, or in INPUT the
    # elements of y whose windows cover a pixel
    if which == FORWARD:
        store = kernels.store_output.bind(T=T, ACC=acc)
        return {
            "LOAD_A": kernels.weight_element,
            "LOAD_B": element,
            "STORE": store,
            "COLUMN": kernels.output_index,
        }
    if which == INPUT:
        covering, store = (
            kernels.covering_element.bind(ACC=acc),
            kernels.store_pixel.bind(T=T, ACC=acc),
        )
        return {
            "LOAD_A": kernels.weight_of_channel,
            "LOAD_B": covering,
            "STORE": store,
            "COLUMN": kernels.pixel_index,
        }
    turned, store = (
        kernels.window_by_element.bind(WINDOW_ELEMENT=element),
        kernels.store_weight.bind(T=T),
    )
    return {
        "LOAD_A": kernels.output_element,
        "LOAD_B": turned,
        "STORE": store,
        "COLUMN": kernels.weight_index,
    }


@cache
def direct(which: str, T: type) -> Kernel:
    """The kernel for the product `which` without tiles."""
    acc, parts = acc_type(dtype_of(T)), functions(which, T)
    return (
        kernels.gathered.bind(ACC=acc, STORE=parts["STORE"])
        if which == INPUT
        else kernels.direct.bind(ACC=acc, **parts)
    )


@cache
def tiles(which: str, T: type, cut: Blocking) -> Kernel:
    """The `gemm` for the product `which`, with the blocking `cut`."""
    # a's neighbours lie along k in all three; b's only for the weight, whose k counts windows
    return cut.bind(acc_type(dtype_of(T)), True, which == WEIGHT, **functions(which, T))


@cache
def depthwise_gradient(T: type) -> Kernel:
    """The kernel for the gradient of a depthwise convolution's weight."""
    acc = acc_type(dtype_of(T))
    return depthwise.weight_gradient.bind(
        T=T, ACC=acc, OUTPUT_ELEMENT=kernels.output_element,
        WINDOW_ELEMENT=kernels.window_element.bind(ACC=acc),
        block_sum=block_total(accumulator("number", acc), add, True),
    )  # fmt: skip
