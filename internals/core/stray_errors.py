"""Turns what a kernel stumbles over into an error of ours, where a call comes back to Python
(`torch/csrc/Exceptions.h`).

Kernels check their arguments, and say in PyTorch's words what is wrong. Where a check is missing,
numpy, ctypes or Python itself complains about an array or a list that the caller has never seen.
Such a stray error, one that no `raise` of this package made, becomes a `StrayError`: it names the
operator and its arguments, and has the other as its cause.

How the real one differs: there `END_HANDLE_TH_ERRORS` translates the exceptions of C++; where a
check is missing it ends in a "INTERNAL ASSERT FAILED", in memory that is not the tensor's, or in a
crash.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from opcode import opmap
from typing import Any

import numpy as np

from .tensor_impl import TensorImpl

_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep, "<emitted "  # as in warn.py
_PACKAGES = os.path.dirname(os.path.dirname(np.__file__))
_LIBRARIES = tuple(os.path.join(_PACKAGES, name) + os.sep for name in ("numpy", "scipy", "numba"))
_RAISES = opmap["RAISE_VARARGS"], opmap["RERAISE"]
# the user asked for these, or is too deep in calls
_MEANT = (Warning, FloatingPointError, RecursionError)


class StrayError(RuntimeError):
    """Arguments that a kernel cannot take, and has no check for."""


def translate(
    error: Exception, name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> None:
    """Raises StrayError in the name of the operator that was called so, if `error` is a stray one;
    else the caller raises it.
    """
    if is_stray(error):
        given = [_described(a) for a in args] + [
            f"{k}={_described(v)}" for k, v in (kwargs or {}).items()
        ]
        raise StrayError(
            f"{name}() cannot be computed with these arguments: {', '.join(given)}. There is no "
            "check that says why; the error that they led to is the cause of this one"
        ) from error


def is_stray(error: Exception) -> bool:
    """Whether it was raised below this package, by numpy or the interpreter. What a caller's own
    kernel raises is not ours.
    """
    tb, last = error.__traceback__, None
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if file.startswith(_OURS):
            last = tb
        elif not file.startswith(_LIBRARIES):
            last = None
        tb = tb.tb_next
    if last is None or isinstance(error, _MEANT):
        return False
    meant = last.tb_next is None and last.tb_frame.f_code.co_code[last.tb_lasti] in _RAISES
    return not meant or (type(error) is AssertionError and not error.args)


def _described(value: Any) -> str:
    if isinstance(value, TensorImpl):
        return f"Tensor of {value.dtype.name} {list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_described, value))}]"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
