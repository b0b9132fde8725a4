"""`autograd.Function.apply` under a trace (`_trace_pre_record` and `_trace_post_record` in
`torch/csrc/autograd/python_function.cpp`).

    y = Scale.apply(x, 3)      %3 : Float(2) = ^Scale[inplace=0, module="m",
                               Subgraph=<Graph>](3)(%x)

The user's `forward` may run any Python, and its `backward` is not an operator. So the call is
recorded as a node that calls Python again: tensors are its inputs, all other arguments are fixed.
The operators of `forward` are recorded, too, and copied to the attribute `Subgraph` of the node,
for exporters; in the graph itself they are not used.

A graph with such a node cannot be saved, because it needs the Python class to run (as in PyTorch).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Graph, Node, TupleType, Value

from .frames import source_location

if TYPE_CHECKING:
    from internals.autograd.function import FunctionMeta

    from .state import TracingState


class PythonFunctions:
    """The part of `TracingState` for calls of `autograd.Function`."""

    graph: Graph

    def call_function(  # type: ignore[misc]
        self: TracingState, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run `function.apply` and record it as a `^Name` node. Returns its results."""
        node = self.graph.create(f"^{function.__name__}", num_outputs=0)
        node.setSourceRange(source_location())
        node.setAttribute("scalar_args", "ival", [a for a in args if not isinstance(a, TensorImpl)])
        node.pyobj = call_with_tensors(function.apply, args)
        inputs = [a for a in args if isinstance(a, TensorImpl)]
        for t in inputs:
            node.addInput(self.value_of(t))
        self.graph.insertNode(node)
        results = function._apply(args, kwargs)
        self._after_call(node, function, inputs, results)
        return results

    def _after_call(  # type: ignore[misc]
        self: TracingState, node: Node, function: FunctionMeta, inputs: Sequence[Any], results: Any
    ) -> None:
        """Add outputs to the node, which represent the results from now on, instead of the values
        that were recorded while `forward` ran.
        """
        is_tuple = isinstance(results, tuple)
        outputs: Sequence[Any] = results if is_tuple else (results,)
        node.i_("inplace", any(r is t for r in outputs for t in inputs))
        node.s_("module", function.__module__)
        values, after = [node.addOutput()], node
        if is_tuple:
            after = self.graph.create("prim::TupleUnpack", [values[0]], len(outputs)).insertAfter(
                node
            )
            values = after.outputs()
        inside: list[Value] = []  # the results, as values of the recorded `forward`
        for value, r in zip(values, outputs):
            if isinstance(r, TensorImpl):
                value.inferTypeFrom(r)
                inside.append(self.value_of(r))
                self._values[id(r)] = r, value
        if is_tuple:
            node.output().setType(TupleType([v.type() for v in values]))
        _keep_subgraph(node, after, inside)


def call_with_tensors(function: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """A function of only the tensors among `args`; the other arguments are fixed."""
    positions = [i for i, a in enumerate(args) if isinstance(a, TensorImpl)]

    def call(*tensors: Any) -> Any:
        given = list(args)
        for i, t in zip(positions, tensors, strict=True):
            given[i] = t
        return function(*given)

    return call


def _keep_subgraph(node: Node, last: Node, results: Sequence[Value]) -> None:
    """Copy the nodes that were recorded after `last` into the attribute `Subgraph` of `node`,
    unless they use values from outside other than its inputs.
    """
    subgraph = Graph()
    copies: dict[Value, Value] = {}  # value of the graph -> value of the subgraph
    for v in node.inputs():
        copies[v] = subgraph.addInput().copyMetadata(v)
    inner = last.next()
    while inner.kind() != "prim::Return":
        if any(v not in copies for v in inner.inputs()):
            return
        copy = subgraph.insertNode(subgraph.createClone(inner, copies.__getitem__))
        for mine, theirs in zip(inner.outputs(), copy.outputs()):
            copies[mine] = theirs
            if any(mine is r for r in results):
                subgraph.registerOutput(theirs)
        inner = inner.next()
    node.g_("Subgraph", subgraph)
