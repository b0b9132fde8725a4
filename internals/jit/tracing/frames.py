"""Which Python code is running under the trace: for the names of values, the places of nodes, and
warnings.

PyTorch's tracer looks at the Python stack, and of PyTorch itself only what is written in Python is
on it. Here everything is Python, so the frames that would be C++ over there (operators, the
argument parser, indexing, the recorder) are passed over. What is left is the user's code, `nn`,
`models`, and the few functions of tensors that PyTorch, too, has in Python.

The counterparts are `pythonCallstack` and `getPythonInterpreterSourceRange` in
`torch/csrc/jit/python/python_tracer.cpp`, and `_create_interpreter_name_lookup_fn` in
`torch/jit/_trace.py`.

How the real one differs: it need not choose.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Frame, StackRange

_PYTHON_THERE = (
    "internals.nn",
    "internals.models",
    "internals.jit.tracing.api",
    "internals.jit.tracing.check",
)
_SOME_PYTHON = (
    "internals._tensor", "internals._tensor.operators", "internals.functional",
    "internals.functional.linalg", "internals.functional.signal", "internals.autograd.function",
)  # fmt: skip
_PYTHON_FUNCTIONS = frozenset(
    "__rsub__ __rtruediv__ __rpow__ __rfloordiv__ __rmod__ __iter__ __len__ __reversed__ "
    "__contains__ apply split norm einsum meshgrid tensordot cdist cartesian_prod "
    "block_diag broadcast_tensors atleast_1d atleast_2d atleast_3d unflatten stft".split()
)


def is_python_there(frame: FrameType) -> bool:
    """Whether PyTorch has this function in Python, or it is not of this library at all."""
    module = frame.f_globals.get("__name__")
    if module is None:  # an adapter of the argument parser
        return frame.f_code.co_name != "<lambda>"
    if not module.startswith("internals.") and module != "internals":
        return True
    if module in _SOME_PYTHON:
        return frame.f_code.co_name in _PYTHON_FUNCTIONS
    return any(module == m or module.startswith(m + ".") for m in _PYTHON_THERE)


def python_frames() -> Iterator[FrameType]:
    """The frames PyTorch would see, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_python_there(frame):
            yield frame
        frame = frame.f_back


def is_called_by(method: str) -> bool:
    """Whether the operator being recorded was called by this method of our own, such as
    `__and__`.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_python_there(frame):
        if frame.f_code.co_name == method:
            return True
        frame = frame.f_back
    return False


def innermost() -> FrameType:
    return next(python_frames())


def asked_by_python() -> bool:
    """Whether who asks a tensor for its size is such a function; operators get plain ints.

    To be called by what the method of the tensor calls: the asker is three frames up.
    """
    return is_python_there(sys._getframe(3))


def source_location() -> StackRange:
    return StackRange(
        tuple(Frame(f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in python_frames())
    )


def name_of(tensor: Any) -> str:
    """The name of the local variable of the innermost function that is this very tensor; "" if
    there is none, or it is `self`.
    """
    for name, value in innermost().f_locals.items():
        if value is tensor and isinstance(value, TensorImpl):
            return name if name != "self" else ""
    return ""
