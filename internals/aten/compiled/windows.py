"""Windows of images in memory, as the products of a convolution want them (`aten/src/ATen/native/im2col.h`).

- `lay_out` copies images with a border around them. A convolution with stride 2 takes every other row and column; so that it
  finds them side by side, the image is dealt out into phases: even rows and columns, even rows and odd columns, and so on.
- `cut_out` takes from rows that are too long what belongs to the result, and adds the bias.
- `columns` writes every window as a column of a matrix (im2col); `add_columns` adds such columns up into images again (col2im).

All know images by strides, in elements, so that any memory order will do. One item of work is a channel of one image; of
`columns`, a row of the matrix.

How the real one differs: `im2col` and `col2im` are templates in C++, with the same loops.
"""

from __future__ import annotations

from typing import Any

from internals.machine_code import inline, kernel, template

LAY_OUT = "*T *T *i8" + " i8" * 14 + " f8"
CUT_OUT = "*T *T *T" + " i8" * 11
COLUMNS = "*T *T" + " i8" * 18
ADD_COLUMNS = "*T *T" + " i8" * 19
T = template("T")


@inline
def first_inside(stride: int, shift: int) -> Any:
    """The least j >= 0 for which j * stride + shift >= 0."""
    return 0 if shift >= 0 else (stride - 1 - shift) // stride


@inline
def behind_inside(stride: int, shift: int, size: int, count: int) -> Any:
    """The least j, of `count` at most, for which j * stride + shift >= size."""
    if shift >= size:
        return 0
    return min(count, (size - 1 - shift) // stride + 1)


@kernel
def lay_out(
    begin, end, x, out, phase, phases, channels, rows, columns, height, width, top, left, step_h, step_w, x_n, x_c, x_h, x_w,
    fill,
):  # fmt: skip
    """Planes (height, width) of x as `phases` planes (rows, columns) each: element (i, j) of phase (r, c) is that in row
    i * step_h + r - top and column j * step_w + c - left, or `fill` outside."""
    for plane in range(begin, end):
        source = plane // channels * x_n + plane % channels * x_c
        for p in range(phases):
            shift_h, shift_w = phase[2 * p] - top, phase[2 * p + 1] - left
            target = (plane * phases + p) * rows * columns
            first = min(first_inside(step_w, shift_w), columns)
            last = max(first, behind_inside(step_w, shift_w, width, columns))
            for i in range(rows):
                y = i * step_h + shift_h
                to = target + i * columns
                if y < 0 or y >= height:
                    for j in range(columns):
                        out[to + j] = T(fill)
                else:
                    at = source + y * x_h + shift_w * x_w
                    for j in range(first):
                        out[to + j] = T(fill)
                    if step_w * x_w == 1:
                        for j in range(first, last):
                            out[to + j] = x[at + j]
                    else:
                        for j in range(first, last):
                            out[to + j] = x[at + j * step_w * x_w]
                    for j in range(last, columns):
                        out[to + j] = T(fill)


@kernel
def cut_out(
    begin, end, sums, bias, out, has_bias, channels, height, width, sums_n, sums_c, sums_h, out_n, out_c, out_h, out_w
):  # fmt: skip
    """The planes (height, width) of `sums`, whose rows are longer, plus the bias of their channel."""
    for plane in range(begin, end):
        c = plane % channels
        at = plane // channels * sums_n + c * sums_c
        to = plane // channels * out_n + c * out_c
        b = bias[c] if has_bias else T(0)
        for i in range(height):
            if out_w == 1:
                for j in range(width):
                    out[to + i * out_h + j] = sums[at + i * sums_h + j] + b
            else:
                for j in range(width):
                    out[to + i * out_h + j * out_w] = sums[at + i * sums_h + j] + b


@kernel
def columns(
    begin, end, x, out, kernel_h, kernel_w, images, rows, places, height, width, top, left, step_h, step_w, apart_h, apart_w,
    x_n, x_c, x_h, x_w, out_row,
):  # fmt: skip
    """Row k = (channel, kernel row, kernel column): what lies there in each window, image after image, (rows, places) each."""
    for k in range(begin, end):
        c, element = k // (kernel_h * kernel_w), k % (kernel_h * kernel_w)
        shift_h, shift_w = element // kernel_w * apart_h - top, element % kernel_w * apart_w - left
        first = min(first_inside(step_w, shift_w), places)
        last = max(first, behind_inside(step_w, shift_w, width, places))
        for n in range(images):
            for i in range(rows):
                y = i * step_h + shift_h
                to = k * out_row + (n * rows + i) * places
                if y < 0 or y >= height:
                    for j in range(places):
                        out[to + j] = T(0)
                else:
                    at = n * x_n + c * x_c + y * x_h + shift_w * x_w
                    for j in range(first):
                        out[to + j] = T(0)
                    if step_w * x_w == 1:
                        for j in range(first, last):
                            out[to + j] = x[at + j]
                    else:
                        for j in range(first, last):
                            out[to + j] = x[at + j * step_w * x_w]
                    for j in range(last, places):
                        out[to + j] = T(0)


@kernel
def add_columns(
    begin, end, x, out, kernel_h, kernel_w, channels, rows, places, height, width, top, left, step_h, step_w, apart_h, apart_w,
    x_row, x_image, out_n, out_c, out_h, out_w,
):  # fmt: skip
    """Planes (height, width) of zeros to which the elements of the columns are added where they came from."""
    for plane in range(begin, end):
        n, c = plane // channels, plane % channels
        to = n * out_n + c * out_c
        for i in range(height):
            for j in range(width):
                out[to + i * out_h + j * out_w] = T(0)
        for element in range(kernel_h * kernel_w):
            shift_h, shift_w = element // kernel_w * apart_h - top, element % kernel_w * apart_w - left
            first = min(first_inside(step_w, shift_w), places)
            last = max(first, behind_inside(step_w, shift_w, width, places))
            at = (c * kernel_h * kernel_w + element) * x_row + n * x_image
            for i in range(rows):
                y = i * step_h + shift_h
                if y >= 0 and y < height:
                    row = to + y * out_h + shift_w * out_w
                    if step_w * out_w == 1:
                        for j in range(first, last):
                            out[row + j] += x[at + i * places + j]
                    else:
                        for j in range(first, last):
                            out[row + j * step_w * out_w] += x[at + i * places + j]
