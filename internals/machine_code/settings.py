"""Decides when operators use compiled kernels. `INTERNALS_COMPILED_KERNELS=0` in the environment
switches them off.

Compiled code pays for large tensors only, since numpy starts quicker. Each family of kernels has a
threshold, the number of elements from which on it is faster, and asks `use_compiled(numel,
threshold)`.

How the real one differs: ATen's vectorised kernels have no start-up cost, so there is no threshold;
`ATEN_CPU_CAPABILITY` chooses among the variants for AVX2 and AVX-512.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

LEAST = 1 << 14  # the lowest of the families' thresholds
NEVER = 1 << 62  # more elements than a tensor can have


class Settings:
    """`never` switches compiled kernels off; `threshold`, if not None, replaces those of all
    families.

    `least` follows from these two: with fewer elements no operator has to ask `use_compiled`.
    """

    __slots__ = ("never", "threshold", "least")

    def __init__(self) -> None:
        self.set(os.environ.get("INTERNALS_COMPILED_KERNELS", "1") == "0", None)

    def set(self, never: bool, threshold: int | None) -> None:
        self.never, self.threshold = never, threshold
        if never:
            self.least = NEVER
        elif threshold is None:
            self.least = LEAST
        else:
            self.least = max(threshold, 1)


settings = Settings()


def use_compiled(numel: int, threshold: int) -> bool:
    """Whether an operator on `numel` elements uses a compiled kernel, which is faster from
    `threshold` elements on.
    """
    if settings.threshold is not None:
        threshold = settings.threshold
    return numel >= threshold and not settings.never


@contextmanager
def compiled_kernels(enabled: bool = True, threshold: int | None = None) -> Iterator[None]:
    """A context in which operators use compiled kernels, or never do. `threshold` says from how
    many elements on, in place of the families' own.
    """
    before = settings.never, settings.threshold
    settings.set(not enabled, threshold)
    try:
        yield
    finally:
        settings.set(*before)
