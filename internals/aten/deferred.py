"""scipy, imported when a kernel first needs it (`aten/src/ATen/native/BatchLinearAlgebra.cpp`,
`Math.h` stand where scipy does).

`special.erfinv` and `linalg.lu_factor` are scipy's. The kernels of in-place twins are imported
together, at the first `x.add_(y)`; scipy, which takes longer to import than all of `internals`,
must not come with them.

How the real one differs: LAPACK and the special functions are linked into the library.
"""

from __future__ import annotations

import importlib
from typing import Any


class Deferred:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


special = Deferred("scipy.special")
linalg = Deferred("scipy.linalg")
distance = Deferred("scipy.spatial.distance")
fft = Deferred("scipy.fft")
