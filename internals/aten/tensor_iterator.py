"""What all pointwise operators have in common (`aten/src/ATen/TensorIterator.cpp`).

Before a loop can run, somebody has to decide: which dtype to compute in, what shape the operands broadcast to, what the output
is (given, or new: then in which memory order), and how few dimensions the walk over memory really needs. A `TensorIterator`
makes these decisions in its constructor, where they can be looked at, and `run` hands numpy's loop exactly the operands it
decided on.

    it = TensorIterator([a, b])
    it.common_dtype, it.shape, it.permutation, it.coalesced_shape
    result = it.run(np.add)

Most calls need none of this: their operands have one geometry. The constructor sees that by identity and stops
(`fast_setup`); whoever asks for a decision later gets it worked out then.

How the real one differs: it also splits the walk over threads and casts in small buffers inside the loop; here an operand of
another dtype is converted as a whole, and numpy walks. PyTorch tells wrapped numbers (Python scalars) by a flag on a 0-d
tensor, and lists dimensions from the innermost outwards; here they stay in the order in which users see them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    like,
)
from internals.core.promotion import result_type
from internals.core.tensor_impl import TensorImpl, array, empty

from .overlap import check_no_internal_overlap, check_no_partial_overlap, is_non_overlapping_and_dense
from .writing import check_cast, resize_output

_REAL_NUMBERS = (float, int, bool)


class TensorIterator:
    """The decisions for one pointwise call.

    `inputs` are tensors and Python numbers. `out` is the tensor to write to, or None for a new one. `promote` says what to
    compute in: "common" (the promoted dtype), "float" (the same, but integers become the default dtype), a dtype, "same"
    (nothing is converted: `out` has to have the one input's dtype), or None to leave every operand as it is.
    `result` is the dtype of a new output; the computation's when None.

    Attributes: `common_dtype`, `result_dtype`, `shape`, `output`, `fast_setup` ("contiguous", "channels_last",
    "non_overlapping_dense": all operands lie in memory in the same way and one run over it does; else None), `permutation`
    (dimensions from the outermost to the innermost in memory), `coalesced_shape` and `coalesced_strides` (in bytes; one tuple
    an operand, the output first).

    Raises RuntimeError for shapes that do not broadcast, devices that differ, overlapping memory, and an `out` of the wrong
    shape (in place) or dtype.
    """

    __slots__ = ("inputs", "common_dtype", "result_dtype", "fast_setup", "_geometry", "_output", "_operands", "_walk")

    def __init__(
        self,
        inputs: Sequence[Any],
        out: Any = None,
        promote: str | dtype | None = "common",
        result: dtype | None = None,
    ) -> None:
        self.inputs = inputs
        self._output = out
        self._operands: list[Any] | None = None
        self._walk: tuple[tuple[int, ...], list[tuple[int, ...]]] | None = None
        if out is None and promote.__class__ is str:
            g = shared_geometry(inputs)
            if g is not None:
                self.fast_setup: str | None = "contiguous"
                self.common_dtype = g.dtype
                self.result_dtype, self._geometry = (g.dtype, g) if result is None else (result, like(g, result))
                return
        self._set_up(out, promote, result)

    def run(self, loop: Callable[..., Any], **options: Any) -> Any:
        """Call `loop(*operands, out=...)`, a numpy ufunc or anything with its signature, over the coalesced operands."""
        if self._operands is None:  # one geometry: nothing to convert, nothing to coalesce
            output = self._output = empty(self._geometry)
            operands = [array(x) if isinstance(x, TensorImpl) else x for x in self.inputs]
            if loop.__class__ is not np.ufunc:  # ufuncs know what to do with a Python number
                operands = [number(x, self.common_dtype) if x.__class__ in _REAL_NUMBERS else x for x in operands]
            loop(*operands, out=array(output), **options)
            return output
        output = self.output
        if self._geometry.numel == 0 or self._geometry.device is not CPU:
            return output
        operands, target = self._operands, array(output)
        if self.fast_setup is None:
            shape, strides = self._coalesce()
            target = _view(target, output, shape, strides[0])
            operands = [_view(a, x, shape, s) for a, x, s in zip(operands, self.inputs, strides[1:])]
        with np.errstate(all="ignore"):
            if output.dtype is self.result_dtype:
                loop(*operands, out=target, **options)
            else:
                buffer = np.empty(target.shape, self.result_dtype.np)
                loop(*operands, out=buffer, **options)
                target[...] = buffer
        return output

    @property
    def output(self) -> Any:
        if self._output is None:
            self._output = empty(self._geometry)
        return self._output

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._geometry.sizes)

    @property
    def permutation(self) -> tuple[int, ...]:
        if self.fast_setup == "contiguous":
            return tuple(range(len(self.shape)))
        return memory_order(self.shape, self._all_strides())

    @property
    def coalesced_shape(self) -> tuple[int, ...]:
        return self._coalesce()[0]

    @property
    def coalesced_strides(self) -> list[tuple[int, ...]]:
        return self._coalesce()[1]

    def _set_up(self, out: Any, promote: str | dtype | None, result: dtype | None) -> None:
        """The long way, in PyTorch's order: memory overlap, shape, dtypes, then the output's place in memory (`build`)."""
        tensors = [x for x in self.inputs if isinstance(x, TensorImpl)]
        if out is not None:
            check_no_internal_overlap(out)
            for t in tensors:
                check_no_partial_overlap(out, t)
        shape = broadcast_shapes(*[t._geometry.sizes for t in tensors])
        resized = out is not None and out._geometry.sizes != shape
        if resized and any(out is t for t in tensors):
            raise RuntimeError(f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(shape)}")
        device = self._common_device(tensors, out)
        common = promote if isinstance(promote, dtype) else result_type(self.inputs)
        if promote == "float" and common.category < dt.FLOATING:
            common = dt.get_default_dtype()
        self.common_dtype = common
        self.result_dtype = result or common
        convert = promote is not None
        if out is not None:
            if promote == "same" and out.dtype is not common:
                raise RuntimeError(f"Found dtype {SCALAR_TYPE_NAME[out.dtype]} but expected {SCALAR_TYPE_NAME[common]}")
            check_cast(self.result_dtype, out.dtype)
        defined = tensors if out is None or resized else [out, *tensors]
        self.fast_setup = self._fast_setup(defined, shape, has_numbers=len(tensors) < len(self.inputs))
        if out is None or resized:
            strides = self._output_strides(tensors, shape)
            if out is None:
                self._geometry = geometry(shape, strides, self.result_dtype, device)
            else:
                resize_output(out, shape)
                out._geometry = geometry(shape, strides, out.dtype, device, out._geometry.keys)
                out._array = None
        if out is not None:
            self._geometry = out._geometry
        self._operands = [self._operand(x, convert) for x in self.inputs] if device is CPU else []

    def _common_device(self, tensors: list[Any], out: Any) -> Any:
        """The device of the operands with dimensions; 0-d CPU tensors may join any device."""
        everyone = tensors if out is None else [out, *tensors]
        common = next((t.device for t in everyone if t.shape), everyone[0].device)
        for t in everyone:
            if t.device is not common and (t.shape or t.device is not CPU):
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, {common} and {t.device}!"
                )
        return common

    def _fast_setup(self, tensors: list[Any], shape: tuple[int, ...], has_numbers: bool) -> str | None:
        """Whether one run over memory, in some order common to all, visits every operand (`compute_fast_setup_type`)."""
        geometries = [t._geometry for t in tensors]
        if any(g.sizes != shape for g in geometries):
            return None
        if has_numbers:  # a 0-d operand: PyTorch takes the long way, with the same outcome for the usual strides
            return "contiguous" if all(g.strides == contiguous_strides(shape) and g.numel for g in geometries) else None
        if all(g.is_contiguous for g in geometries):
            return "contiguous"
        if len(shape) == 4 and all(is_channels_last_contiguous(shape, g.strides) for g in geometries):
            return "channels_last"
        first = geometries[0]
        same = all(g.strides == first.strides for g in geometries)
        return "non_overlapping_dense" if same and is_non_overlapping_and_dense(shape, first.strides) else None

    def _output_strides(self, tensors: list[Any], shape: tuple[int, ...]) -> tuple[int, ...]:
        """Strides for a new output: those of the inputs where they agree, else packed in memory order."""
        if self.fast_setup == "contiguous":
            return contiguous_strides(shape)
        if self.fast_setup == "channels_last":
            return channels_last_strides(shape)
        if self.fast_setup == "non_overlapping_dense":
            return tensors[0]._geometry.strides
        order = memory_order(shape, [_byte_strides(t, shape) for t in tensors])
        if order == tuple(range(len(shape))):
            return contiguous_strides(shape)
        strides, step = [0] * len(shape), 1
        for d in reversed(order):
            strides[d] = step
            step *= shape[d]
        return tuple(strides)

    def _operand(self, x: Any, convert: bool) -> Any:
        if isinstance(x, TensorImpl):
            a = array(x)
            return a.astype(self.common_dtype.np) if convert and x.dtype is not self.common_dtype else a
        return number(x, self.common_dtype if convert else self.result_dtype)

    def _all_strides(self) -> list[tuple[int, ...]]:
        """The strides in bytes of the output and of every input, as broadcast; a number's are all 0."""
        operands = [self.output, *self.inputs]
        return [_byte_strides(x, self.shape) if isinstance(x, TensorImpl) else (0,) * len(self.shape) for x in operands]

    def _coalesce(self) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """Merge neighbouring dimensions that every operand walks in one stride."""
        if self._walk is None:
            rows = self._all_strides()
            for i, a in enumerate(self._operands or (), 1):  # an operand that was converted lies elsewhere
                if isinstance(a, np.ndarray):
                    rows[i] = broadcast_strides(a.shape, a.strides, self.shape)
            self._walk = coalesce(self.shape, rows, self.permutation)
        return self._walk


def shared_geometry(inputs: Sequence[Any]) -> Geometry | None:
    """The one `Geometry` of all tensors among `inputs`, if it is a `fast` one and the numbers do not change the dtype."""
    shared = None
    for x in inputs:
        if isinstance(x, TensorImpl):
            g = x._geometry
            if g is not shared:
                if shared is not None or not g.fast:
                    return None
                shared = g
        elif x.__class__ not in _REAL_NUMBERS:
            return None
    if shared is not None and shared.dtype is dt.float16 and len(inputs) > 1:
        return None
    return shared


def memory_order(shape: Sequence[int], strides: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Dimensions from outermost to innermost: the first operand that has an opinion decides (`reorder_dimensions`)."""

    def should_swap(a: int, b: int) -> int:
        """1 if dimension `a` should lie outside `b`, -1 if inside, 0 if no operand says."""
        for s in strides:
            if s[a] == 0 or s[b] == 0:
                continue
            if s[a] != s[b]:
                return -1 if s[a] < s[b] else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    order = list(range(len(shape) - 1, -1, -1))  # innermost first; insertion sort that tolerates "don't know"
    for i in range(1, len(shape)):
        j = i
        for k in range(i - 1, -1, -1):
            swap = should_swap(order[k], order[j])
            if swap > 0:
                order[k], order[j] = order[j], order[k]
                j = k
            elif swap < 0:
                break
    return tuple(reversed(order))


def coalesce(
    shape: Sequence[int], rows: Sequence[tuple[int, ...]], order: Sequence[int]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """`shape`, and each operand's strides, with dimensions merged wherever all operands allow it; outermost first."""
    merged: list[int] = []
    strides: list[list[int]] = [[] for _ in rows]
    for d in reversed(order):
        size = shape[d]
        if merged and size == 1:
            continue
        if merged and merged[-1] == 1:  # so far only a dimension of size 1: any stride will do for it
            merged[-1] = size
            for m, r in zip(strides, rows):
                m[-1] = r[d]
        elif merged and all(m[-1] * merged[-1] == r[d] for m, r in zip(strides, rows)):
            merged[-1] *= size
        else:
            merged.append(size)
            for m, r in zip(strides, rows):
                m.append(r[d])
    return tuple(reversed(merged)), [tuple(reversed(m)) for m in strides]


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape several shapes broadcast to, right-aligned. Raises RuntimeError naming the dimension that does not fit."""
    result: tuple[int, ...] = tuple(shapes[0]) if shapes else ()
    for shape in shapes[1:]:
        if tuple(shape) == result:
            continue
        n = max(len(result), len(shape))
        a = (1,) * (n - len(result)) + result
        b = (1,) * (n - len(shape)) + tuple(shape)
        for d in range(n - 1, -1, -1):
            if a[d] != b[d] and a[d] != 1 and b[d] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a[d]}) must match the size of tensor b ({b[d]}) at non-singleton dimension {d}"
                )
        result = tuple(y if x == 1 else x for x, y in zip(a, b))
    return result


def broadcast_strides(sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """`strides` for walking `shape`: 0 along dimensions that are missing or repeat a single element."""
    missing = len(shape) - len(sizes)
    return (0,) * missing + tuple(0 if n == 1 != m else s for n, s, m in zip(sizes, strides, shape[missing:]))


def number(value: Any, target: dtype) -> Any:
    """A Python number as a numpy scalar of `target`; integers wrap around as a C cast would."""
    if target.category == dt.INTEGRAL and not isinstance(value, bool):
        bits = target.itemsize * 8
        wrapped = int(value) & ((1 << bits) - 1)
        return np.array(wrapped, dtype=f"u{target.itemsize}").view(target.np)[()]
    with np.errstate(over="ignore"):
        return target.np.type(value)


def _byte_strides(t: TensorImpl, shape: Sequence[int]) -> tuple[int, ...]:
    g = t._geometry
    n = g.dtype.itemsize
    return tuple(n * s for s in broadcast_strides(g.sizes, g.strides, shape))


def _view(a: Any, x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Operand `a`, which holds the elements of `x`, as an array of the coalesced shape."""
    if isinstance(a, np.generic) or (a.shape == shape and a.strides == strides):
        return a
    if isinstance(x, TensorImpl) and a is x._array:
        return np.ndarray(shape, a.dtype, x._storage.memory(), x._offset * a.itemsize, strides)
    return np.lib.stride_tricks.as_strided(a, shape, strides)
