"""`native_dropout`: dropout and its mask by one kernel (`aten/src/ATen/native/cuda/Dropout.cu`).

`dropout` of a tensor on the GPU calls it in training, if p is neither 0 nor 1. For float32 the
random numbers are those of PyTorch on a real GPU: which element gets which depends on how many
elements a thread loads at once.

How the real one differs: newer GPUs load eight elements of float16 at once, which therefore get
other numbers.
"""

from __future__ import annotations

from typing import Any

from internals.aten.overlap import is_non_overlapping_and_dense
from internals.core import dtype as dt
from internals.core.formats import contiguous_format
from internals.core.tensor_impl import Tensor

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import dropout as kernels
from ..launch import THREADS, launch_1d, threads_for
from ..random import generator_for
from .copy import clone, copy_, fill
from .opmath import opmath_type
from .random import execution_blocks

AT_ONCE = 4  # elements that a thread takes for one call of the generator


def dropout(results: tuple[Any, Any], input: Tensor, p: float, train: bool | None) -> None:
    """Fills `results`: `input` with each element zeroed with probability `p` and the others scaled
    up by 1 / (1 - p), and the mask (bool), true where an element was kept.
    """
    (out, mask), g = results, input._geometry
    if train is False or p == 1:  # all are kept, or none
        fill(mask, train is False)
        copy_(out, input if train is False else mask)
        return
    if input.dtype.category != dt.FLOATING:
        raise NoKernel
    source, n = _dense(input), g.numel
    blocks = execution_blocks(n, g.device)
    step = THREADS * blocks
    # the generator moves on by as many numbers as the busiest thread uses
    seed, position = generator_for(None, g.device).philox_state(
        ((n - 1) // (step * AT_ONCE) + 1) * AT_ONCE
    )
    compute = opmath_type(g.dtype)
    keep, scale = compute(1 - p), compute(1 / compute(1 - p))
    arrays = (flat(out), flat(mask), flat(source))
    kernel = kernels.dropout.bind(T=g.dtype.np.type, C=compute)
    # PyTorch loads several elements at once only from a dense input
    elements = together(n if source is input else 1, step)
    kernel[blocks, threads_for(n)](*arrays, n, seed, position, step, *elements, keep, scale)


def together(n: int, step: int) -> tuple[int, int, int, int]:
    """(width, second, third, fourth): how many neighbours a thread takes, and how far its other
    three elements lie from the first.
    """
    if n % 4 == 0:
        return 4, 1, 2, 3
    return (2, 1, 2 * step, 2 * step + 1) if n % 2 == 0 else (1, step, 2 * step, 3 * step)


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Any:
    """`grad_output * mask * scale`."""
    if grad_output.dtype.category != dt.FLOATING or mask.shape != grad_output.shape:
        raise NoKernel
    kind = grad_output.dtype
    compute = opmath_type(kind)
    grad = clone(grad_output, contiguous_format)
    kept = mask if mask.is_contiguous() else clone(mask, contiguous_format)
    n = grad.numel()
    kernel = kernels.masked_scale.bind(T=kind.np.type, C=compute)
    launch_1d(kernel, n, flat(grad), flat(grad), flat(kept), n, compute(scale))
    return grad


def _dense(t: Tensor) -> Any:
    """`t`, or a copy without gaps, with its elements in the order of `torch.empty_like(t)`."""
    g = t._geometry
    return t if is_non_overlapping_and_dense(g.sizes, g.strides) else clone(t)
