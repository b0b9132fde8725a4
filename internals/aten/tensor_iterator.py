"""What all pointwise operators have in common (`aten/src/ATen/TensorIterator.cpp`).

Before a loop can run, somebody has to decide: which dtype to compute in, what shape the operands broadcast to, what the output
is (given, or new: then in which memory order), and how few dimensions the walk over memory really needs. A `TensorIterator`
makes these decisions in its constructor, where they can be looked at, and `run` hands numpy's loop exactly the operands it
decided on.

    it = TensorIterator([a, b])
    it.common_dtype, it.shape, it.permutation, it.coalesced_shape
    result = it.run(np.add)

How the real one differs: it also splits the walk over threads and casts in small buffers inside the loop; here an operand of
another dtype is converted as a whole, and numpy walks. PyTorch tells wrapped numbers (Python scalars) by a flag on a 0-d tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import dtype
from internals.core.geometry import geometry
from internals.core.promotion import result_type
from internals.core.tensor_impl import TensorImpl, array, empty

from .writing import check_cast, check_no_internal_overlap, resize_output


class TensorIterator:
    """The decisions for one pointwise call.

    `inputs` are tensors and Python numbers. `out` is the tensor to write to, or None for a new one. `promote` says what to
    compute in: "common" (the promoted dtype), "float" (the same, but integers become the default dtype), or a dtype.
    `result` is the dtype of a new output; the computation's when None.

    Attributes: `common_dtype`, `result_dtype`, `shape`, `output`, `permutation` (dimensions from the outermost to the innermost
    in memory), `coalesced_shape` and `coalesced_strides` (in bytes; one tuple an operand, the output first).
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        out: Any = None,
        promote: str | dtype = "common",
        result: dtype | None = None,
    ) -> None:
        self.inputs = list(inputs)
        tensors = [x for x in self.inputs if isinstance(x, TensorImpl)]
        common = promote if isinstance(promote, dtype) else result_type(self.inputs)
        if promote == "float" and common.category < dt.FLOATING:
            common = dt.get_default_dtype()
        self.common_dtype = common
        self.result_dtype = result or common
        self._check_devices(tensors)
        self.shape = broadcast_shapes(*[t.shape for t in tensors])
        self.is_inplace = out is not None and any(out is t for t in tensors)
        if out is not None:
            self._check_output(out, tensors)
        self.permutation = self._order([t for t in tensors if t is not out] if not self.is_inplace else tensors)
        self.output = out if out is not None else self._allocate(tensors)
        self._operands = [self._operand(x) for x in self.inputs]
        self._coalesce()

    def run(self, loop: Callable[..., Any], **options: Any) -> Any:
        """Call `loop(*operands, out=...)`, a numpy ufunc or anything with its signature, over the coalesced operands."""
        output = self.output
        if output.numel() == 0:
            return output
        target = self._view(array(output), self.coalesced_strides[0])
        operands = [
            x if isinstance(x, np.generic) or not x.shape else self._view(x, s)
            for x, s in zip(self._operands, self.coalesced_strides[1:])
        ]
        with np.errstate(all="ignore"):
            if output.dtype is self.result_dtype:
                loop(*operands, out=target, **options)
            else:
                buffer = np.empty(self.coalesced_shape, self.result_dtype.np)
                loop(*operands, out=buffer, **options)
                target[...] = buffer
        return output

    def _check_devices(self, tensors: list[Any]) -> None:
        with_dims = {t.device for t in tensors if t.shape} or {t.device for t in tensors}
        if len(with_dims) > 1:
            a, b = sorted(map(str, with_dims))
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {b} and {a}!"
            )

    def _check_output(self, out: Any, tensors: list[Any]) -> None:
        check_cast(self.result_dtype, out.dtype)
        if tuple(out.shape) != self.shape:
            if self.is_inplace:
                raise RuntimeError(
                    f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(self.shape)}"
                )
            resize_output(out, self.shape)
        check_no_internal_overlap(out)
        for t in tensors:
            if t is not out and partially_overlap(t, out):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                    "location. Please clone() the tensor before performing the operation."
                )

    def _order(self, tensors: list[Any]) -> tuple[int, ...]:
        """Dimensions sorted by stride, outermost first: the first operand that has an opinion decides (`reorder_dimensions`)."""
        ndim = len(self.shape)
        strides = [broadcast_strides(t.shape, t.stride(), self.shape) for t in tensors]
        if all(t._geometry.is_contiguous and tuple(t.shape) == self.shape for t in tensors):
            return tuple(range(ndim))
        order = list(range(ndim - 1, -1, -1))  # innermost first
        for i in range(1, ndim):
            j = i
            for k in range(i - 1, -1, -1):
                swap = self._compare(strides, order[k], order[j])
                if swap > 0:
                    order[k], order[j] = order[j], order[k]
                    j = k
                elif swap < 0:
                    break
        return tuple(reversed(order))

    def _compare(self, strides: list[tuple[int, ...]], a: int, b: int) -> int:
        """1 if dimension `a` should lie outside `b`, -1 if inside, 0 if no operand says."""
        for s in strides:
            if s[a] == 0 or s[b] == 0:
                continue
            if s[a] != s[b]:
                return -1 if s[a] < s[b] else 1
            if self.shape[a] > self.shape[b]:
                return 1
        return 0

    def _allocate(self, tensors: list[Any]) -> Any:
        strides, step = [0] * len(self.shape), 1
        for d in reversed(self.permutation):
            strides[d] = step
            step *= max(self.shape[d], 1)
        device = next((t.device for t in tensors if t.shape), tensors[0].device if tensors else CPU)
        return empty(geometry(self.shape, strides, self.result_dtype, device))

    def _operand(self, x: Any) -> Any:
        if isinstance(x, TensorImpl):
            a = array(x)
            return a if a.dtype == self.common_dtype.np else a.astype(self.common_dtype.np)
        return number(x, self.common_dtype)

    def _coalesce(self) -> None:
        """Merge neighbouring dimensions that every operand walks in one stride."""
        out = array(self.output)
        rows = [out.strides] + [
            broadcast_strides(x.shape, x.strides, self.shape) if isinstance(x, np.ndarray) else (0,) * len(self.shape)
            for x in self._operands
        ]
        shape: list[int] = []
        merged: list[list[int]] = [[] for _ in rows]
        for d in reversed(self.permutation):
            size = self.shape[d]
            if size == 1 and (shape or len(self.shape) > 1):
                continue
            if shape and all(m[-1] * shape[-1] == r[d] for m, r in zip(merged, rows)):
                shape[-1] *= size
                continue
            shape.append(size)
            for m, r in zip(merged, rows):
                m.append(r[d])
        self.coalesced_shape = tuple(reversed(shape))
        self.coalesced_strides = [tuple(reversed(m)) for m in merged]

    def _view(self, a: Any, strides: tuple[int, ...]) -> Any:
        """`a`'s memory walked as decided."""
        if a.shape == self.coalesced_shape and a.strides == strides:
            return a
        return np.lib.stride_tricks.as_strided(a, self.coalesced_shape, strides)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape several shapes broadcast to, right-aligned. Raises RuntimeError naming the dimension that does not fit."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        if tuple(shape) == result:
            continue
        n = max(len(result), len(shape))
        a = (1,) * (n - len(result)) + result
        b = (1,) * (n - len(shape)) + tuple(shape)
        for d, (x, y) in enumerate(zip(a, b)):
            if x != y and 1 not in (x, y):
                raise RuntimeError(
                    f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {d}"
                )
        result = tuple(y if x == 1 else x for x, y in zip(a, b))
    return result


def broadcast_strides(sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """`strides` for walking `shape`: 0 along dimensions that are missing or repeat a single element."""
    missing = len(shape) - len(sizes)
    return (0,) * missing + tuple(0 if n == 1 != m else s for n, s, m in zip(sizes, strides, shape[missing:]))


def number(value: Any, target: dtype) -> Any:
    """A Python number as a numpy scalar of `target`. Raises RuntimeError when an integer does not fit."""
    try:
        return target.np.type(value)
    except OverflowError:
        if target.category == dt.INTEGRAL and not isinstance(value, float):
            bits = target.itemsize * 8
            wrapped = int(value) & ((1 << bits) - 1)
            return np.array(wrapped, dtype=f"u{target.itemsize}").view(target.np)[()]
        raise RuntimeError(f"value cannot be converted to type {target.name} without overflow") from None


def partially_overlap(a: TensorImpl, b: TensorImpl) -> bool:
    """Whether two tensors share some memory without being the very same elements in the same places."""
    if a._storage is not b._storage or a is b or not (a.numel() and b.numel()):
        return False
    if a._offset == b._offset and a.shape == b.shape and a.stride() == b.stride() and a.dtype is b.dtype:
        return False
    low_a, low_b = a._offset * a.itemsize, b._offset * b.itemsize
    high_a = low_a + (1 + sum((n - 1) * s for n, s in zip(a.shape, a.stride()))) * a.itemsize
    high_b = low_b + (1 + sum((n - 1) * s for n, s in zip(b.shape, b.stride()))) * b.itemsize
    if high_a <= low_b or high_b <= low_a:
        return False
    return bool(np.shares_memory(array(a), array(b)))
