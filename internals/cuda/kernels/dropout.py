"""Dropout in one pass (`fused_dropout_kernel_vec` in `aten/src/ATen/native/cuda/Dropout.cu`).

Drawing a mask, multiplying and scaling as separate operators would go through memory six times.
Here a thread takes four elements and draws four random numbers. It writes the elements, scaled up
where they stay and 0 elsewhere, and the mask, which the gradient needs.

How the real one differs: it loads and stores neighbouring elements as one vector.
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .distributions import uniform4
from .philox import philox

T = template("T")  # the dtype of the elements
C = template("C")  # the dtype to compute in
ONE = np.uint64(1)


@kernel
def dropout(
    out: Elements,
    mask: Elements,
    source: Elements,
    n: int,
    seed: int,
    offset: int,
    step: int,
    width: int,
    second: Elements,
    third: Elements,
    fourth: Elements,
    keep: float,
    scale: float,
):
    """Thread t takes four elements for its four numbers: element width * t, and those that lie
    `second`, `third` and `fourth` after it.

    With width 4 these are neighbours (1, 2, 3), with width 2 two pairs that lie a grid apart, and
    with width 1 four single elements, each a grid apart. So each element gets the random number
    that PyTorch's vectorised loads give it. All arrays lie in memory in the same order.
    """
    thread = cuda.grid(1)
    first = width * thread
    while first < n:
        w0, w1, w2, w3 = philox(seed, np.uint64(thread), offset)
        x0, x1, x2, x3 = uniform4(w0, w1, w2, w3)  # each in (0, 1], float32
        keep_or_drop(out, mask, source, first, n, x0, keep, scale)
        keep_or_drop(out, mask, source, first + second, n, x1, keep, scale)
        keep_or_drop(out, mask, source, first + third, n, x2, keep, scale)
        keep_or_drop(out, mask, source, first + fourth, n, x3, keep, scale)
        first += 4 * step  # `step` threads have taken 4 elements each
        offset = np.uint64(offset + ONE)


@device_function
def keep_or_drop(
    out: Elements,
    mask: Elements,
    source: Elements,
    i: int,
    n: int,
    x: Element,
    keep: float,
    scale: float,
):
    """Writes element i and its mask: scaled up with probability `keep`, else 0 (NaN for NaN)."""
    if i < n:
        stays = x < keep
        mask[i] = stays
        if stays:
            out[i] = T(C(source[i]) * scale)
        else:
            out[i] = T(C(source[i]) * C(0))  # not just 0: NaN and infinity give NaN, as in PyTorch


@kernel
def masked_scale(out: Elements, grad: Elements, mask: Elements, n: int, scale: float):
    """The gradient: `grad` scaled as the elements were, where they stayed, and 0 elsewhere."""
    i = cuda.grid(1)
    while i < n:
        if mask[i]:
            out[i] = T(C(grad[i]) * scale)
        else:
            out[i] = T(C(grad[i]) * C(0))
        i += cuda.gridsize(1)
