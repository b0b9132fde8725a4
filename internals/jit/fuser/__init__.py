"""The fuser: a `prim::FusionGroup` becomes one loop over memory (`torch/csrc/jit/codegen/fuser`).

`passes/graph_fuser.py` gathers pointwise operations into groups; this package compiles them. For
`torch.relu(a * b + c)` the group and its loop are

    %3 = aten::mul(%1, %2)              n3 = n1 * n2
    %5 = aten::add(%3, %0, %4)          n5 = n3 + n0
    %6 = aten::relu(%5)                 n6 = maximum(n5, zero)

where n0, n1 and n2 are one element each of c, a and b, and n6 is written to the result. These
modules lead from a group and the geometries of its arguments to machine code:

    observe        runs the operators on tensors without memory, to record the loops that they would
                   run: the `steps`
    row_steps      the steps of softmax, layer norm, sums, means and variances, which need a row
    expressions    the text of each loop for one element: the formulas of `aten/scalar_functions`
    loops          decides which operators can be in a group: those whose loop has such a text
    loop_nest      finds how many dimensions the loop over memory needs, and each operand's strides
    kernel_source  writes the text of the kernel; `row_source` for rows, `gpu_kernel` for a GPU
    machine_kernel compiles the text (`internals/machine_code`), once; in the background
                   (`background`) unless it is on disk
    compiled_group chooses for every kind of arguments: a `launch`, or the operators one by one

    functions      exp, tanh, ... by the names that kernels call
    names          names for values
    settings       `fuser(...)`: whether, when and from which size on groups are compiled
    fused_kernel   `kernels_of(f, x)`: the kernels to look at

How the real one differs: PyTorch 1.0.1 writes C++ and CUDA C and calls gcc or NVRTC; today's NNC
builds LLVM code from loops that it has scheduled.
"""

from __future__ import annotations

from .background import background
from .fused_kernel import FusedKernel, Meta, kernels_of, last_kernels
from .settings import fuser, settings

__all__ = ["FusedKernel", "Meta", "background", "fuser", "kernels_of", "last_kernels", "settings"]
