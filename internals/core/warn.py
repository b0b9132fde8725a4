"""Warnings of operators, which name the line that called them (`c10/util/Exception.h`:
`TORCH_WARN`, `TORCH_WARN_ONCE`).

Between that line and a kernel lie the reading of the arguments, the dispatcher and what records
gradients: how many functions these are differs from call to call. So the stack is searched for the
first one that is not in this package.

How the real one differs: all of these are C++, so it names the innermost line of Python, which may
be one of PyTorch itself.
"""

from __future__ import annotations

import os
import sys
import warnings

# the files of this package; code that the JIT wrote
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep, "<emitted "
_always = False
_said: set[str] = set()


def warn(text: str) -> None:
    """A UserWarning for whoever called the operator."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


def warn_once(text: str) -> None:
    """`warn`, the first time only, unless `set_warn_always` asked for more."""
    if _always or text not in _said:
        _said.add(text)
        warn(text)


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that would come once in a process come each time. Raises RuntimeError for
    what is no bool.
    """
    global _always
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always_enabled() -> bool:
    """Whether all warnings come each time (`set_warn_always`)."""
    return _always
