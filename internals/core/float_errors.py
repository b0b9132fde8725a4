"""Switches off numpy's warnings about overflow and division by zero.

To PyTorch the results are ordinary values, inf and NaN; numpy warns about them. `token = quiet()`
switches the warnings off in this thread, `restore(token)` puts the old state back. `np.errstate`
does the same in five times the time, which would be noticed in every operator on a small tensor.

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
except ImportError:  # an older numpy, without these functions

    def quiet() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def restore(state: Any) -> None:
        state.__exit__(None, None, None)


def quietly(call: Callable[..., Any], *args: Any) -> Any:
    """`call(*args)` without numpy's warnings."""
    token = quiet()
    try:
        return call(*args)
    finally:
        restore(token)
