"""Imports scipy when a kernel first needs it. It takes the place of PyTorch's
`aten/src/ATen/native/BatchLinearAlgebra.cpp` and `Math.h`.

`special.erfinv` and `linalg.lu_factor` are scipy's. The kernels of in-place operators are imported
together, at the first `x.add_(y)`, and scipy takes longer to import than all of `internals`, so it
must not be imported with them.

How the real one differs: LAPACK and the special functions are linked into the library.
"""

from __future__ import annotations

import importlib
from typing import Any


class Deferred:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)  # the next access finds it without this method
        return value


special = Deferred("scipy.special")
linalg = Deferred("scipy.linalg")
distance = Deferred("scipy.spatial.distance")
fft = Deferred("scipy.fft")
