"""Looking into the fuser: which kernels there are, their text, and what they save (for `viz.fusion`
and the profiler).

    for kernel in internals.jit.fuser.kernels_of(f, x, y):
        print(kernel.source)
        print(kernel.bytes_unfused / kernel.bytes_moved)

How the real one differs: `PYTORCH_FUSION_DEBUG=1` prints the code as it is compiled.
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

REMEMBERED = 64


class Meta(NamedTuple):
    """What a kernel knows of an array: name, dtype, sizes and strides in elements."""

    name: str
    dtype: dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that are there to be read or written: of an element that is repeated, once."""
        n = self.dtype.itemsize
        for size, stride in zip(self.sizes, self.strides):
            n *= size if stride else 1
        return n


class Operator(NamedTuple):
    """A step of a group as the operator that it would be alone: its node, and the bytes it would
    read and write.
    """

    text: str
    bytes_read: int
    bytes_written: int


class ForGpu(NamedTuple):
    """The same for a GPU: source and `nodes` of its lines; `kernel` and `argument_types` are what
    `internals.cuda.ptx` takes.
    """

    source: str
    nodes: list[Node | None]
    kernel: Any
    argument_types: list[str]


class FusedKernel:
    """A kernel as made for one group and arguments of certain geometries.

    `source` is its text, `group` the graph it stands for, `inputs` and `outputs` its arrays; `tier`
    is "numba", "cuda" or "unfused" for a group that runs operator by operator, `reason` says why.
    `bytes_moved` are read and written, `bytes_unfused` would be by the operators one by one;
    `flops` are the operations on elements. `left_to_operators` are the kinds of the group's nodes
    that run as operators after its kernels: functions of rows that are none in memory or on a GPU,
    and sums to a size.
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
        """What it does, as the operators that it stands for."""
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
        """What it is, or would be, on a GPU. Raises RuntimeError if it can be no kernel there."""
        self._kernel()
        assert self._part is not None
        text, kernel = self._part.for_gpu()
        return ForGpu(text.text, _nodes(text.step_of_line), kernel.kernel, text.signature.split())

    @property
    def bytes_moved(self) -> int:
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
        """What the kernel is given after its arrays and numbers: of the merged dimensions, the
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
        """Its instructions for this CPU."""
        return str(self._kernel().assembly)

    @property
    def ptx(self) -> Any:
        """Its instructions for a GPU. Raises PtxUnavailable where they cannot be compiled."""
        self._kernel()
        assert self._part is not None
        return self._part.ptx()

    def _kernel(self) -> Any:
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
    return [step.node if step is not None else None for step in steps]


def unfused_kernel(group: Graph, reason: str) -> FusedKernel:
    return FusedKernel(group, None, None, reason)


def _operator(steps: Sequence[Step]) -> Operator:
    """What the eager operator reads and writes, of which these are the steps: those of a layer norm
    are one operator.
    """
    last, own = steps[-1], set(steps)
    read = (
        last.operands
        if len(steps) == 1
        else {x: None for s in steps for x, _ in s.operands if x not in own}.items()
    )
    nbytes = sum(x.dtype.itemsize * _numel(x.sizes) for x, _ in read if hasattr(x, "sizes"))
    return Operator(comment(last), int(nbytes), last.dtype.itemsize * _numel(last.sizes))


def _operations(step: Step, numel: int) -> int:
    """Operations on elements: a sum has one for each, squared distances from the mean three."""
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
    """Note that these are about to run."""
    with _lock:
        known = _last if _collected is None else _collected
        for k in kernels:
            if all(k is not c for c in known):
                known.append(k)


def last_kernels() -> list[FusedKernel]:
    """The kernels that were made last, the latest at the end: one for each group and kind of
    arguments.
    """
    return list(_last)


def kernels_of(what: Callable[..., Any] | CompiledGroup, *args: Any) -> list[FusedKernel]:
    """The kernels that run in `what(*args)`, a compiled function or module or a `Graph`, in the
    order in which they start.

    It is called for that, and all its groups are compiled, however small.
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
    global _collected
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before
