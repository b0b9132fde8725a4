"""Warnings of operators, which name the user's line that called them (`c10/util/Exception.h`:
`TORCH_WARN`, `TORCH_WARN_ONCE`).

Between that line and a kernel are the functions that parse arguments, dispatch and record
gradients, and their number differs from call to call. So the stack is searched for the innermost
frame that is not in this package.

How the real one differs: all these functions are C++, so it names the innermost line of Python,
which may be one of PyTorch itself.
"""

from __future__ import annotations

import os
import sys
import warnings

# the beginnings of our filenames: files of this package, and code that the JIT wrote
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep, "<emitted "
_always = False
_said: set[str] = set()


def warn(text: str) -> None:
    """Gives a UserWarning with the line that called the operator."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


def warn_once(text: str) -> None:
    """As `warn`, but each text only once, unless `set_warn_always(True)` was called."""
    if _always or text not in _said:
        _said.add(text)
        warn(text)


def set_warn_always(b: bool, /) -> None:
    """Sets whether warnings that are given once in a process are given each time. Raises
    RuntimeError for an argument that is not a bool.
    """
    global _always
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always_enabled() -> bool:
    """Whether all warnings are given each time (`set_warn_always`)."""
    return _always
