"""`TracerWarning`: a trace may be wrong for other inputs (`torch/jit/_trace.py`, `tracer::warn` in
`torch/csrc/jit/frontend/tracer.cpp`).

A tracer sees operators, not Python. When a tensor becomes a Python value, the trace can no longer
follow it, and warns. The library's own functions do so in their checks, which is harmless: warnings
that point into `internals` are ignored. Those in `models` are not, as these are like user code.

How the real one differs: the models are in a package of their own, torchvision.
"""

from __future__ import annotations

import warnings
from itertools import islice

from .frames import python_frames


class TracerWarning(Warning):
    """The category of all warnings of the tracer."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Ignore the warnings that point into the library itself, except for `jit` and `models`."""
        warnings.filterwarnings(
            "ignore", category=TracerWarning, module=r"internals\.(?!jit|models)"
        )


TracerWarning.ignore_lib_warnings()


def warn(message: str, callers: int = 0) -> None:
    """Give a TracerWarning that points at the line of Python being traced, or, with `callers`, that
    many callers further out.
    """
    frame = next(islice(python_frames(), callers, None))
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__") or "<unknown>"
    warnings.warn_explicit(
        message, TracerWarning, frame.f_code.co_filename, frame.f_lineno, module, registry
    )
