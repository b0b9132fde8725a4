"""The largest and smallest elements, and their indices (`aten/src/ATen/native/TensorCompare.cpp`,
`ReduceOps.cpp`).

If there is a NaN, it is both the maximum and the minimum. Among equal elements, the index is that
of the first. For bools, False < True; complex numbers have no order.

Values of large tensors, and indices along columns, are computed by machine code
(`aten/compiled/extrema.py`).

How the real one differs: `max` and `min` along a dimension find value and index in one loop,
`aminmax` both extrema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt, return_types
from internals.core.dtype import BOOL, COMPLEX, SCALAR_TYPE_NAME
from internals.core.float_errors import quietly
from internals.core.geometry import wrap_dim, wrap_dims
from internals.core.tensor_impl import Tensor, array
from internals.machine_code.settings import settings, use_compiled

from .reduction_tools import reduced_dims, reduced_sizes, store


def max_dim(
    self: Tensor, dim: int, keepdim: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The largest elements along `dim` and their indices, as (values, indices). Raises IndexError
    over a dimension of size 0, RuntimeError for complex.
    """
    name = return_types.max if out is None else return_types.max_out
    return name(*_with_indices("max", np.argmax, self, dim, keepdim, out))


def min_dim(
    self: Tensor, dim: int, keepdim: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The smallest elements along `dim` and their indices, as (values, indices). Raises as
    `max_dim`.
    """
    name = return_types.min if out is None else return_types.min_out
    return name(*_with_indices("min", np.argmin, self, dim, keepdim, out))


def aminmax(
    self: Tensor, dim: int | None = None, keepdim: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The smallest and the largest elements along `dim`, or of the whole tensor, as (min, max).

    Raises IndexError over a dimension of size 0, RuntimeError for an empty tensor,
    NotImplementedError for complex.
    """
    if dim is not None:
        check_not_empty("aminmax", self, wrap_dim(dim, self.dim()), "")
    elif not self.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    dims = reduced_dims(self, dim)
    sizes = reduced_sizes(self.shape, dims, keepdim)
    smallest, largest = (
        set_output(sizes, self.dtype, o, device=self.device) for o in out or (None, None)
    )
    if self.dtype.category == COMPLEX:
        if dim is not None and not self.dim():
            raise RuntimeError(f"aminmax not implemented for {SCALAR_TYPE_NAME[self.dtype]}")
        raise not_implemented("aminmax_cpu", self.dtype)
    if self._geometry.stored:
        found = [_reduced(loop, self, dims).reshape(sizes) for loop in (np.minimum, np.maximum)]
        array(smallest)[...], array(largest)[...] = found
    return (return_types.aminmax if out is None else return_types.aminmax_out)(smallest, largest)


def _extreme(
    name: str,
    loop: Callable[..., Any],
    self: Tensor,
    dim: Sequence[int] = (),
    keepdim: bool = False,
    out: Tensor | None = None,
) -> Any:
    """`amax` or `amin`: `loop`, numpy's maximum or minimum, over the dimensions `dim`."""
    if not self.numel():
        if not dim:
            raise RuntimeError(
                _NO_DIM.format(name) + " Specify the reduction dim with the 'dim' argument."
            )
        for d in dim:
            check_not_empty(name, self, d)
    dims = reduced_dims(self, dim)
    if out is not None and out.dtype is not self.dtype:
        names = dt.SCALAR_TYPE_NAME
        raise RuntimeError(
            f"Expected the dtype for input and out to match, but got {names[self.dtype]} for "
            f"input's dtype and {names[out.dtype]} for out's dtype."
        )
    if not self.numel():
        return store(self, tuple, dims, keepdim, self.dtype, out)
    if self.dtype.category == COMPLEX:
        raise not_implemented(f"{name[1:]}_values_cpu", self.dtype)
    return store(
        self, lambda: _reduced(loop, self, dims), dims, keepdim, self.dtype, out, f"extrema.{name}"
    )


# The maximum over `dim`; [] means all. Raises IndexError over a dimension of size 0.
amax = partial(_extreme, "amax", np.maximum)
# The minimum over `dim`; [] means all. Raises IndexError over a dimension of size 0.
amin = partial(_extreme, "amin", np.minimum)


def _extreme_of_all(name: str, loop: Callable[..., Any], self: Tensor) -> Any:
    """`max` or `min` of all elements, as a 0-d tensor."""
    if not self.numel():
        raise RuntimeError(
            _NO_DIM.format(name) + " Specify the reduction dim with the 'dim' argument."
        )
    if self.dtype.category == COMPLEX:
        raise not_implemented(f"{name}_all", self.dtype)
    dims = tuple(range(self.dim()))
    return store(
        self, lambda: _reduced(loop, self, dims), dims, False, self.dtype, None, f"extrema.a{name}"
    )


# The largest element. Raises RuntimeError when there is none.
max = partial(_extreme_of_all, "max", np.maximum)
# The smallest element. Raises RuntimeError when there is none.
min = partial(_extreme_of_all, "min", np.minimum)


def _reduced(loop: Any, self: Any, dims: tuple[int, ...]) -> Any:
    """The extreme elements as an array without `dims`."""
    if self._geometry.numel >= settings.least:
        from internals.aten.compiled.extrema import THRESHOLD, extremes

        if (
            use_compiled(self.numel(), THRESHOLD)
            and (found := extremes(self, dims, loop is np.maximum)) is not None
        ):
            return found
    return quietly(loop.reduce, array(self), dims)


def _with_indices(
    name: str, argextreme: Any, self: Tensor, dim: int, keepdim: bool, out: Sequence[Tensor] | None
) -> tuple[Any, Any]:
    """(values, indices) along `dim`, for numpy's argmax or argmin as `argextreme`."""
    (d,) = wrap_dims(dim, self.dim())
    check_not_empty(name, self, d)
    if self.dtype.category == COMPLEX:
        raise RuntimeError(f"{name}(): does not support complex input")
    dims = (d,) if self.dim() else ()
    sizes = reduced_sizes(self.shape, dims, keepdim)
    out_values, out_indices = out or (None, None)
    values = set_output(sizes, self.dtype, out_values, device=self.device)
    indices = set_output(sizes, dt.int64, out_indices, device=self.device)
    if self._geometry.stored:
        if (pair := _compiled_with_indices(argextreme, self, dims)) is not None:
            array(values)[...], array(indices)[...] = (a.reshape(sizes) for a in pair)
            return values, indices
        # a 0-d tensor as a vector of one element
        a = array(self) if self.dim() else array(self)[None]
        index = argextreme(a, axis=d)
        found = a[index] if a.ndim == 1 else np.take_along_axis(a, np.expand_dims(index, d), axis=d)
        array(values)[...] = found.reshape(sizes)
        array(indices)[...] = index.reshape(sizes)
    return on_device(f"extrema.{name}", (values, indices), self, dims)


def _index(
    name: str,
    argextreme: Any,
    self: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
) -> Any:
    """`argmax` or `argmin`, as int64. Raises RuntimeError for bools and complex numbers, IndexError
    where there are no elements.
    """
    if self.dtype.category in (BOOL, COMPLEX):
        raise RuntimeError(
            f"{name}(): does not support {'bool' if self.dtype is dt.bool_ else 'complex'} input"
        )
    dims = reduced_dims(self, dim)
    if dim is None and not self.numel():
        raise IndexError(_NO_DIM.format(name))
    if dim is not None and dims:
        check_not_empty(name, self, dims[0])

    def loop() -> Any:
        if (pair := _compiled_with_indices(argextreme, self, dims)) is not None:
            return pair[1]
        a = array(self) if self.dim() else array(self)[None]
        return argextreme(a, axis=dims[0] if dim is not None and dims else None) if a.size else ()

    return store(self, loop, dims, keepdim, dt.int64, out, f"extrema.{name}")


# The index of the largest element along `dim`, or in the flattened tensor.
argmax = partial(_index, "argmax", np.argmax)
# The index of the smallest element along `dim`, or in the flattened tensor.
argmin = partial(_index, "argmin", np.argmin)


def _compiled_with_indices(argextreme: Any, self: Tensor, dims: tuple[int, ...]) -> Any:
    """(values, indices) over one dimension by machine code, as arrays without that dimension; None
    where numpy is used.
    """
    numel = self._geometry.numel
    if numel < settings.least or not numel or len(dims) != 1:
        return None
    from internals.aten.compiled.extrema import THRESHOLD, extremes_with_indices

    return (
        extremes_with_indices(self, dims[0], argextreme is np.argmax)
        if use_compiled(numel, THRESHOLD)
        else None
    )


def check_not_empty(name: str, self: Tensor, d: int, parentheses: str = "()") -> None:
    """Raises IndexError when dimension `d` has size 0: then there is no largest element."""
    if self.shape and self.shape[wrap_dim(d, self.dim())] == 0:
        raise IndexError(f"{name}{parentheses}: Expected reduction dim {d} to have non-zero size.")


_NO_DIM = "{}(): Expected reduction dim to be specified for input.numel() == 0."
