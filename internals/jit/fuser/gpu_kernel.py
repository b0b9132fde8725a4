"""A group's kernel for a GPU: each thread takes an element, in a grid-stride loop, written in the
kernel language of `internals/cuda`.

    def fused_mul_tanh(n, x, y, out):
        i = cuda.grid(1)
        while i < n:
            n0 = x[i]
            n1 = y[i]
            n2 = n0 * n1  # %2 = aten::mul(%0, %1)
            n3 = tanh(n2)  # %3 = aten::tanh(%2)
            out[i] = n3
            i += cuda.gridsize(1)

The steps are those of the CPU's kernel. The offset of an operand with strides is computed from the
element's number, by dividing by the sizes that are left after merging dimensions. It is launched on
the current stream like any kernel: a GPU has it compiled by numba.cuda at the first launch,
simulators run it as Python.

How the real one differs: PyTorch 1.0.1 writes CUDA C, compiles it with NVRTC, and loads the PTX
through the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from internals.core.tensor_impl import backed_ptr
from internals.cuda.device_array import DeviceArray
from internals.cuda.language import Kernel, cuda
from internals.cuda.launch import launch_1d
from internals.cuda.ptx import ptx

from .functions import on_gpu
from .kernel_source import Body, KernelText, Lines, cast, indices, number_word, title
from .loop_nest import LoopNest
from .machine_kernel import NAMES, function_from
from .names import Names
from .steps import Number, Read, Step, Store

GPU_NAMES = {**NAMES, "uint64": np.uint64, "cuda": cuda}
GIVES_INTEGER = ("floor", "ceil", "trunc")  # functions of `math` whose result is an int in Python


def gpu_text(
    steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number],
    pieces: Sequence[Store], pointers: Sequence[str], walk: LoopNest, names: Names,
) -> KernelText:  # fmt: skip
    """The kernel for a GPU; the arguments are those of `cpu_text`.

    With strides, in the sizes (size0, size1), the lines before the reads are

        i1 = i % size1
        i0 = i // size1
        x_at = uint64(i0 * x_stride0 + i1 * x_stride1)
    """
    body = Body(steps, names, casts=GIVES_INTEGER)
    stores = [body.converted(p.value, d) for p, d in zip(pieces, walk.dtypes[len(reads) :])]
    rank = len(walk.shape)
    # dense: an element's number is its offset in every array, so that no strides are needed
    dense = rank == 1 and all(mode != "strided" for mode in walk.modes())
    sizes = [] if dense else [f"size{d}" for d in range(1, rank)]
    strides = [] if dense else [f"{p}_stride{d}" for p in pointers for d in range(rank)]
    code = Lines()
    arguments = ["n", *pointers, *(n.name for n in numbers), *sizes, *strides]
    code.add(0, f"def {title(steps)}({', '.join(arguments)}):")
    for (text, d), name in body.constants.items():
        code.add(1, f"{name} = {cast(d)}({text})")
    code.add(1, "i = cuda.grid(1)")
    code.add(1, "while i < n:")
    if not dense:
        indices(code, "i", rank)
        if rank == 1:
            code.add(2, "i0 = i")
    for p in pointers:
        if not dense:
            code.add(
                2, f"{p}_at = uint64({' + '.join(f'i{d} * {p}_stride{d}' for d in range(rank))})"
            )
    # where each array's element lies: "same" is one element for all (stride 0)
    places = [
        f"{p}_at" if not dense else "0" if m == "same" else "i"
        for p, m in zip(pointers, walk.modes())
    ]
    for r, p, place in zip(reads, pointers, places):
        code.add(2, f"{r.name} = {p}[{place}]")
    for line in body.lines:
        code.add(2, *line)
    for value, piece, p, place in zip(stores, pieces, pointers[len(reads) :], places[len(reads) :]):
        code.add(2, f"{p}[{place}] = {value}", step=piece.value)
    code.add(2, "i += cuda.gridsize(1)")
    functions = tuple((local, name, d) for (name, d), local in body.functions.items())
    # the types of the arguments: n, arrays, numbers, sizes and strides
    types = ["int64", *(f"{d.name}[:]" for d in walk.dtypes)]
    types += ["float64" if number_word(n) == "f8" else "int64" for n in numbers] + ["int64"] * (
        len(sizes) + len(strides)
    )
    return KernelText(
        title(steps),
        code.text(),
        code.code(),
        " ".join(types),
        functions,
        step_of_line=code.steps(),
    )


class GpuKernel:
    """A kernel's text as a kernel of `internals/cuda`. It is compiled when it is launched, so it
    counts as ready at once.
    """

    state = "ready"

    def __init__(self, text: KernelText) -> None:
        self.text = text
        scope: dict[str, Any] = dict(GPU_NAMES)
        scope.update((local, on_gpu(name, d)) for local, name, d in text.functions)
        self.kernel = Kernel(function_from(text, scope))

    def prepare(self, when_ready: Callable[[], None]) -> None:
        """Calls `when_ready` at once; `MachineKernel.prepare` has the same form."""
        when_ready()

    def ptx(self) -> Any:
        """Its PTX. Raises PtxUnavailable if there is no compiler for it."""
        return ptx(self.kernel, *self.text.signature.split())

    @property
    def llvm(self) -> str:
        raise RuntimeError(
            f"{self.text.name} is a kernel for a GPU: numba.cuda compiles it when it is launched; "
            "look at its ptx"
        )

    assembly = llvm


def launch(
    kernel: GpuKernel, numel: int, arrays: Sequence[tuple[Any, int]], rest: Sequence[Any]
) -> None:
    """Launches the kernel over `numel` elements. `arrays` are tensors, each with an offset in
    elements; `rest` are the numbers, sizes and strides that follow.
    """
    launch_1d(kernel.kernel, numel, numel, *[_from(t, offset) for t, offset in arrays], *rest)


def _from(t: Any, offset: int) -> DeviceArray:
    """A tensor's memory from `offset` elements behind its first one to the end of its storage: the
    kernel has its own strides.
    """
    g = t._geometry
    n = g.dtype.itemsize
    count = t._storage._nbytes // n - t._offset - offset
    return DeviceArray(
        backed_ptr(t) + offset * n, (count,), (1,), g.dtype, int(g.device.index), t._storage
    )


_made: dict[tuple[str, str], GpuKernel] = {}


def gpu_kernel(text: KernelText) -> GpuKernel:
    """The kernel of this text, made once: groups with the same code share it."""
    key = text.code, text.signature
    found = _made.get(key)
    if found is None:
        found = _made[key] = GpuKernel(text)
    return found
