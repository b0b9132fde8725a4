"""Copies a finished result to where the caller wants it: into `self` (in-place) or into `out=`
(`aten/src/ATen/native/Resize.cpp`).

How the real one differs: structured kernels get their output from `set_output` and never copy, as
`TensorIterator` does here. The results in this file are computed first and copied afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core.device import CPU, META, device
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.geometry import bytes_spanned, contiguous_geometry, geometry, with_keys
from internals.core.promotion import can_cast
from internals.core.return_types import NamedResult, named
from internals.core.tensor_impl import Tensor, array
from internals.core.warn import warn

from .dtype_checks import TYPE_META_NAME
from .overlap import check_no_internal_overlap


def write_inplace(target: Tensor, result: Tensor) -> Any:
    """Copy `result` into `target`, which keeps its shape and dtype. Raises RuntimeError if these
    do not fit, or if elements of `target` share memory.
    """
    check_cast(result.dtype, target.dtype)
    if result.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    check_no_internal_overlap(target)
    _store(target, result)
    return target


def copy_inplace(target: Any, result: Any) -> Any:
    """`write_inplace` for a composite operator, of which autograd records the parts: the copy has
    to be an operator too.
    """
    from internals._generated import ops

    check_cast(result.dtype, target.dtype)
    if result.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    return ops.copy_(target, result, False)


def write_out(out: Tensor, result: Tensor) -> Any:
    """Copy `result` into `out`, which is resized if need be. Raises RuntimeError if the dtype can't
    be cast or `out` is on another device.
    """
    check_cast(result.dtype, out.dtype)
    check_device(result.device, out.device)
    resize_output(out, result.shape)
    check_no_internal_overlap(out)
    _store(out, result)
    return out


def write_exact_out(out: Tensor, result: Tensor) -> Any:
    """`write_out` for an `out` that must have the result's dtype. Raises RuntimeError if it has
    another.
    """
    check_dtype(result.dtype, out.dtype)
    return write_out(out, result)


def fill_out(out: Tensor, result: Tensor) -> Any:
    """`write_out` for factories, such as `zeros(2, out=t)`, which resize without a warning."""
    if tuple(out.shape) != tuple(result.shape):
        resize(out, result.shape)
    return write_out(out, result)


def range_out(out: Tensor, result: Tensor, warns: bool = True) -> Any:
    """`fill_out` for ranges. They keep the shape of an `out` that has the right number of elements;
    any other is resized, with a warning if `warns`.
    """
    if out.numel() == result.numel():
        return write_out(out, result.view(out.shape))
    if warns and out.numel():
        n = result.numel()
        warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} "
            f"which does not match the computed number of elements {n}. Note that this may occur "
            "as a result of rounding error. The out tensor will be resized to a tensor of shape "
            f"({n},)."
        )
    return fill_out(out, result)


def write_outs(outs: Sequence[Any], results: Sequence[Any]) -> Any:
    """`write_out` for each of several results. Returns the outs as a tuple, a named one if
    `results` is."""
    written = [write_out(o, r) for o, r in zip(outs, results)]
    if not isinstance(results, NamedResult):
        return tuple(written)
    return named(type(results).__name__ + "_out", results._fields)(*written)


def write_exact_outs(outs: Sequence[Any], results: Sequence[Any]) -> Any:
    """`write_exact_out` for each of several results. If one dtype is wrong, nothing is written."""
    for o, r in zip(outs, results):
        check_dtype(r.dtype, o.dtype)
    return write_outs(outs, results)


def become_view(target: Tensor, view: Tensor) -> Any:
    """Give `target` the geometry of a view of it, for `t.transpose_(0, 1)` and its like."""
    target._geometry, target._offset, target._array = view._geometry, view._offset, None
    return target


def resize_output(out: Tensor, sizes: Sequence[int]) -> bool:
    """Give `out` the sizes of a result, with a warning if it had elements. Returns whether it was
    resized."""
    if tuple(out.shape) == tuple(sizes):
        return False
    if out.numel():
        warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(out.shape)}, which does not match the required output shape {list(sizes)}. "
            "This behavior is deprecated, and in a future PyTorch release outputs will not be "
            "resized unless they have zero elements. You can explicitly reuse an out tensor t by "
            "resizing it, inplace, to zero elements with t.resize_(0)."
        )
    resize(out, sizes)
    return True


def resize(t: Tensor, sizes: Sequence[int], strides: Sequence[int] | None = None) -> None:
    """Give `t` other sizes, contiguous unless `strides` are given. Its storage grows if it is too
    small, and never shrinks.

    Raises RuntimeError if there is not enough memory, or the storage may not grow.
    """
    if strides is None:
        fresh = contiguous_geometry(sizes, t.dtype, t.device)
    else:
        fresh = geometry(sizes, strides, t.dtype, t.device)
    if (needed := bytes_spanned(fresh, t._offset)) > t._storage.nbytes():
        t._storage.resize_(needed)
    t._geometry = fresh if t._geometry.keys == fresh.keys else with_keys(fresh, t._geometry.keys)
    t._array = None


def check_dtype(wanted: dtype, given: dtype) -> None:
    """Raises RuntimeError unless an `out` has the dtype of the result."""
    if given is not wanted:
        raise RuntimeError(
            f"Expected out tensor to have dtype {TYPE_META_NAME[wanted]}, but got "
            f"{TYPE_META_NAME[given]} instead"
        )


def check_device(wanted: device, given: device) -> None:
    """Raises RuntimeError unless an `out` is on the device of the result."""
    if given is not wanted:
        raise RuntimeError(f"Expected out tensor to have device {wanted}, but got {given} instead")


def check_cast(source: dtype, target: dtype) -> None:
    """Raises RuntimeError if a result of dtype `source` may not be stored as `target`, as a float
    in an integer."""
    if not can_cast(source, target):
        raise RuntimeError(
            f"result type {SCALAR_TYPE_NAME[source]} can't be cast to the desired output type "
            f"{SCALAR_TYPE_NAME[target]}"
        )


def _store(target: Tensor, result: Tensor) -> None:
    """Write the elements of `result` to `target`, which has the same shape and device."""
    if not target.numel():
        return
    if target.device is CPU:
        array(target)[...] = array(result)
    elif target.device is not META:
        from internals._generated import ops

        ops.copy_(target, result, False)
