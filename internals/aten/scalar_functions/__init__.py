"""Every function of one element, once (`aten/src/ATen/native/cpu/*Kernel.cpp`, `cuda/*Kernel.cu`, `jit/codegen/fuser/`).

`table` is the page to read: a name, a formula, and what numpy has for it. Whoever runs one elsewhere looks it up here and fills
in what the formula leaves open, the dtype and functions like `exp`:

    numpy       small tensors          `entry.loop`: numpy's own, or the formula on whole arrays (`on_arrays`)
    machine code  large ones           `internals/aten/compiled/loops.py`, with `vector_math`
    a GPU                              `internals/cuda/kernels/functors.py`, with NVIDIA's functions
    the fuser   part of a larger loop  `internals/jit/fuser/expressions.py`, as text

How the real one differs: each of the four has the formula again, in C++, CUDA C++, and text.
"""

from __future__ import annotations

from .entry import ScalarFunction, kind_of, name_of, of_loop
from .table import entries, get

__all__ = ["ScalarFunction", "entries", "get", "kind_of", "name_of", "of_loop"]
