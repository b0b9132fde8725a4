"""When operators use compiled kernels: `INTERNALS_COMPILED_KERNELS=0` in the environment says
never.

Compiled code pays for large tensors only; numpy starts quicker. Each family of kernels knows from
which number of elements on it is faster, and asks `use_compiled(numel, its own number)`.

How the real one differs: ATen's vectorised kernels have no start-up cost, so there is no threshold;
`ATEN_CPU_CAPABILITY` chooses among the variants for AVX2 and AVX-512.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class Settings:
    """`never` switches compiled kernels off; `threshold`, where it is not None, replaces each
    family's own.

    `least`: with fewer elements no operator need ask any further. It follows from the other two.
    """

    __slots__ = ("never", "threshold", "least")

    def __init__(self) -> None:
        self.set(os.environ.get("INTERNALS_COMPILED_KERNELS", "1") == "0", None)

    def set(self, never: bool, threshold: int | None) -> None:
        self.never, self.threshold = never, threshold
        self.least = NEVER if never else LEAST if threshold is None else max(threshold, 1)


LEAST = 1 << 14
NEVER = 1 << 62


settings = Settings()


def use_compiled(numel: int, threshold: int) -> bool:
    """Whether an operator on `numel` elements uses a compiled kernel, which pays from `threshold`
    on.
    """
    if settings.threshold is not None:
        threshold = settings.threshold
    return numel >= threshold and not settings.never


@contextmanager
def compiled_kernels(enabled: bool = True, threshold: int | None = None) -> Iterator[None]:
    """Inside, operators use compiled kernels or don't; `threshold` says from how many elements on,
    instead of what pays.
    """
    before = settings.never, settings.threshold
    settings.set(not enabled, threshold)
    try:
        yield
    finally:
        settings.set(*before)
