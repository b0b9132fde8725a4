"""Indexing along one dimension: `gather`, `scatter`, `index_select`, `index_add`
(`aten/src/ATen/native/cuda/ScatterGatherKernel.cu`).

`index_select` and `index_add` use the kernels of `gather` and `scatter_add`: their index has one
element for a whole slice, so its stride is 0 in all other dimensions. Indices lie on the device, so
the kernel checks their range.

If an index occurs twice, it is left to chance which element `scatter` leaves there, and in which
order floats are added.

How the real one differs: `index_add` and `index_put_` with `accumulate` sort indices when
deterministic results are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.scatter_gather import sizes_of
from internals.aten.native.views import expand
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, TensorImpl, empty_contiguous

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import gather as kernels
from ..launch import launch_1d
from .accumulating import add_atomically, compute_type


def gather(out: Tensor, self: Tensor, d: int, index: Tensor) -> None:
    """out[i][j][k] = self[i][index[i][j][k]][k] for d = 1; `out` has the shape of `index`."""
    _gather(out, self, d, index, sizes_of(index), _strides(index))


def index_select(out: Tensor, self: Tensor, d: int, index: Tensor) -> None:
    """out[:, k] = self[:, index[k]] for d = 1; `index` is 1-d or 0-d."""
    sizes = sizes_of(out)
    _gather(out, self, d, index, sizes, _only_along(d, sizes, _strides(index)[0]))


def index_add(target: Tensor, d: int, index: Tensor, source: Tensor, factor: Scalar) -> None:
    """target[:, index[k]] += factor * source[:, k] for d = 1."""
    if target.is_complex():
        raise NoKernel
    sizes = sizes_of(source)
    _add(target, d, index, sizes, _only_along(d, sizes, _strides(index)[0]), source, factor)


def scatter(target: Tensor, d: int, index: Tensor, src: Scalar | Tensor, reduce: str) -> None:
    """target[i][index[i][j][k]][k] = src[i][j][k] for d = 1. `src` is a tensor or a number;
    `reduce` is "add" for +=, "multiply" for *=, or "".
    """
    if reduce and target.is_complex():
        raise NoKernel
    if not isinstance(src, TensorImpl):  # one element, expanded
        number = empty_contiguous((), target.dtype, target.device)
        src = expand(ops.fill__Scalar(number, src), index.shape)
    sizes, strides = sizes_of(index), _strides(index)
    if reduce == "add":
        _add(target, d, index, sizes, strides, src, 1)
    elif reduce == "multiply":
        _multiply(target, d, index, src)
    else:
        n = index.numel()
        layout = (
            _without(d, target),
            _strides(src),
            strides,
            sizes_of(target)[d],
            _strides(target)[d],
        )
        launch_1d(
            kernels.scatter, n, flat(target), flat(src), flat(index), n, tuple(sizes), *layout
        )


def _gather(
    out: Tensor,
    source: Tensor,
    d: int,
    index: Tensor,
    sizes: Sequence[int],
    index_strides: tuple[int, ...],
) -> None:
    """Launches `gather` over `sizes`, the shape of the index."""
    n = out.numel()
    layout = (
        _strides(out),
        _without(d, source),
        index_strides,
        sizes_of(source)[d],
        _strides(source)[d],
    )
    launch_1d(kernels.gather, n, flat(out), flat(source), flat(index), n, tuple(sizes), *layout)


def _add(
    target: Tensor,
    d: int,
    index: Tensor,
    sizes: Sequence[int],
    index_strides: tuple[int, ...],
    source: Any,
    factor: Scalar,
) -> None:
    """Launches `scatter_add` over `sizes`, the shape of the index."""
    n = int(np.prod(sizes))
    if not n:
        return

    def add(wide: Tensor, T: type) -> None:
        layout = (
            _without(d, wide),
            _strides(source),
            index_strides,
            sizes_of(wide)[d],
            _strides(wide)[d],
        )
        kernel = kernels.scatter_add.bind(T=T)
        launch_1d(
            kernel, n, flat(wide), flat(source), flat(index), n, tuple(sizes), *layout, T(factor)
        )

    add_atomically(target, add)


def _multiply(target: Tensor, d: int, index: Tensor, source: Any) -> None:
    """Launches a thread for each line of the index along dimension `d`, of `length` elements."""
    sizes = list(sizes_of(index))
    length, sizes[d] = sizes[d], 1
    n = int(np.prod(sizes))
    if not length:
        return
    kernel = kernels.multiply_lines.bind(T=target.dtype.np.type, C=compute_type(target.dtype))
    strides = (_strides(target), _strides(source), _strides(index))
    steps = tuple(s[d] for s in strides)
    arrays = (flat(target), flat(source), flat(index))
    launch_1d(kernel, n, *arrays, n, tuple(sizes), *strides, sizes_of(target)[d], steps, length)


def _strides(t: Any) -> tuple[int, ...]:
    """The strides of `t`; a 0-d tensor counts as 1-d."""
    return tuple(t.stride()) or (1,)


def _without(d: int, t: Tensor) -> tuple[int, ...]:
    """The strides of `t`, but 0 for dimension `d`, where the index gives the position."""
    return tuple(0 if k == d else s for k, s in enumerate(_strides(t)))


def _only_along(d: int, sizes: Sequence[int], stride: int) -> tuple[int, ...]:
    """The strides of an index that is the same in all dimensions but `d`."""
    return tuple(stride if k == d else 0 for k in range(len(sizes)))
