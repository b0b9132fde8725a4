"""The text of a run-time value as C++ prints it, for `str(x)`, f-strings and `print` of TorchScript
(`aten/src/ATen/core/ivalue.cpp`).

It is not quite Python's text: floats have 17 digits and no zero after the point (`1.`,
`0.10000000000000001`), strings in lists have no quotes, and below the columns of a tensor comes its
type.

How the real one differs: it also prints streams, storages, futures and objects of script classes.
"""

from __future__ import annotations

from internals.core.tensor_impl import TensorImpl
from internals.jit.ir.tensor_text import tensor_text
from internals.jit.schema import show_number


def value_text(value: object) -> str:
    """The text of any run-time value."""
    if isinstance(value, str):
        return value
    if isinstance(value, complex):
        imaginary = show_number(value.imag)
        return f"{show_number(value.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if isinstance(value, TensorImpl):
        return tensor_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{value_text(k)}: {value_text(v)}' for k, v in value.items())}}}"
    if isinstance(value, float) and abs(value) < 2**63 and value == int(value):
        return f"{int(value)}."  # as an int64_t, so without a sign when it is -0.0
    return show_number(value)
