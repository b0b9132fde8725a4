"""Overflow and division by zero are ordinary values to PyTorch: inf and NaN, without a word. numpy
warns of them.

`token = quiet()` makes numpy silent in this thread, `restore(token)` gives back what was before:
what `np.errstate` does, at a fifth of its cost, because every operator on small tensors pays for
it.

How the real one differs: C++ loops do not look at the processor's floating-point flags at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

quiet: Callable[[], Any]
restore: Callable[[Any], None]

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    quiet, restore = (
        partial(_extobj_contextvar.set, _make_extobj(all="ignore")),
        _extobj_contextvar.reset,
    )
except ImportError:  # a numpy that keeps its error state elsewhere

    def quiet() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def restore(state: Any) -> None:
        state.__exit__(None, None, None)


def quietly(call: Callable[..., Any], *args: Any) -> Any:
    """`call(*args)`, silent."""
    token = quiet()
    try:
        return call(*args)
    finally:
        restore(token)
