"""Arrays of every dtype, plain and seen through slices: what the tests of shared memory begin
with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support import DTYPES

NAMES = [d.name for d in DTYPES]


def an_array(name: str = "float32", shape: tuple[int, ...] = (2, 3)) -> Any:
    return (np.arange(np.prod(shape)).reshape(shape) % 2).astype(name)


@st.composite
def strided_arrays(draw: Any) -> Any:
    """Arrays of every dtype, seen through slices and permutations that PyTorch accepts."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    a = np.zeros([3 * n for n in shape], draw(st.sampled_from(NAMES)))
    index = tuple(slice(draw(st.integers(0, 1)), None, draw(st.integers(1, 3))) for _ in shape)
    return a[(*index, ...)].transpose(draw(st.permutations(range(len(shape)))))
