"""Windows as columns, and columns back into an image (`aten/src/ATen/native/cuda/im2col.cuh`).

`im2col` stores the matrix that `convolution.py` never stores, for `nn.Unfold`. Its adjoint `col2im`
(`nn.Fold`) adds each column back to where it came from. There a thread has a pixel and reads it
from all columns that contain it, so that no addition has to be atomic.

How the real one differs: a thread writes all elements of one window in one channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.machine_code.records import Elements

from ..language import cuda, kernel, template
from .convolution import covering_index
from .copy import split

if TYPE_CHECKING:
    from internals.cuda.kernels.convolution import Windows

T = template("T")  # the dtype of the result
ACC = template("ACC")  # the dtype of sums
WINDOW_ELEMENT = template("WINDOW_ELEMENT")  # `convolution.window_element`, with ACC filled in


@kernel
def im2col(columns: Elements, x: Elements, n: int, elements: int, windows: int, how: Windows):
    """columns[image, q, p] = element q of window p, of shape (images, elements, windows)."""
    e = cuda.grid(1)
    while e < n:
        row, p = split(e, windows)
        image, q = split(row, elements)
        columns[e] = T(WINDOW_ELEMENT(x, 0, q, image * windows + p, how))
        e += cuda.gridsize(1)


@kernel
def col2im(x: Elements, columns: Elements, n: int, windows: int, how: Windows):
    """Pixel number e, of all images and channels, is the sum over the elements of the kernel that
    meet it. `columns` is (images * channels, taps, windows).
    """
    e = cuda.grid(1)
    while e < n:
        total = ACC(0)
        for q in range(how.taps):
            at = covering_index(0, q, e, how)
            if at >= 0:
                total += ACC(columns[at + q * windows])
        x[e] = T(total)
        e += cuda.gridsize(1)
