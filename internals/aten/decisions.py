"""Makes the decisions of a `TensorIterator`, PyTorch's steps in PyTorch's order
(`TensorIteratorBase::build` in `aten/src/ATen/TensorIterator.cpp`).

First shape, device and dtypes; then whether one run over memory visits all operands; if not, the
order of the dimensions in memory, which a new output follows; and last, for the walk itself, which
dimensions can be merged.

How the real one differs: `build` changes a list of operand records step by step; here a function
returns the decisions, which are kept for the next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.geometry import (
    Geometry,
    channels_last_strides,
    contiguous_strides,
    geometry,
    is_channels_last_contiguous,
)
from internals.core.promotion import result_type
from internals.core.tensor_impl import Tensor, TensorImpl

from .broadcasting import Strides, broadcast_shapes, broadcast_strides, coalesce, memory_order
from .layout import strides_like
from .overlap import is_non_overlapping_and_dense
from .writing import check_cast

Walk = tuple[tuple[int, ...], list[Strides]]


class Decisions:
    """Everything that follows from the operands' geometries.

    common_dtype: the dtype of the computation. result_dtype: that of its result.
    geometry: that of the output. resizes: whether a given `out` must be resized.
    targets: the dtype that each input is converted to. as_they_are: no input needs it.
    fast_setup, permutation: as in `TensorIterator`.
    plans: for the backend, which keeps here, by loop, how it runs it for such operands.
    """

    __slots__ = (
        "common_dtype", "result_dtype", "geometry", "resizes", "targets", "as_they_are",
        "fast_setup", "permutation", "plans", "_walk",
    )  # fmt: skip

    common_dtype: dtype
    result_dtype: dtype
    geometry: Geometry
    resizes: bool
    targets: list[dtype]
    as_they_are: bool
    fast_setup: str | None
    permutation: tuple[int, ...]
    plans: dict[Any, Any]
    _walk: Walk | None

    def walk(self, arrays: Sequence[Any]) -> Walk:
        """The coalesced shape, and each operand's strides for it in bytes. `arrays`, the output
        first, are the operands after their conversion.
        """
        if self._walk is None:
            shape = tuple(self.geometry.sizes)
            rows = [
                broadcast_strides(a.shape, a.strides, shape)
                if isinstance(a, np.ndarray)
                else (0,) * len(shape)
                for a in arrays
            ]
            self._walk = coalesce(shape, rows, self.permutation)
        return self._walk


def decide(
    inputs: Sequence[Any], out: Any, promote: Any, result: dtype | None, wide_scalars: bool
) -> Decisions:
    """All decisions for a call with such operands. The arguments and the errors are those of
    `TensorIterator`."""
    d = Decisions()
    d._walk, d.plans = None, {}
    tensors = [x for x in inputs if isinstance(x, TensorImpl)]
    shape = broadcast_shapes(*[t._geometry.sizes for t in tensors])
    d.resizes = out is not None and out._geometry.sizes != shape
    if d.resizes and any(out is t for t in tensors):
        raise RuntimeError(
            f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    device = common_device(tensors, out)
    if device is not CPU and promote is not None and sum(t.device is CPU for t in tensors) > 1:
        raise RuntimeError("Trying to pass too many CPU scalars to non-CPU kernel!")
    _decide_dtypes(d, inputs, promote, result, wide_scalars)
    d.as_they_are = all(getattr(x, "dtype", None) is target for x, target in zip(inputs, d.targets))
    if out is not None:
        if promote == "same" and out.dtype is not d.common_dtype:
            names = SCALAR_TYPE_NAME[out.dtype], SCALAR_TYPE_NAME[d.common_dtype]
            raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
        check_cast(d.result_dtype, out.dtype)
    # the geometries that the loop will see, the output first if it decides the order in memory
    read = [
        _as_converted(x, target)
        for x, target in zip(inputs, d.targets)
        if isinstance(x, TensorImpl)
    ]
    defined = read if out is None or d.resizes else [out._geometry, *read]
    d.fast_setup = _fast_setup(defined, shape, has_numbers=len(tensors) < len(inputs))
    if d.fast_setup == "contiguous":
        d.permutation = tuple(range(len(shape)))
    else:
        d.permutation = memory_order(shape, [_byte_strides(g, shape) for g in defined])
    if out is None:
        d.geometry = geometry(shape, _new_strides(d, read, shape), d.result_dtype, device)
    elif d.resizes:
        d.geometry = geometry(
            shape, _new_strides(d, read, shape), out.dtype, device, out._geometry.keys
        )
    else:
        d.geometry = out._geometry
    return d


def _decide_dtypes(
    d: Decisions,
    inputs: Sequence[Any],
    promote: str | None,
    result: dtype | None,
    wide_scalars: bool,
) -> None:
    """Decide the dtype to compute in, that of the result, and the one to convert each input to
    (`compute_types`).
    """
    common = promote if isinstance(promote, dtype) else result_type(inputs)
    if promote == "float" and common.category < dt.FLOATING:
        common = dt.get_default_dtype()
    d.common_dtype, d.result_dtype = common, result or common
    if promote is None:  # `where`: the condition keeps its dtype
        d.targets = [inputs[0].dtype] + [d.result_dtype] * (len(inputs) - 1)
    elif wide_scalars and common is dt.float16:
        d.targets = [
            dt.float32 if i and not getattr(x, "shape", ()) else common
            for i, x in enumerate(inputs)
        ]
    else:
        d.targets = [common] * len(inputs)


def common_device(tensors: list[Any], out: Tensor | None) -> Any:
    """The first device that is not the CPU, if there is one, else the CPU. Raises RuntimeError if
    another tensor is elsewhere, unless it is a 0-d tensor on the CPU.
    """
    all_tensors = tensors if out is None else [out, *tensors]
    common = next((t.device for t in all_tensors if t.device is not CPU), CPU)
    for t in all_tensors:
        if t.device is not common and (t.shape or t is out or t.device is not CPU):
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{common} and {t.device}!"
            )
    return common


def _fast_setup(operands: list[Geometry], shape: tuple[int, ...], has_numbers: bool) -> str | None:
    """How all operands lie in memory, if one run over it visits them all in the same order; else
    None (`compute_fast_setup_type`).
    """
    if any(g.sizes != shape for g in operands):
        return None
    if has_numbers:
        # to PyTorch a number is a 0-d operand, so it takes the long path, with the same result
        return (
            "contiguous"
            if all(g.strides == contiguous_strides(shape) and g.numel for g in operands)
            else None
        )
    if all(g.is_contiguous for g in operands):
        return "contiguous"
    if len(shape) == 4 and all(is_channels_last_contiguous(shape, g.strides) for g in operands):
        return "channels_last"
    first = operands[0].strides
    same = all(g.strides == first for g in operands)
    return "non_overlapping_dense" if same and is_non_overlapping_and_dense(shape, first) else None


def _as_converted(t: TensorImpl, target: dtype) -> Geometry:
    """The geometry of an operand after its conversion, which leaves it without gaps."""
    g = t._geometry
    return g if g.dtype is target else geometry(g.sizes, strides_like(t), target, g.device)


def _new_strides(d: Decisions, read: list[Geometry], shape: tuple[int, ...]) -> Strides:
    """Strides for a new output: those of the inputs if they agree, else without gaps in the order
    of `permutation`.
    """
    if d.fast_setup == "channels_last":
        return channels_last_strides(shape)
    if d.fast_setup == "non_overlapping_dense":
        return tuple(read[0].strides)
    if d.permutation == tuple(range(len(shape))):
        return contiguous_strides(shape)
    strides, step = [0] * len(shape), 1
    for i in reversed(d.permutation):
        strides[i] = step
        step *= shape[i]
    return tuple(strides)


def _byte_strides(g: Geometry, shape: Sequence[int]) -> Strides:
    """The strides in bytes of an operand broadcast to `shape`."""
    return tuple(g.dtype.itemsize * s for s in broadcast_strides(g.sizes, g.strides, shape))
