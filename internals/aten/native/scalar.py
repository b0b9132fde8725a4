"""Kernels of operators that apply one formula to each element and have nothing to check, as `sin`.

The table of formulas (`scalar_functions/table.py`) defines them, and `native_functions` names them
as attributes of this module: `scalar.sin`. Each kernel is made when it is first asked for. Integers
become the default dtype first, unless the formula is for integers, too. A formula that is written
for real numbers refuses complex ones.

How the real one differs: `CREATE_UNARY_TORCH_IMPL_FUNC(sin_out, sin_stub)`, a macro in
`aten/src/ATen/native/UnaryOps.cpp`, does this for every such operator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals._generated.fast_lane import unary
from internals.aten.dtype_checks import not_implemented
from internals.aten.scalar_functions import get
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import COMPLEX
from internals.core.tensor_impl import Tensor


def _kernel(name: str) -> Callable[..., Any]:
    """The kernel for an entry of the table. Its arguments are the operands, then the numbers of the
    formula, then `out`. Raises KeyError for a name that is not in the table.
    """
    entry = get(name)
    loop, numbers = entry.loop, entry.numbers
    operands = loop.nin if isinstance(loop, np.ufunc) else len(entry.operands) or 1
    promote = "float" if entry.dtypes == "f" else "common"
    is_real = entry.own_loop is None

    # one operand and no numbers: the fast path
    def run_unary(self: Tensor, out: Tensor | None = None) -> Any:
        if is_real and self._geometry.dtype.category == COMPLEX:
            raise not_implemented(f"{name}_cpu", self.dtype)
        return unary(loop, self, out, promote)

    def run(*given: Any, out: Tensor | None = None) -> Any:
        it = TensorIterator(given[:operands], out, promote)
        if is_real and it.common_dtype.category == COMPLEX:
            raise not_implemented(f"{name}_cpu", it.common_dtype)
        own = dict(zip(numbers, given[operands:]))
        return it.run(partial(loop, **own) if own else loop)

    return run_unary if operands == 1 and not numbers else run


def __getattr__(name: str) -> Any:
    """Python calls this for an attribute that the module lacks: the kernel is made, and kept as an
    attribute, so that this happens once.
    """
    try:
        kernel = _kernel(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no kernel {name!r}") from None
    kernel.__name__ = kernel.__qualname__ = name
    globals()[name] = kernel
    return kernel
