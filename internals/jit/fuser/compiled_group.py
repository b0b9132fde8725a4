"""The function of a `prim::FusionGroup`: for each kind of arguments it launches kernels, or runs
the operators one by one.

The choice is made when arguments with new geometries come in, and is remembered. A call looks up
the geometries, which are interned objects, allocates the outputs and calls machine code.

How the real one differs: PyTorch 1.0.1 keys its kernels by dtypes and contiguity and looks at sizes
in every call (`codegen/fuser/executor.cpp`), with the same decisions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from internals.core.dispatch_key import RECORDS
from internals.core.dtype import dtype, get_default_dtype
from internals.core.geometry import Geometry
from internals.core.grad_mode import is_grad_enabled
from internals.core.hot import hot
from internals.jit.ir import Graph, Node
from internals.jit.runtime.node_functions import run_subgraph

from .fused_kernel import remember, unfused_kernel
from .settings import Choices, is_enabled, settings

MOST_WAYS = 1 << 10  # kinds of arguments that are remembered


class CompiledGroup:
    """The function of one group. `ways` maps a key of the arguments, their geometries, to the
    function that runs them; `all_ways` has such a table for each choice of settings.
    """

    def __init__(self, node: Node) -> None:
        self.graph: Graph = node.g("Subgraph")
        self.hints = [v.debugName() for v in node.inputs()], [v.debugName() for v in node.outputs()]
        self.unfused = run_subgraph(self.graph, node.kind())
        self.chosen, self.default = settings.chosen, get_default_dtype()
        self.ways: dict[Any, Callable[..., Any]] = {}
        self.all_ways: dict[tuple[Choices, dtype], dict[Any, Callable[..., Any]]] = {
            (self.chosen, self.default): self.ways
        }
        self.lock = threading.Lock()

    def __call__(self, *inputs: Any) -> Any:
        if self.chosen is not settings.chosen or self.default is not get_default_dtype():
            self.switch()
        try:
            run = self.ways.get(tuple([t._geometry for t in inputs]))
        except AttributeError:  # numbers among them, or sizes
            run = self.ways.get(_key(inputs))
        if run is None:
            run = self.find_way(inputs)
        return run(*inputs)

    def switch(self) -> None:
        """Takes the table of the present settings and default dtype. The dtype matters because
        quotients of integers have it.
        """
        with self.lock:
            self.chosen, self.default = settings.chosen, get_default_dtype()
            self.ways = self.all_ways.setdefault((self.chosen, self.default), {})

    def find_way(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        """Chooses how arguments like these are run from now on, and returns how to run them now:
        operator by operator, while the kernels are being compiled.
        """
        key = _key(inputs)
        ways = self.ways
        # one thread plans; the others find `unfused` in the table and need not wait for it
        with self.lock:
            if key in ways:
                return ways[key]
            if len(ways) >= MOST_WAYS:
                ways.clear()
            ways[key] = self.unfused
        if self.is_worth_it(key):
            from .launch import NotFusable, plan  # here, as it imports the compiler

            try:
                launch = plan(self.graph, self.hints, key)
            # also for arguments that the operators refuse: their own error says it better
            except NotFusable as why:
                ways[key] = operators = Operators(self.graph, self.unfused, str(why))
                remember([operators.kernel])
            else:
                may_record = any(_requires_grad(x) for x in key)
                run = self.unless_recording(launch) if may_record else launch
                launch.prepare(lambda: ways.__setitem__(key, run))
        return ways.get(key, self.unfused)

    def unless_recording(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        """The function for tensors that require gradients: `launch` where none are recorded, as in
        a backward pass, else the operators, which record them.
        """
        return lambda *inputs: self.unfused(*inputs) if is_grad_enabled() else launch(*inputs)

    def is_worth_it(self, key: Sequence[Any]) -> bool:
        """Whether to compile for arguments with this key: if groups may be compiled, all tensors
        are on one device, and the largest has as many elements as the threshold.
        """
        geometries = [g for g in key if isinstance(g, Geometry)]
        if not geometries or not is_enabled() or type(None) in key:
            return False
        device = geometries[0].device
        if any(g.device is not device for g in geometries):
            return False
        return max(g.numel for g in geometries) >= settings.chosen.threshold


def _key(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The key of arguments: geometries of tensors, types of numbers, elements of lists."""
    return tuple(
        [tuple(t) if t.__class__ is list else getattr(t, "_geometry", t.__class__) for t in inputs]
    )


def _requires_grad(x: Any) -> bool:
    """Whether `x`, of a key, is the geometry of a tensor whose operators autograd records."""
    return isinstance(x, Geometry) and x.keys & RECORDS != 0


class Operators:
    """A group that cannot be one loop, and why: it runs operator by operator."""

    def __init__(self, graph: Graph, unfused: Callable[..., Any], reason: str) -> None:
        self.unfused, self.kernel = unfused, unfused_kernel(graph, reason)

    def __call__(self, *inputs: Any) -> Any:
        # `find_way` has noted this kernel for `last_kernels`, so most calls need not. `kernels_of`
        # asks for the kernels of one call: while it collects, `hot.off` is set, as by other readers
        # that want to see each call, and the kernel is noted again.
        if hot.off:
            remember([self.kernel])
        return self.unfused(*inputs)
