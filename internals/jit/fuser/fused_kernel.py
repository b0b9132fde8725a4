"""Descriptions of the fuser's kernels: their text, their arrays, and the memory traffic that they
save (for `viz.fusion` and the profiler).

    for kernel in internals.jit.fuser.kernels_of(f, x, y):
        print(kernel.source)
        print(kernel.bytes_unfused / kernel.bytes_moved)

How the real one differs: with `PYTORCH_FUSION_DEBUG=1` it prints the code when it is compiled.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from internals.core.dtype import dtype

from .kernel_source import comment
from .settings import fuser

if TYPE_CHECKING:
    from internals.jit.fuser.compiled_group import CompiledGroup
    from internals.jit.ir import Graph, Node

    from .launch import Part
    from .steps import Program, Step

REMEMBERED = 64  # kernels that `last_kernels` returns at most


class Meta(NamedTuple):
    """An array of a kernel: name, dtype, sizes, and strides in elements."""

    name: str
    dtype: dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes to be read or written; elements that a stride of 0 repeats count once."""
        n = self.dtype.itemsize
        for size, stride in zip(self.sizes, self.strides):
            n *= size if stride else 1
        return n


class Operator(NamedTuple):
    """An operator of a group as it would run alone: its node as text, and the bytes that it would
    read and write.
    """

    text: str
    bytes_read: int
    bytes_written: int


class ForGpu(NamedTuple):
    """A group's kernel for a GPU: its source, and the node of each line (`nodes`). `kernel` and
    `argument_types` are the arguments of `internals.cuda.ptx`.
    """

    source: str
    nodes: list[Node | None]
    kernel: Any
    argument_types: list[str]


class FusedKernel:
    """The kernel of one group for arguments of certain geometries.

    source             its text
    group              the graph that it computes
    inputs, outputs    its arrays
    tier               "numba", "cuda", or "unfused" for a group that runs operator by operator
    reason             why it is "unfused"
    bytes_moved        bytes that it reads and writes
    bytes_unfused      bytes that the operators would read and write one by one
    flops              operations on elements
    left_to_operators  the kinds of the group's nodes that run as operators after its kernels: sums
                       to a size, and functions of rows that no kernel can compute
    """

    def __init__(
        self, group: Graph, part: Part | None, program: Program | None, reason: str = ""
    ) -> None:
        self.group, self.reason = group, reason
        self._part = part
        self.left_to_operators = [] if program is None else [call.kind for call in program.deferred]
        if part is None:
            self.name, self.source, self.signature, self.tier = "", "", "", "unfused"
            self.inputs: list[Meta] = []
            self.outputs: list[Meta] = []
            self.flops = self.bytes_unfused = 0
            return
        text = part.kernel.text
        self.name, self.source, self.signature, self.tier = (
            text.name,
            text.text,
            text.signature,
            part.tier,
        )
        self.inputs = [
            Meta(n, r.dtype, r.sizes, r.strides) for n, r in zip(part.input_names, part.reads)
        ]
        dtypes = part.walk.dtypes[len(part.reads) :]
        self.outputs = [
            Meta(n, d, p.sizes, p.strides)
            for n, d, (_, p) in zip(part.output_names, dtypes, part.pieces)
        ]
        self.flops = sum(_operations(s, part.numel) for s in part.steps)
        self.bytes_unfused = (
            sum(o.bytes_read + o.bytes_written for o in self.operators) or self.bytes_moved
        )

    @property
    def operators(self) -> list[Operator]:
        """The operators that it replaces, in order."""
        steps = [] if self._part is None else self._part.steps
        return [
            _operator([s for s in steps if s.node is node])
            for node in dict.fromkeys(s.node for s in steps)
        ]

    @property
    def nodes(self) -> list[Node | None]:
        """For each line of `source`, the group's node that it computes or stores; None for lines
        that only walk over memory.
        """
        return [] if self._part is None else _nodes(self._part.step_of_line)

    def for_gpu(self) -> ForGpu:
        """Its form for a GPU, also if it runs on the CPU. Raises RuntimeError if there is none."""
        self._kernel()
        assert self._part is not None
        text, kernel = self._part.for_gpu()
        return ForGpu(text.text, _nodes(text.step_of_line), kernel.kernel, text.signature.split())

    @property
    def bytes_moved(self) -> int:
        """Bytes that it reads and writes: each array once."""
        return sum(m.nbytes for m in (*self.inputs, *self.outputs))

    @property
    def state(self) -> str:
        """ "compiling", "ready" or "failed"."""
        return "failed" if self._part is None else str(self._part.kernel.state)

    @property
    def function(self) -> Any:
        """Its text as a Python function: `function(begin, end, *arrays, *numbers,
        *sizes_and_strides)` on flat numpy arrays.
        """
        return self._kernel().kernel

    @property
    def sizes_and_strides(self) -> tuple[int, ...]:
        """The kernel's arguments behind its arrays and numbers: sizes of the merged dimensions, and
        strides in elements.
        """
        self._kernel()
        assert self._part is not None
        return self._part.fixed_numbers()

    @property
    def llvm(self) -> str:
        """Its LLVM module, optimised. Raises RuntimeError for a group without a kernel."""
        return str(self._kernel().llvm)

    @property
    def assembly(self) -> str:
        """Its machine instructions for this CPU, as text."""
        return str(self._kernel().assembly)

    @property
    def ptx(self) -> Any:
        """Its instructions for a GPU. Raises PtxUnavailable if they cannot be compiled here."""
        self._kernel()
        assert self._part is not None
        return self._part.ptx()

    def _kernel(self) -> Any:
        """The `MachineKernel` or `GpuKernel`. Raises RuntimeError if there is none."""
        if self._part is None:
            raise RuntimeError(f"this group has no kernel: {self.reason}")
        return self._part.kernel

    def __repr__(self) -> str:
        if self._part is None:
            return f"<group without a kernel: {self.reason}>"
        arrays = ", ".join(
            f"{m.name}: {m.dtype.name}{list(m.sizes)}" for m in (*self.inputs, *self.outputs)
        )
        return f"<kernel {self.name}({arrays}), {self.tier}>"


def _nodes(steps: Sequence[Step | None]) -> list[Node | None]:
    """The node of each step."""
    return [step.node if step is not None else None for step in steps]


def unfused_kernel(group: Graph, reason: str) -> FusedKernel:
    """The description of a group that runs operator by operator, for `reason`."""
    return FusedKernel(group, None, None, reason)


def _operator(steps: Sequence[Step]) -> Operator:
    """The eager operator that consists of `steps`, with the bytes that it reads and writes. Most
    have one step; layer norm has several.
    """
    last, own = steps[-1], set(steps)
    # values from outside, each once
    read = (
        last.operands
        if len(steps) == 1
        else {x: None for s in steps for x, _ in s.operands if x not in own}.items()
    )
    nbytes = sum(x.dtype.itemsize * _numel(x.sizes) for x, _ in read if hasattr(x, "sizes"))
    return Operator(comment(last), int(nbytes), last.dtype.itemsize * _numel(last.sizes))


def _operations(step: Step, numel: int) -> int:
    """Operations on elements: one for each element of a sum, three (subtract, multiply, add) for
    squared distances from the mean, one for each element of a loop. Casts and softmax count 0.
    """
    if step.row.startswith("row_"):
        return _numel(step.operands[0][0].sizes) * (1 if step.row in ("row_sum", "row_mean") else 3)
    return 0 if step.loop is None else numel


def _numel(sizes: Sequence[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


_lock = threading.Lock()
_last: deque[FusedKernel] = deque(maxlen=REMEMBERED)
_collected: list[FusedKernel] | None = None


def remember(kernels: Sequence[FusedKernel]) -> None:
    """Notes kernels that are about to run, for `kernels_of` if one is collecting, else for
    `last_kernels`.
    """
    with _lock:
        known = _last if _collected is None else _collected
        for k in kernels:
            if all(k is not c for c in known):
                known.append(k)


def last_kernels() -> list[FusedKernel]:
    """The latest kernels, the last one at the end: one for each group and kind of arguments."""
    return list(_last)


def kernels_of(what: Callable[..., Any] | CompiledGroup, *args: Any) -> list[FusedKernel]:
    """The kernels that run in `what(*args)`, in the order in which they start. `what` is a compiled
    function or module, or a `Graph`.

    To find them, `what` is called; all its groups are compiled for that, however small they are.
    """
    from internals.core.hot import hot
    from internals.jit.ir import Graph
    from internals.jit.runtime.graph_executor import GraphExecutor

    call = GraphExecutor(what) if isinstance(what, Graph) else what
    with _collecting() as found, fuser(enabled=True, synchronous=True, threshold=0), hot.detour():
        call(*args)
    return found


@contextmanager
def _collecting() -> Iterator[list[FusedKernel]]:
    """A context in which `remember` adds kernels to the list that it gives."""
    global _collected
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before
