"""The executor: optimises a graph for the kind of arguments of a call, and keeps the plan for the
next call (`torch/csrc/jit/runtime/graph_executor.cpp`).

    ex = GraphExecutor(graph, "f")
    ex(x, y)                 # the first call with such arguments optimises, compiles and runs;
                             # later ones run
    ex.graph_for(x, y)       # the optimised graph
    ex.phases(x, y)          # the passes that made it, one by one

A plan is an optimised graph with two forms of code: Python source emitted from it
(`emit_python.py`), which runs, and bytecode for the interpreter (`interpreter.py`), by which you
can step through it. Each is made on first use.

How the real one differs: 1.0.1 had the interpreter only; today's executor specialises to the sizes
of the first runs, guards them, and falls back when they change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from internals.core.grad_mode import grad_mode, is_grad_enabled, set_grad_mode
from internals.core.hot import hot
from internals.core.recording import Scope, recorded
from internals.jit.ir import Graph
from internals.jit.passes import PassReport
from internals.jit.passes.erase_shape_information import erase_shape_information

from .argument_spec import ArgumentSpec, argument_spec, key_maker, set_input_types
from .code import Code
from .compile import compile_graph
from .emit_python import EmittedFunction, TooDeep, emit
from .phase_report import Phases
from .phases import optimize, optimizing
from .program import run_code
from .settings import changed, settings

MOST_KEYS = 1 << 12  # geometries in the table of plans; the plans themselves are all kept


class ExecutionPlan:
    """An optimised graph, ready to run. `spec` is the spec that it is specialised for, None for any
    arguments.

    `kind` is that of the node which holds the graph, if a node does: the name of its runs in a
    profile. Threads share a plan; the first that runs it makes its code, once.
    """

    def __init__(self, graph: Graph, name: str, spec: ArgumentSpec | None, kind: str = "") -> None:
        self.graph, self.name, self.spec, self.kind = graph, name, spec, kind
        self._code: Code | None = None
        self._emitted: EmittedFunction | None = None
        self._lock = threading.RLock()
        self.function: Any = self._first_run  # which replaces itself by the emitted function

    @property
    def code(self) -> Code:
        """The plan's bytecode."""
        if self._code is None:
            with self._lock:
                if self._code is None:
                    self._code = compile_graph(self.graph, self.name)
        return self._code

    @property
    def emitted(self) -> EmittedFunction:
        """The plan's Python code. Raises TooDeep for a graph whose blocks are nested deeper than
        Python can compile.
        """
        if self._emitted is None:
            with self._lock:
                if self._emitted is None:
                    self._emitted = emit(self.graph, self.name)
        return self._emitted

    def _first_run(self, *args: Any) -> Any:
        try:
            self.function = self.emitted.function
        except TooDeep:
            self.function = self.interpret
        return self.function(*args)

    def interpret(self, *args: Any) -> Any:
        """Run the bytecode."""
        return run_code(self.code, args)

    def run(self, *args: Any, told: bool = False) -> Any:
        """Run with the executor that this thread has chosen; an error is raised as the script's,
        with its line in the script. `told`: the run is in a profile already.
        """
        if hot.off and self.kind and not told:
            with recorded(self.kind, Scope.TORCHSCRIPT_FUNCTION):
                return self.run(*args, told=True)
        if changed.threads and settings.executor == "interpreter":
            return run_code(self._code or self.code, args)
        try:
            return self.function(*args)
        except Exception as error:
            self.explain(error)
            raise

    def explain(self, error: Exception) -> None:
        """Raise `error` as the script's, with its line in the script. An error of the interpreter
        is so already.
        """
        if self._emitted is not None:
            self._emitted.explain(error)

    def __repr__(self) -> str:
        if self.spec is None:
            return "<plan for any arguments, not optimised>"
        return f"<plan for ({', '.join(v.type().repr_str() for v in self.graph.inputs())})>"


class DebugState(NamedTuple):
    """The state of an executor: its graph, the plan for any arguments, the specialised plans."""

    graph: Graph
    fallback: ExecutionPlan | None
    execution_plans: dict[ArgumentSpec, ExecutionPlan]


class GraphExecutor:
    """A graph with its plans, called with values in the order of the graph's inputs. Their types
    are not checked: `ScriptFunction` does that.
    """

    def __init__(self, graph: Graph, name: str = "") -> None:
        self.graph = graph.copy()
        erase_shape_information(self.graph)
        self.name = name
        self.plans: dict[ArgumentSpec, ExecutionPlan] = {}
        self._fallback: ExecutionPlan | None = None
        self._inputs = len(graph.inputs())
        self._key = key_maker(graph.inputs())
        self._recording: dict[Any, ExecutionPlan] = {}  # by geometries, in grad mode
        self._not_recording: dict[Any, ExecutionPlan] = {}  # and without
        self._lock = threading.RLock()

    def __call__(self, *args: Any) -> Any:
        known = self._recording if not grad_mode.off or is_grad_enabled() else self._not_recording
        plan = None
        if not changed.threads:
            try:  # `suppress` would cost as much as the rest
                plan = known.get(self._key(args))
            except (AttributeError, IndexError):  # None where a tensor may be, or too few arguments
                pass
        if plan is None:
            plan = self.plan_for(*args)
        try:
            return plan.function(*args) if not changed.threads else plan.run(*args)
        except BaseException as error:
            # it may have failed, or been interrupted, inside `with no_grad()`
            set_grad_mode(known is self._recording)
            if isinstance(error, Exception):
                plan.explain(error)
            raise

    def plan_for(self, *args: Any) -> ExecutionPlan:
        """The plan for these arguments, made if there is none. Raises RuntimeError for a wrong
        number of arguments.
        """
        if len(args) != self._inputs:
            raise RuntimeError(
                f"expected {self._inputs} inputs, but got "
                f"{'only ' * (len(args) < self._inputs)}{len(args)}"
            )
        if not settings.optimize:
            return self.fallback
        recording = is_grad_enabled()
        spec = argument_spec(self.graph, args, recording)
        with self._lock:
            plan = self.plans.get(spec)
            if plan is None:
                plan = self.plans[spec] = self._compile(spec, recording)
            known = self._recording if recording else self._not_recording
            if len(known) >= MOST_KEYS:
                known.clear()
            with suppress(AttributeError):  # None where a tensor may be
                known[self._key(args)] = plan
        return plan

    def _compile(self, spec: ArgumentSpec, recording: bool) -> ExecutionPlan:
        """A plan for the spec: a copy of the graph with the types of the spec, optimised."""
        graph = self.graph.copy()
        set_input_types(graph, spec)
        optimize(graph, spec, recording)
        return ExecutionPlan(graph, self.name, spec)

    @property
    def fallback(self) -> ExecutionPlan:
        """The plan for any arguments, without optimisation."""
        with self._lock:
            if self._fallback is None:
                graph = self.graph.copy()
                optimize(graph, None, True)
                self._fallback = ExecutionPlan(graph, self.name, None)
            return self._fallback

    def code_for(self, *args: Any) -> Code:
        """The bytecode of the plan for arguments like these."""
        return self.plan_for(*args).code

    def graph_for(self, *args: Any) -> Graph:
        """The graph as optimised for arguments like these."""
        return self.plan_for(*args).graph

    def phases(self, *args: Any, hide_unchanged: bool = False) -> Phases:
        """The report of each pass when the graph is optimised for arguments like these; printed, it
        is a table.

        hide_unchanged: omit the passes that change nothing.
        """
        graph, spec, recording = self.prepared(args)
        records = optimize(graph, spec, recording, keep_text=True)
        return Phases(r for r in records if r.changed or not hide_unchanged)

    def watched(self, args: tuple[Any, ...] | None) -> Iterator[tuple[PassReport | None, Graph]]:
        """The graph while it is optimised for arguments like these: before the first phase, with
        None, and after each phase, with its record.

        It is the same graph object all the time, a copy that no plan uses. Without arguments (None)
        only the phases run that are required.
        """
        graph, spec, recording = (
            self.prepared(args) if args is not None else (self.graph.copy(), None, True)
        )
        yield None, graph
        for record in optimizing(graph, spec, recording):
            yield record, graph

    def prepared(self, args: tuple[Any, ...]) -> tuple[Graph, ArgumentSpec | None, bool]:
        """A copy of the graph, ready to be optimised for `args`; the spec that it is specialised
        to, None without optimisation; and whether autograd records.
        """
        recording = is_grad_enabled()
        spec = argument_spec(self.graph, args, recording) if settings.optimize else None
        graph = self.graph.copy()
        if spec is not None:
            set_input_types(graph, spec)
        return graph, spec, recording

    def get_debug_state(self) -> DebugState:
        return DebugState(self.graph, self._fallback, dict(self.plans))
