"""Settings of the fuser: `fuser(enabled=..., synchronous=..., threshold=...)`.

    with internals.jit.fuser.fuser(threshold=0, synchronous=True):
        f(x)          # compiled however small x is, and before anything is computed

A group whose tensors are smaller than the threshold runs operator by operator: compiling is not
worth its time for them, and so their results do not depend on whether a compiler has finished.

How the real one differs: its settings are `torch._C._jit_override_can_fuse_on_cpu` and
`torch.jit.fuser("fuser1")`; there is no threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from internals.machine_code.settings import settings as machine_code

# elements, from which on one loop is quicker than a numpy call for each operator
THRESHOLD = 1 << 14
GRAIN = 1 << 15  # elements that a thread should have at least: fewer do not pay for starting it


class Choices(NamedTuple):
    """`enabled`: whether groups are compiled at all. `synchronous`: whether a group waits for its
    kernel; otherwise it runs operator by operator until the kernel is compiled. `threshold`: the
    number of elements from which on groups are compiled."""

    enabled: bool = True
    synchronous: bool = False
    threshold: int = THRESHOLD


class Settings:
    """The present choices, for all threads. They are replaced as a whole, so that comparing them by
    `is` tells whether any has changed.
    """

    __slots__ = ("chosen",)

    def __init__(self) -> None:
        self.chosen = Choices()


settings = Settings()


def is_enabled() -> bool:
    """Whether groups may be compiled: not if `INTERNALS_COMPILED_KERNELS=0` is set."""
    return settings.chosen.enabled and not machine_code.never


@contextmanager
def fuser(
    enabled: bool | None = None, synchronous: bool | None = None, threshold: int | None = None
) -> Iterator[Choices]:
    """A context with these settings, in all threads; those that are None keep their values."""
    before = settings.chosen
    given: dict[str, Any] = {"enabled": enabled, "synchronous": synchronous, "threshold": threshold}
    settings.chosen = before._replace(**{k: v for k, v in given.items() if v is not None})
    try:
        yield settings.chosen
    finally:
        settings.chosen = before
