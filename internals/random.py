"""`Generator`: where random numbers come from (`aten/src/ATen/CPUGeneratorImpl.cpp`).

How the real one differs: see `internals.aten.native.random`.
"""

from __future__ import annotations


class Generator:
    """A stream of random bits."""

    __slots__ = ()
