"""Finds the function of one element that a loop applies, for the CPU (`REGISTER_DISPATCH` in ATen's
`*Kernel.cpp`).

The formulas are those of `internals/aten/scalar_functions`. The functions that they call, such as
exp, are `vector_math`'s here. The C library's take one number at a time; with these, the loop
becomes a vector loop. Arithmetic, comparisons and square roots give the same bits everywhere.

How the real one differs: each operator has a stub, a table of function pointers by instruction set;
gelu has one more kernel, oneDNN's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from internals.aten.scalar_functions import ScalarFunction, get
from internals.machine_code import vector_math
from internals.machine_code.language import as_inline
from internals.machine_code.templates import DeviceFunction

KINDS = {"f": "f", "i": "i", "u": "i", "b": "b"}  # numpy's kinds of dtypes, and those of the table


def functor(entry: ScalarFunction, computed_in: np.dtype[Any]) -> DeviceFunction | None:
    """The function for `entry`, computing in this dtype; None if large tensors have none."""
    kind = KINDS.get(computed_in.kind, "")
    if not kind or kind not in entry.dtypes or not entry.compiled:
        return None
    return on_cpu(entry.on(kind))


@cache
def on_cpu(entry: ScalarFunction) -> DeviceFunction | None:
    """`vector_math`'s function of that name, else the formula, with the functions that it calls
    bound. None if one of these has neither."""
    if entry.name in vector_math.__all__:
        return getattr(vector_math, entry.name)
    if entry.formula is None:
        return None
    called = {name: on_cpu(get(name)) for name in entry.formula.open_parameters() - {"T"}}
    if None in called.values():
        return None
    return as_inline(entry.formula).bind(**called)
