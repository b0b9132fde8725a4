"""`TracerWarning`: the trace may not be what you think (`torch/jit/_trace.py`, `tracer::warn` in
`torch/csrc/jit/frontend/tracer.cpp`).

A tracer sees operators, not Python. Where a tensor becomes a Python value the trace loses sight of
it, and says so. The library's own functions do it in their checks, which is harmless: warnings that
point into `internals` are ignored, except for those of `models`, which are user code in all but
place.

How the real one differs: torchvision's models are a package of their own.
"""

from __future__ import annotations

import warnings
from itertools import islice

from .frames import python_frames


class TracerWarning(Warning):
    @staticmethod
    def ignore_lib_warnings() -> None:
        """Ignore the warnings that the library itself gives rise to."""
        warnings.filterwarnings(
            "ignore", category=TracerWarning, module=r"internals\.(?!jit|models)"
        )


TracerWarning.ignore_lib_warnings()


def warn(message: str, callers: int = 0) -> None:
    """Give a TracerWarning that points at the Python line which is being traced, or so many callers
    further out.
    """
    frame = next(islice(python_frames(), callers, None))
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__") or "<unknown>"
    warnings.warn_explicit(
        message, TracerWarning, frame.f_code.co_filename, frame.f_lineno, module, registry
    )
