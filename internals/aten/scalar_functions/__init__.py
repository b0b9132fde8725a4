"""Every function of one element, once (`aten/src/ATen/native/cpu/*Kernel.cpp`, `cuda/*Kernel.cu`).

`table` is the page to read: a name, a formula, and what numpy has for it. Whoever runs one looks it
up here and fills in what the formula leaves open, the dtype and functions like `exp`:

    small tensors    `entry.loop`: numpy's own, or the formula on whole arrays (`on_arrays`)
    large ones       machine code, with `vector_math` (`internals/aten/compiled/loops.py`)
    on a GPU         with NVIDIA's functions (`internals/cuda/kernels/functors.py`)
    in a fused loop  as text (`internals/jit/fuser/expressions.py`)

How the real one differs: each of the four has the formula again, in C++, CUDA C++, and text.
"""

from __future__ import annotations

from .entry import ScalarFunction, kind_of, name_of, of_loop
from .table import entries, get

__all__ = ["ScalarFunction", "entries", "get", "kind_of", "name_of", "of_loop"]
