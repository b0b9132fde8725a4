"""`cat` and `stack` of large tensors: a copy into each one's part of the result (`aten/src/ATen/native/cpu/CatKernel.cpp`).

How the real one differs: for contiguous tensors of one dtype it goes along the result, row after row; others are copied as here.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.core.tensor_impl import TensorImpl, backed_ptr
from internals.machine_code.settings import use_compiled

from .copying import Plan, plan_copy
from .elementwise import WORTH_COMPILING, are_apart


def join(out: TensorImpl, tensors: Sequence[TensorImpl], dim: int) -> bool:
    """Write `tensors` to `out`, one after the other along `dim`. False, and nothing written, if numpy is to do it."""
    g = out._geometry
    if not use_compiled(g.numel, WORTH_COMPILING) or not are_apart(out, *tensors):
        return False
    parts: list[tuple[Plan, int, int]] = []
    address = backed_ptr(out)
    for t in tensors:
        if t.numel():
            plan = plan_copy(g.dtype, t.dtype, tuple(t.shape), g.strides, t.stride())
            if plan is None:
                return False
            parts.append((plan, address, backed_ptr(t)))
        address += t.shape[dim] * g.strides[dim] * g.dtype.itemsize
    for plan, target, source in parts:
        plan.run(target, source)
    return True
