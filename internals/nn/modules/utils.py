"""A number for every dimension, or a tuple (`torch/nn/modules/utils.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def ntuple(x: Any, n: int) -> tuple[Any, ...]:
    """`x` as a tuple, or `n` times `x` when it is a single number."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n


def reverse_repeat(sizes: Sequence[int], n: int) -> tuple[int, ...]:
    """The sizes, last first, each `n` times: the order in which `F.pad` wants the padding of dimensions."""
    return tuple(size for size in reversed(sizes) for _ in range(n))
