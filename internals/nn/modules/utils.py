"""A number for every dimension, or a tuple (`torch/nn/modules/utils.py`).

How the real one differs: it also takes prefixes off the keys of state dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def _ntuple(n: int) -> Callable[[Any], Any]:
    """What makes a tuple of its argument: of `n` times a single number, of another sequence as it
    is.
    """

    def parse(x: int) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    return parse


_single = _ntuple(1)
_pair = _ntuple(2)
_triple = _ntuple(3)
_quadruple = _ntuple(4)


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """The sizes, last first, each `n` times: the order in which `F.pad` wants the padding of
    dimensions.
    """
    return tuple(size for size in reversed(t) for _ in range(n))
