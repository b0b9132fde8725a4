"""Runs a loop over tensors, element by element, for operators that take floating point numbers
only (`run_floating`) or integers only (`run_integral`)
(`aten/src/ATen/Dispatch.h`: `AT_DISPATCH_FLOATING_TYPES_AND`).

A kernel for which numpy or scipy has a loop is one line. The first argument is PyTorch's name of
the kernel, which its errors contain:

    erfinv = partial(run_floating, "erfinv_vml_cpu", "erfinv")

How the real one differs: the list of dtypes is a macro around each loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.aten.deferred import special
from internals.aten.dtype_checks import not_implemented
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt
from internals.core.dtype import FLOATING, INTEGRAL
from internals.core.tensor_impl import Tensor


def run_floating(
    kernel: str, loop: Any, *inputs: Any, out: Any = None, promote: str = "float", half: bool = True
) -> Any:
    """Runs a loop over floating point tensors and numbers, which broadcast. `loop` is a function or
    the name of one in `scipy.special`. Integers become the default dtype first; if `promote` is
    "common", they are refused.

    Raises NotImplementedError for complex numbers, and for half precision where `half` is False.
    """
    it = TensorIterator(inputs, out, promote)
    d = it.common_dtype
    if d.category != FLOATING or (d is dt.float16 and not half):
        raise not_implemented(kernel, d)
    return it.run(getattr(special, loop) if loop.__class__ is str else loop)


def run_integral(
    kernel: str, loop: Callable[..., Any], *inputs: Any, out: Tensor | None = None
) -> Any:
    """Runs a loop over tensors and numbers of integers, which broadcast. Raises NotImplementedError
    for every other dtype, bool included.
    """
    it = TensorIterator(inputs, out)
    if it.common_dtype.category != INTEGRAL:
        raise not_implemented(kernel, it.common_dtype)
    return it.run(loop)
