"""Runs operators on "meta", the device without memory (`build/aten/src/ATen/RegisterMeta.cpp`,
generated).

Its kernels are those of the CPU, which check their arguments and make their result by geometry
alone, and then find that nothing is stored (`Geometry.stored`, `on_device`). So the shape of an
operator's result, and its errors, are written once.

How the real one differs: structured operators have a "meta" function, with which the kernels of all
backends begin; hundreds of others have one in Python (`torch/_meta_registrations.py`). Some of
these mix tensors of "meta" with others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated.op_facts import NO_DEVICE_CHECK
from internals.core.device import CPU
from internals.core.dispatcher import OperatorHandle
from internals.core.tensor_impl import TensorImpl


def checked(op: OperatorHandle, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, after a check that all tensors are on one device; 0-d tensors on the CPU may join
    them.

    Without it, machine code could follow the address of a "meta" tensor, which has no memory.
    Raises RuntimeError for tensors on two devices.
    """
    if op.schema.full_name.removeprefix("aten::") in NO_DEVICE_CHECK:
        return kernel

    def wrapper(*args: Any) -> Any:
        expected = None
        # the arguments, and the tensors in lists among them
        for t in (t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,))):
            if isinstance(t, TensorImpl) and not (t.device is CPU and not t.dim()):
                expected = expected or t.device
                if t.device is not expected:
                    raise RuntimeError(
                        f"Tensor on device {t.device} is not on the expected device {expected}!"
                    )
        return kernel(*args)

    return wrapper
