"""Options such as `kernel_size`, given as one number or as one for each dimension
(`torch/nn/modules/utils.py`).

How the real one differs: it also removes prefixes from the keys of state dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def _ntuple(n: int) -> Callable[[Any], Any]:
    """A function that makes a tuple of its argument: a single number is repeated `n` times."""

    def parse(x: int) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    return parse


_single = _ntuple(1)
_pair = _ntuple(2)
_triple = _ntuple(3)
_quadruple = _ntuple(4)


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """The elements of `t`, last first, each `n` times.

    For n = 2 that is the order of `F.pad`: (before, after) of the last dimension first.
    """
    return tuple(size for size in reversed(t) for _ in range(n))
