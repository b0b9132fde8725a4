"""The Python stack under a trace, which gives values their names, and nodes and warnings their
source lines (`pythonCallstack` and `getPythonInterpreterSourceRange` in
`torch/csrc/jit/python/python_tracer.cpp`, `_create_interpreter_name_lookup_fn` in
`torch/jit/_trace.py`).

On the stack that PyTorch's tracer sees, there are only those functions of PyTorch that are written
in Python. Here everything is Python, so the frames that are C++ in PyTorch (operators, the argument
parser, indexing, the recorder) are skipped. The user's code, `nn`, `models`, and the few functions
of tensors that PyTorch has in Python, too, remain.

How the real one differs: it has nothing to skip.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Frame, StackRange

# modules that are Python in PyTorch, too, with the modules below them
_PYTHON_THERE = (
    "internals.nn",
    "internals.models",
    "internals.jit.tracing.api",
    "internals.jit.tracing.check",
)
# modules in which only the functions of `_PYTHON_FUNCTIONS` are
_SOME_PYTHON = (
    "internals._tensor", "internals._tensor.operators", "internals.functional",
    "internals.functional.linalg", "internals.functional.signal", "internals.autograd.function",
)  # fmt: skip
_PYTHON_FUNCTIONS = frozenset(
    "__rsub__ __rtruediv__ __rpow__ __rfloordiv__ __rmod__ __iter__ __len__ __reversed__ "
    "__contains__ apply split norm einsum meshgrid tensordot cdist cartesian_prod "
    "block_diag broadcast_tensors atleast_1d atleast_2d atleast_3d unflatten stft".split()
)


def is_python_in_pytorch(frame: FrameType) -> bool:
    """Whether a frame belongs to the user's code, or to a function that is Python in PyTorch,
    too.
    """
    module = frame.f_globals.get("__name__")
    # code without a module: a lambda is an adapter of the argument parser, all else the user's
    if module is None:
        return frame.f_code.co_name != "<lambda>"
    if not module.startswith("internals.") and module != "internals":
        return True
    if module in _SOME_PYTHON:
        return frame.f_code.co_name in _PYTHON_FUNCTIONS
    return any(module == m or module.startswith(m + ".") for m in _PYTHON_THERE)


def python_frames() -> Iterator[FrameType]:
    """The frames that PyTorch's tracer would see, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_python_in_pytorch(frame):
            yield frame
        frame = frame.f_back


def is_called_by(method: str) -> bool:
    """Whether the operator being recorded was called by this method of the library, such as
    `__and__`: it must be on the stack before the first frame of the user's.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_python_in_pytorch(frame):
        if frame.f_code.co_name == method:
            return True
        frame = frame.f_back
    return False


def innermost() -> FrameType:
    """The frame of the innermost function that PyTorch's tracer would see."""
    return next(python_frames())


def asked_by_python() -> bool:
    """Whether a tensor is asked for its size by such a function, and not by an operator, which gets
    plain ints.

    It must be called by the function that the tensor's method calls, so that the caller of that
    method is three frames up.
    """
    return is_python_in_pytorch(sys._getframe(3))


def source_location() -> StackRange:
    """The file, line and function of all such frames, innermost first: the place of a node."""
    return StackRange(
        tuple(Frame(f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in python_frames())
    )


def name_of(tensor: Any) -> str:
    """The name of the local variable of the innermost such function that holds this tensor; "" if
    there is none, or if it is `self`.
    """
    for name, value in innermost().f_locals.items():
        if value is tensor and isinstance(value, TensorImpl):
            return name if name != "self" else ""
    return ""
