"""The fuser: a `prim::FusionGroup` becomes one loop over memory (`torch/csrc/jit/codegen/fuser`).

`passes/graph_fuser.py` gathers pointwise operations into groups; this package compiles them. From a
group and the geometries of its arguments to machine code:

    observe        the operators run on tensors without memory, and say which loops they would run:
                   the `steps`
    row_steps      what softmax, layer norm, sums, means and variances are for a row
    expressions    what each loop is for one element, as text: the formulas of
                   `aten/scalar_functions`
    loops          which operators can be part of a group: those whose loop is one of these
    walk           how many dimensions the loop over memory needs, and each operand's strides
    kernel_source  the text of the kernel; `row_source` for rows, `gpu_kernel` for a GPU
    machine_kernel the text compiled (`internals/machine_code`), once; in the background
                   (`background`) unless it is on disk
    compiled_group for every kind of arguments: a `launch`, or the operators one by one

    functions      exp, tanh, ... by the names that kernels call
    names          names for values
    settings       `fuser(...)`: whether, when, from which size on
    fused_kernel   `kernels_of(f, x)`: the kernels to look at

How the real one differs: 1.0.1 writes C++ and CUDA C and calls gcc or NVRTC; today's NNC builds
LLVM code from loops it has scheduled.
"""

from __future__ import annotations

from .background import background
from .fused_kernel import FusedKernel, Meta, kernels_of, last_kernels
from .settings import fuser, settings

__all__ = ["FusedKernel", "Meta", "background", "fuser", "kernels_of", "last_kernels", "settings"]
