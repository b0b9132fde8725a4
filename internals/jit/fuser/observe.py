"""Records the loops that the eager operators of a group would run, which become the program of the
group (in place of `torch/csrc/jit/codegen/fuser/arg_spec.h`).

Which dtype does `int32 tensor + 0.5` compute in? In what order does its result lie in memory? Which
of its loops does `x ** 2` run? An eager operator decides all this and hands a loop to
`TensorIterator`. So a group is run once, node by node, on tensors *without memory* that have the
sizes, strides and dtypes of the arguments, and `TensorIterator` reports which loop it would have
run on what. The list of these loops is the group's program:

    n3 = multiply(n1, n2)      computed in float32, result float32, sizes (64, 1024), strides (1024,
                               1)
    n5 = add(n3, 0.5)          ...

The operands of a loop are recognised by their ids: each tensor without memory, and each number, is
an object of its own, and `origins` notes the argument or the step behind it. The value of a number
is not known yet, so the number 1000, as a new object, stands for it. If an
operator does not hand it on to its loop, it may have used the value: then `NotFusable` is raised.

Functions of rows (`row_steps`), casts, chunks and a `cat` at the end run no loop; they become steps
in other ways. A sum over broadcast dimensions (`prim::SumToSize`, in backward graphs) comes after
the kernels, with all that needs it (`DeferredCall`); so does a function of rows that no kernel can
compute. For anything else `NotFusable` is raised, and the group runs operator by operator.

How the real one differs: PyTorch 1.0.1 computes everything in float, and has a second copy of the
promotion rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from internals.aten.native.joining import prepare_cat
from internals.aten.native.pointwise_ternary import where_self
from internals.aten.tensor_iterator import watch
from internals.core import dtype as dt
from internals.core.device import CPU, META
from internals.core.dtype import dtype
from internals.core.geometry import Geometry, bytes_spanned, contiguous_geometry, geometry
from internals.core.grad_mode import set_grad_mode
from internals.core.storage import Storage
from internals.core.tensor_impl import TensorImpl, make
from internals.jit.ir import Graph, Node, Value
from internals.jit.passes.fuser_rows import ROW_FUNCTIONS
from internals.jit.passes.overloads import overload_of
from internals.jit.runtime.node_functions import function_of

from .names import Names
from .row_steps import add_row_steps
from .steps import DeferredCall, NotFusable, Number, Output, Program, Read, Rows, Step, Store

if TYPE_CHECKING:
    from internals.aten.decisions import Decisions
    from internals.aten.tensor_iterator import TensorIterator

DTYPES = (dt.float32, dt.float64, dt.int64, dt.int32, dt.int16, dt.int8, dt.uint8, dt.bool_)


def observe(graph: Graph, arguments: Sequence[Any], names: Names, rows: bool = True) -> Program:
    """The program of `graph` for these arguments, each a `Geometry`, the type of a number, or the
    elements of a list as a tuple.

    rows: whether functions of rows may be steps; otherwise they are left to the operators.

    Raises NotFusable, also if an operator raises an error for such arguments.
    """
    observer = Observer(graph, names, rows)
    before, watch.loop = watch.loop, observer.record_loop
    recording = set_grad_mode(False)
    try:
        return observer.run(arguments)
    except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError) as error:
        raise NotFusable(f"the operators refuse these arguments: {error}") from error
    finally:
        watch.loop = before
        set_grad_mode(recording)


class Observer:
    """The run of a group on tensors without memory. `values` are the tensors, numbers and lists
    that the graph's values have in it. `origins` tells where each tensor or number comes from, by
    its id: a `Read`, a `Number` or a `Step`."""

    def __init__(self, graph: Graph, names: Names, rows: bool) -> None:
        self.graph, self.names, self.may_have_rows = graph, names, rows
        self.rows: Rows | None = None
        self.values: dict[Value, Any] = {}
        self.origins: dict[int, Any] = {}
        self.alive: list[Any] = []  # objects known by their id: no other may get the same id
        self.steps: list[Step] = []
        self.deferred_nodes: list[Node] = []
        self.deferred_values: dict[Value, int] = {}
        self.node: Node | None = None

    def run(self, arguments: Sequence[Any]) -> Program:
        """Runs the nodes in order, then collects the outputs and the deferred calls."""
        self.device = next((a.device for a in arguments if isinstance(a, Geometry)), CPU)
        for i, (v, a) in enumerate(zip(self.graph.inputs(), arguments)):
            self.values[v] = self.argument(i, v, a)
        for node in self.graph.nodes():
            self.node = node
            if node.kind() == "prim::Constant":
                self.values[node.output()] = node.output().toIValue()
            elif node.kind() == "prim::FusedConcat":  # only at the end: see `output`
                continue
            elif self.add_row_function(node):
                continue
            elif self.is_deferred(node):
                self.deferred_nodes.append(node)
                for v in node.outputs():
                    self.deferred_values[v] = len(self.deferred_values)
            else:
                self.run_node(node)
        outputs: list[Output] = []
        for v in self.graph.outputs():
            outputs.append(self.output(v, outputs))
        deferred = [self.deferred_call(n, outputs) for n in self.deferred_nodes]
        return Program(self.steps, outputs, self.device, deferred, self.rows)

    def add_row_function(self, node: Node) -> bool:
        """Adds the steps of a function of rows. Returns False, and adds none, if the node is
        another one, or no kernel can compute it.
        """
        if not self.may_have_rows or overload_of(node) not in ROW_FUNCTIONS:
            return False
        return add_row_steps(self, node)

    def give(self, v: Value, step: Step) -> None:
        """Makes `v` a new tensor, the result of `step`."""
        g = contiguous_geometry(step.sizes, step.dtype, META)
        result = make(Storage.allocate(g.nbytes, META), g)
        self.values[v] = result
        self.note_origin(result, step)

    def is_deferred(self, node: Node) -> bool:
        """Whether a node comes after the kernels: a sum over broadcast dimensions, a function of
        rows that no kernel computes, or a node that needs one of those.
        """
        if (
            any(v in self.deferred_values for v in node.inputs())
            or overload_of(node) in ROW_FUNCTIONS
        ):
            return True
        if node.kind() != "prim::SumToSize":
            return False
        t, size = (self.values[v] for v in node.inputs())
        return list(t.shape) != list(size)

    def deferred_call(self, node: Node, outputs: list[Output]) -> DeferredCall:
        """The call of a deferred node; `outputs` get one more for each input that needs it."""
        inputs = tuple(self.deferred_input(v, outputs) for v in node.inputs())
        return DeferredCall(node.kind(), _function(node), inputs, len(node.outputs()))

    def deferred_input(self, v: Value, outputs: list[Output]) -> tuple[str, Any]:
        """The place where a deferred call finds `v`. A value that only exists inside kernels
        becomes one more output.
        """
        if v in self.deferred_values:
            return "deferred", self.deferred_values[v]
        if v in self.graph.inputs():
            return "input", self.graph.inputs().index(v)
        value = self.values[v]
        if not isinstance(value, TensorImpl):
            return "constant", value
        found = self.output(v, ())
        for k, known in enumerate(outputs):
            if known.pieces == found.pieces and known.geometry is found.geometry and found.pieces:
                return "output", k
        if found.geometry is None:
            return "input", found.argument
        outputs.append(found)
        return "output", len(outputs) - 1

    def argument(self, i: int, v: Value, a: Any) -> Any:
        """The object that stands for argument i: a tensor without memory, a number or a list."""
        if isinstance(a, tuple):
            return list(a)
        if not isinstance(a, Geometry):
            number: Any = {float: float, int: int}.get(a)
            if number is None:
                raise NotFusable(f"an argument of type {getattr(a, '__name__', a)}")
            # made from text, so that it is a new object, with an id of its own
            stand_in = number("1000")
            self.note_origin(stand_in, Number(self.names.value(v), i, a))
            return stand_in
        _check(a.dtype)
        t = make(Storage.allocate(bytes_spanned(a), META), _on_meta(a))
        self.note_origin(t, Read(self.names.value(v), i, t))
        return t

    def note_origin(self, thing: Any, origin: Any) -> None:
        """Notes that the object `thing` comes from `origin`, a `Read`, `Number` or `Step`."""
        self.origins[id(thing)] = origin
        self.alive.append(thing)

    def run_node(self, node: Node) -> None:
        """Runs a node's operator, during which `record_loop` adds its steps, and names them."""
        inputs = [self.values[v] for v in node.inputs()]
        before = len(self.steps)
        results = _function(node)(*inputs)
        # a number must be an operand of a step: an operator that uses it in another way has taken
        # the stand-in, 1000, for its value
        for x in inputs:
            origin = self.origins.get(id(x))
            if isinstance(origin, Number) and not any(
                origin is y for s in self.steps[before:] for y, _ in s.operands
            ):
                raise NotFusable(f"{node.kind()} takes a number that is another one in every call")
        outputs = node.outputs()
        for v, r in zip(outputs, [results] if len(outputs) == 1 else results):
            self.values[v] = r
            if isinstance(r, TensorImpl) and id(r) not in self.origins:
                self.record_without_loop(node, v, r, inputs, len(self.steps) > before)
        for v in outputs:
            origin = self.origins.get(id(self.values[v]))
            if isinstance(origin, Step) and not origin.name:
                origin.name = self.names.value(v)
        for step in self.steps[before:]:
            step.name = step.name or self.names.temporary()

    def record_without_loop(
        self, node: Node, v: Value, r: TensorImpl, inputs: list[Any], loops: bool
    ) -> None:
        """Adds a result that no loop computed: a view of an argument, a cast (`loops`: whether the
        node ran a loop), or a tensor without elements.
        """
        name = self.names.value(v)
        _check(r.dtype)
        source = next((x for x in inputs if isinstance(x, TensorImpl)), None)
        origin = self.origins.get(id(source))
        if not r._geometry.numel:
            self.note_origin(r, Step(name, None, (), {}, r.dtype, r.dtype, tuple(r.shape), node))
        elif isinstance(origin, Read) and source is not None and r._storage is source._storage:
            self.note_origin(r, Read(name, origin.argument, r))
        elif (
            source is not None
            and not loops
            and r.dtype is not source.dtype
            and r.shape == source.shape
        ):
            step = Step(
                name, None, ((origin, r.dtype),), {}, r.dtype, r.dtype, tuple(r.shape), node
            )
            self.steps.append(step)
            self.note_origin(r, step)
        else:
            raise NotFusable(f"{node.kind()} is no loop over elements")

    def record_loop(
        self, iterator: TensorIterator, decisions: Decisions, loop: Callable[..., Any]
    ) -> None:
        """Adds a step for `loop`, which `TensorIterator` would have run now."""
        assert self.node is not None
        t = iterator.output
        _check(decisions.common_dtype)
        _check(t.dtype)
        operands = []
        for x, target in zip(iterator.inputs, decisions.targets):
            _check(target)
            operands.append((self.origins.get(id(x), x), target))
            if isinstance(operands[-1][0], TensorImpl):
                raise NotFusable(f"{self.node.kind()} reads a tensor that is made inside it")
        numbers = dict(loop.keywords) if loop.__class__ is partial else {}
        if decisions.result_dtype is not t.dtype:
            raise NotFusable(f"{self.node.kind()} converts its result")
        step = Step(
            "", loop, tuple(operands), numbers, decisions.common_dtype, t.dtype, tuple(t.shape),
            self.node
        )  # fmt: skip
        self.steps.append(step)
        self.note_origin(t, step)

    def output(self, v: Value, before: Sequence[Output]) -> Output:
        """The output for `v`; `before` are those of the graph's outputs before it."""
        node = v.node()
        if node.kind() == "prim::FusedConcat":
            return self.concat(node)
        if v in self.deferred_values:
            return Output(None, deferred=self.deferred_values[v])
        t = self.values[v]
        origin = self.origins[id(t)]
        for k, w in enumerate(self.graph.outputs()[: len(before)]):
            if self.values.get(w) is t and before[k].geometry is not None:
                return Output(None, twin=k)
        if isinstance(origin, Read):
            whole = self.values[self.graph.inputs()[origin.argument]]
            if t is not whole:
                raise NotFusable("it returns a piece of an argument")
            return Output(None, argument=origin.argument)
        g = t._geometry
        piece = Store(origin, tuple(g.sizes), g.strides, 0)
        return Output(self.real(g), (piece,) if g.numel else ())

    def concat(self, node: Node) -> Output:
        """The output of a `cat` at the end: a new tensor, with a piece for each part of it."""
        if any(v in self.deferred_values for v in node.inputs()):
            raise NotFusable("a sum is put together with something else")
        tensors = [self.values[v] for v in node.inputs()]
        out, used, d = prepare_cat(tensors, node.i("dim"), None)
        _check(out.dtype)
        g, start, pieces = out._geometry, 0, []
        # each piece begins where the one before ends, along dimension d
        for t in used:
            if t.numel():
                pieces.append(
                    Store(self.origins[id(t)], tuple(t.shape), g.strides, start * g.strides[d])
                )
            start += t.shape[d]
        return Output(self.real(g), tuple(pieces))

    def real(self, g: Geometry) -> Geometry:
        """The geometry `g` on the group's device."""
        return geometry(g.sizes, g.strides, g.dtype, self.device)


def _function(node: Node) -> Any:
    """The function that runs a node."""
    name = overload_of(node)
    if name in ("aten::where.ScalarSelf", "aten::where.ScalarOther", "aten::where.Scalar"):
        # the operator would make a tensor of the number first, which is not an operand of the loop
        return where_self
    return function_of(node)


def _check(d: dtype) -> None:
    """Raises NotFusable for a dtype that kernels do not have."""
    if d not in DTYPES:
        raise NotFusable(f"{d.name} is left to the eager operators")


def _on_meta(g: Geometry) -> Geometry:
    """The geometry `g` on the device "meta", whose tensors have no memory."""
    return geometry(g.sizes, g.strides, g.dtype, META)
