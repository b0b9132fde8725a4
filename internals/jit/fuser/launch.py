"""Launches: a group for arguments of certain geometries, ready to run, with a kernel for each shape
among its outputs.

Usually there is one kernel. A group may also return a value as it was before broadcasting, which
the gradient of a product needs; then it has a kernel for the small shape and one for the large. If
a group ends in `cat`, each kernel writes to its part of the one output.

How the real one differs: PyTorch 1.0.1 runs groups with several shapes operator by operator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from internals.aten.compiled.scratch import Scratch
from internals.core.device import CPU
from internals.core.hot import hot
from internals.core.tensor_impl import backed_ptr, empty
from internals.jit.ir import Graph

from .functions import NAMES as FUNCTIONS
from .fused_kernel import FusedKernel, remember
from .kernel_source import KernelText, cpu_text
from .loop_nest import LoopNest, loop_nest, loop_nest_of_rows
from .machine_kernel import NAMES, MachineKernel, machine_kernel
from .names import Names, pointer_names
from .observe import observe
from .row_source import row_text
from .row_steps import short_values
from .settings import GRAIN
from .steps import Array, NotFusable, Number, Output, Program, Read, Rows, Step, Store

__all__ = ["Launch", "NotFusable", "plan"]

MOST_PARTS = 64  # rows of scratch memory at most, for each array of it


def plan(graph: Graph, hints: tuple[list[str], list[str]], key: Sequence[Any]) -> Launch:
    """The launch of `graph` for arguments of these geometries; `hints` are names for arguments and
    outputs. If functions of rows cannot be in the kernels, they are left to the operators.

    Raises NotFusable if the group has to run operator by operator.
    """
    try:
        return _plan(graph, hints, key, rows=True)
    except NotFusable:
        return _plan(graph, hints, key, rows=False)


def _plan(
    graph: Graph, hints: tuple[list[str], list[str]], key: Sequence[Any], rows: bool
) -> Launch:
    """The same, with functions of rows in the kernels (`rows`) or not."""
    names = Names([*NAMES, *FUNCTIONS])
    names.taken.add("out")
    argument_hints = pointer_names(hints[0], graph.inputs(), "a", names)
    output_hints = (
        pointer_names(hints[1], graph.outputs(), "out", names) if len(hints[1]) > 1 else ["out"]
    )
    program = observe(graph, key, names, rows)
    # outputs that only the deferred calls need
    output_hints += [names.fresh("kept") for _ in program.outputs[len(output_hints) :]]
    return Launch(graph, program, argument_hints, output_hints)


class Launch:
    """A group for arguments of certain geometries. A call allocates the outputs and runs a kernel
    for each shape among them. The hints are names for its arguments and outputs.
    """

    def __init__(
        self,
        graph: Graph,
        program: Program,
        argument_hints: Sequence[str],
        output_hints: Sequence[str],
    ) -> None:
        self.outputs = program.outputs
        self.returns_tuple = len(graph.outputs()) > 1
        self.deferred, self.returned = program.deferred, len(graph.outputs())
        shapes: dict[tuple[int, ...], list[tuple[int, Store]]] = {}
        for k, output in enumerate(program.outputs):
            for piece in output.pieces:
                shapes.setdefault(_shape_of(piece, program), []).append((k, piece))
        part_class = Part if program.device is CPU else GpuPart
        self.parts = [
            part_class(program, shape, pieces, argument_hints, output_hints)
            for shape, pieces in shapes.items()
        ]
        self.kernels = [FusedKernel(graph, part, program) for part in self.parts]
        self.geometry: Any = self.outputs[0].geometry
        simple = len(self.parts) == 1 and len(self.outputs) == 1 and not self.deferred
        self.run = self.run_one if simple else self.run_all

    def prepare(self, when_ready: Callable[[], None]) -> None:
        """Compiles all kernels, and calls `when_ready()` once they are ready."""
        remember(self.kernels)
        _prepare([part.kernel for part in self.parts], when_ready)

    def __call__(self, *inputs: Any) -> Any:
        if hot.off:
            return self.run_recorded(inputs)
        return self.run(inputs)

    def run_recorded(self, inputs: Sequence[Any]) -> Any:
        """Runs while something records: notes the kernels, and records a `prim::FusionGroup`."""
        from internals.core.recording import Scope, recorded

        remember(self.kernels)
        with recorded("prim::FusionGroup", Scope.TORCHSCRIPT_FUNCTION):
            return self.run(inputs)

    def run_one(self, inputs: Sequence[Any]) -> Any:
        """Runs a group with one output and one kernel, as most have."""
        out = empty(self.geometry)
        self.parts[0].call(inputs, (out,))
        return out

    def run_all(self, inputs: Sequence[Any]) -> Any:
        """Runs any group. Outputs without a geometry are an argument, an earlier output once more,
        or made by a deferred call.
        """
        results: list[Any] = []
        for o in self.outputs:
            if o.geometry is not None:
                results.append(empty(o.geometry))
            else:
                results.append(
                    inputs[o.argument]
                    if o.argument >= 0
                    else results[o.twin]
                    if o.twin >= 0
                    else None
                )
        for part in self.parts:
            part.call(inputs, results)
        if self.deferred:
            self.run_deferred(inputs, results)
        return tuple(results[: self.returned]) if self.returns_tuple else results[0]

    def run_deferred(self, inputs: Sequence[Any], results: list[Any]) -> None:
        """Runs the operators that come after the kernels, and puts their results in `results`."""
        computed: list[Any] = []
        sources = {"input": inputs, "output": results, "deferred": computed}
        for call in self.deferred:
            found = call.function(
                *[sources[where][i] if where in sources else i for where, i in call.inputs]
            )
            computed += found if call.results > 1 else [found]
        for k, o in enumerate(self.outputs):
            if o.deferred >= 0:
                results[k] = computed[o.deferred]


class GpuForm(NamedTuple):
    """A part as a kernel for a GPU: its text, and what compiles it."""

    text: KernelText
    kernel: Any


class Part:
    """One kernel of a group: the steps that outputs of one shape need, the kernel's text, and how
    it is called. `pieces` are what it writes: (number of the output, piece).
    """

    tier = "numba"
    scratch: tuple[Any, ...] = ()

    def __init__(
        self,
        program: Program,
        shape: tuple[int, ...],
        pieces: Sequence[tuple[int, Store]],
        argument_hints: Sequence[str],
        output_hints: Sequence[str],
    ) -> None:
        self.shape, self.pieces = shape, pieces
        self.steps, self.reads, self.numbers = needed(program.steps, [p.value for _, p in pieces])
        self.dtypes = [r.dtype for r in self.reads] + [
            _dtype(program.outputs[k]) for k, _ in pieces
        ]
        rows = program.rows if any(s.row for s in self.steps) else None
        if rows is None:
            self.walk: LoopNest = loop_nest(shape, self.reads, [p for _, p in pieces], self.dtypes)
        else:
            self.walk = loop_nest_of_rows(rows, *self.arrays_of_rows(rows), self.dtypes)
        self.write = cpu_text if rows is None else row_text
        # threads share units, elements or rows, and each gets at least `grain` of them
        inner = self.walk.shape[-1] if rows is not None else 1
        self.units, self.grain = self.walk.numel // inner, max(1, GRAIN // inner)
        self.argument_hints, self.output_hints = argument_hints, output_hints
        self.input_names: list[str] = []
        self.output_names: list[str] = []
        self.kernel: Any = self.make_kernel()
        self.numel = self.walk.numel

    def arrays_of_rows(self, rows: Rows) -> tuple[list[Array], list[Array]]:
        """The arrays that are read and those that are written. Values that have lost the rows'
        dimensions get them back, with size 1. Raises NotFusable.
        """
        short = short_values(self.steps, rows)
        ones, zeros = (1,) * rows.dims, (0,) * rows.dims
        arrays = [(a.sizes, a.strides, a in short) for a in self.reads]
        arrays += [(p.sizes, p.strides, p.value in short) for _, p in self.pieces]
        found = [
            Array(n + ones, s + zeros) if is_short else Array(n, s) for n, s, is_short in arrays
        ]
        return found[: len(self.reads)], found[len(self.reads) :]

    def make_kernel(self) -> Any:
        """The kernel, and all of its call that can be prepared: where addresses come from, and the
        sizes and strides as bytes.
        """
        text = self.text(self.write)
        kernel: MachineKernel = machine_kernel(text)
        # not those of `kernel.text`: that may be another group's text with the same code
        self.step_of_line = text.step_of_line
        self.scratch = kernel.text.scratch
        if self.scratch:  # each `grain` of rows shares a row of scratch memory: at most MOST_PARTS
            self.grain = max(self.grain, -(-self.units // MOST_PARTS))
        # (number of the argument or output, offset in bytes)
        sizes = [d.itemsize for d in self.dtypes]
        self.sources = [(r.argument, r.offset * n) for r, n in zip(self.reads, sizes)]
        self.targets = [
            (k, p.offset * n) for (k, p), n in zip(self.pieces, sizes[len(self.reads) :])
        ]
        fixed = self.fixed_numbers()
        # the kernel gets all its arguments as one run of 8-byte values: addresses, numbers, fixed
        self.fixed = struct.pack(f"={len(fixed)}q", *fixed)
        formats = "".join("d" if n.kind is float else "q" for n in self.numbers)
        self.pack = struct.Struct(f"={len(sizes) + len(self.scratch)}q{formats}").pack
        return kernel

    def fixed_numbers(self) -> tuple[int, ...]:
        """The kernel's arguments besides arrays and numbers: sizes and strides, and if there is
        scratch memory, how many rows share a row of it."""
        return (*self.walk.numbers(), self.grain) if self.scratch else self.walk.numbers()

    def text(self, write: Callable[..., Any]) -> KernelText:
        """The text of the kernel, as `cpu_text` or `gpu_text` writes it."""
        values: list[Any] = [*self.steps, *self.reads, *self.numbers]
        inner = [*self.argument_hints, *self.output_hints, *(v.name for v in values)]
        names = Names([*NAMES, *FUNCTIONS, *inner])
        pointers = _unique(
            [self.argument_hints[r.argument] for r in self.reads]
            + [self.output_hints[k] for k, _ in self.pieces],
            names,
        )
        self.input_names, self.output_names = (
            pointers[: len(self.reads)],
            pointers[len(self.reads) :],
        )
        text: KernelText = write(
            self.steps,
            self.reads,
            self.numbers,
            [p for _, p in self.pieces],
            pointers,
            self.walk,
            names,
        )
        return text

    def call(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Fills this part's share of `outputs`."""
        addresses = []
        for i, offset in self.sources:
            addresses.append(backed_ptr(inputs[i]) + offset)
        for k, offset in self.targets:
            addresses.append(backed_ptr(outputs[k]) + offset)
        # held until the kernel has run: dropping a Scratch frees its memory
        scratch = [
            Scratch((self.units // self.grain + 1) * self.walk.shape[-1], d) for d in self.scratch
        ]
        addresses += [s.address for s in scratch]
        for number in self.numbers:
            addresses.append(inputs[number.argument])
        self.kernel.entry.parallel_packed(
            self.units, self.grain, self.pack(*addresses) + self.fixed
        )

    def for_gpu(self) -> GpuForm:
        """The same kernel for a GPU. Raises RuntimeError if it has a function of rows."""
        if self.write is row_text:
            raise RuntimeError(
                "a function of rows is a kernel of its own on a GPU: this group has no PTX"
            )
        from .gpu_kernel import gpu_kernel, gpu_text

        text = self.text(gpu_text)
        return GpuForm(text, gpu_kernel(text))

    def ptx(self) -> Any:
        """The PTX of the kernel for a GPU."""
        return self.for_gpu().kernel.ptx()


class GpuPart(Part):
    """A part on a GPU, real or simulated."""

    tier = "cuda"

    def make_kernel(self) -> Any:
        """The kernel, and the sizes and strides that it takes (`rest`): see `gpu_text`."""
        from .gpu_kernel import gpu_kernel, gpu_text, launch

        self.launch = launch
        modes = self.walk.modes()
        dense = len(self.walk.shape) == 1 and "strided" not in modes
        self.rest = (
            () if dense else (*self.walk.shape[1:], *(n for s in self.walk.strides for n in s))
        )
        text = self.text(gpu_text)
        self.step_of_line = text.step_of_line
        return gpu_kernel(text)

    def call(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        arrays = [(inputs[r.argument], r.offset) for r in self.reads]
        arrays += [(outputs[k], p.offset) for k, p in self.pieces]
        self.launch(
            self.kernel,
            self.numel,
            arrays,
            [*(inputs[n.argument] for n in self.numbers), *self.rest],
        )


def _prepare(kernels: Sequence[Any], when_ready: Callable[[], None]) -> None:
    """Compiles one kernel after the other, then calls `when_ready`."""
    if kernels:
        kernels[-1].prepare(partial(_prepare, kernels[:-1], when_ready))
    else:
        when_ready()


def _shape_of(piece: Store, program: Program) -> tuple[int, ...]:
    """The sizes of the kernel that computes `piece`: its own, or those of the rows if a function of
    rows is among its steps.
    """
    if program.rows is not None and any(s.row for s in needed(program.steps, [piece.value])[0]):
        return program.rows.sizes
    return piece.sizes


def needed(
    steps: Sequence[Step], values: Sequence[Any]
) -> tuple[list[Step], list[Read], list[Number]]:
    """The steps that `values` depend on, in order, and the arguments that those read: elements of
    tensors, and numbers.
    """
    # from the last step back: a step comes after all that it needs
    wanted = set(values)
    for step in reversed(steps):
        if step in wanted:
            wanted.update(x for x, _ in step.operands if isinstance(x, (Read, Step, Number)))
    reads = sorted(
        (x for x in wanted if isinstance(x, Read)), key=lambda r: (r.argument, r.offset, r.name)
    )
    numbers = sorted((x for x in wanted if isinstance(x, Number)), key=lambda n: n.argument)
    return [s for s in steps if s in wanted], reads, numbers


def _dtype(output: Output) -> Any:
    """The dtype of an output that a kernel writes."""
    assert output.geometry is not None
    return output.geometry.dtype


def _unique(hints: Sequence[str], names: Names) -> list[str]:
    """These names, with a new one for each that has occurred before."""
    found: list[str] = []
    for name in hints:
        found.append(names.fresh(name) if name in found else name)
    return found
