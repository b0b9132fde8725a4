"""`StrayError`: the translation of errors that a kernel has no check for
(`torch/csrc/Exceptions.h`).

Kernels check their arguments, and raise PyTorch's errors. Where a check is missing, numpy, ctypes
or Python itself raises an error about an array or a list that the caller has never seen. Such a
stray error, one that does not come from a `raise` of this package, becomes a `StrayError`: it names
the operator and its arguments, and has the other error as its cause.

How the real one differs: `END_HANDLE_TH_ERRORS` translates the exceptions of C++. Where a check is
missing there, the result is "INTERNAL ASSERT FAILED", an access to other memory, or a crash.
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
# not translated: the user asked for the first two, and the last says that calls are nested too deep
_DELIBERATE = (Warning, FloatingPointError, RecursionError)


class StrayError(RuntimeError):
    """The error for arguments that a kernel cannot take, and has no check for."""


def translate(
    error: Exception, name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> None:
    """Raises StrayError if `error`, raised by a call of operator `name` with these arguments, is a
    stray one. Otherwise it returns, and the caller raises `error` again.
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
    """Whether `error` was raised below code of this package, by numpy or the interpreter. Errors of
    a user's own kernel are not stray.
    """
    # the innermost frame of this package, unless code of the user was called from it
    tb, last = error.__traceback__, None
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if file.startswith(_OURS):
            last = tb
        elif not file.startswith(_LIBRARIES):
            last = None
        tb = tb.tb_next
    if last is None or isinstance(error, _DELIBERATE):
        return False
    # Did this very frame execute a `raise`? Then the error is one of our checks; but an assertion
    # without a text is a check for ourselves.
    deliberate = last.tb_next is None and last.tb_frame.f_code.co_code[last.tb_lasti] in _RAISES
    return not deliberate or (type(error) is AssertionError and not error.args)


def _described(value: Any) -> str:
    """A short text for an argument: a tensor's dtype and shape, 40 characters of others."""
    if isinstance(value, TensorImpl):
        return f"Tensor of {value.dtype.name} {list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_described, value))}]"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
