"""The function of a `prim::DifferentiableGraph` (`DifferentiableGraphOp` in
`torch/csrc/jit/runtime/graph_executor.cpp`).

The node holds two graphs made by `passes/differentiate.py`: `f` computes the outputs, `df` is the
backward of all of it. To run the node,

1. the edges to the gradients of the inputs are collected, and the inputs are detached, so that
   autograd records nothing inside;
2. `f` is run, which returns the node's outputs and some temporaries;
3. a single autograd node, `DifferentiableGraphBackward`, becomes the `grad_fn` of the outputs, and
   saves the values that `df` needs.

When gradients arrive at that node, it runs `df`, in an executor of its own: `df` is optimised and
specialised like any graph, with None for gradients that are not defined. And since it runs like any
graph, it can be recorded and differentiated again. For that the temporaries are outputs of the
autograd node as well: gradients of `df` with respect to them come back to it.

The formulas of `df` are those of real numbers. For complex inputs, `f` runs on the inputs as they
are, so that autograd records it operator by operator.

How the real one differs: its formulas are wrong for complex numbers; a captured undefined tensor,
or a list of tensors, needs bookkeeping there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals.autograd.history import gradient_edge, set_history
from internals.autograd.node import Node as AutogradNode
from internals.autograd.saved_variable import ERR_BACKWARD_TWICE, SavedVariable, save, save_output
from internals.core.dtype import FLOATING
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor, TensorImpl, make
from internals.jit.ir import Node, Type
from internals.jit.ir.tensor_type import TensorType
from internals.jit.passes.autodiff_subgraphs import unpack_gradient
from internals.jit.passes.differentiate import Gradient

from .graph_executor import GraphExecutor
from .node_functions import node_function, run_subgraph


@node_function("prim::DifferentiableGraph")
def differentiable_graph(node: Node) -> Callable[..., Any]:
    """The function of one such node. For a group that was not differentiated, it runs the graph."""
    if not node.hasAttribute("ReverseSubgraph"):
        return run_subgraph(node.g("Subgraph"), node.kind())
    return DifferentiableGraph(unpack_gradient(node))


class DifferentiableGraph:
    """The function of one group: it runs `f` and records one autograd node, whose backward is
    `backward`, the executor of `df`.
    """

    def __init__(self, gradient: Gradient) -> None:
        self.gradient = gradient
        self.forward = run_subgraph(gradient.f, "prim::DifferentiableGraph")
        self.backward = GraphExecutor(gradient.df, "<backward>")
        self.several = len(gradient.f.outputs()) > 1
        # output of `f` → its number among the outputs of the autograd node
        self.vjp_number = {
            output: i for i, output in reversed(list(enumerate(gradient.df_input_vjps)))
        }
        self.has_complex = any(
            str(n.output().type()) == "complex" for n in gradient.f.findAllNodes("prim::Constant")
        )
        self.is_real = not self.has_complex and all(_is_real(v.type()) for v in gradient.f.inputs())

    def __call__(self, *inputs: Any) -> Any:
        g = self.gradient
        # Without edges nothing is recorded below: autograd does it inside, or grad mode is off.
        if not self.is_real and (self.has_complex or any(map(_is_complex, inputs))):
            edges, detached = [], list(inputs)
        else:
            edges = (
                [gradient_edge(inputs[i]) for i in g.df_output_vjps] if is_grad_enabled() else []
            )
            detached = [_detached(v) for v in inputs]
        results = self.forward(*detached)
        outputs = list(results) if self.several else [results]
        if any(edge[0] is not None for edge in edges):
            self.record(edges, inputs, detached, outputs)
        real = outputs[: g.f_real_outputs]
        return real[0] if len(real) == 1 else tuple(real)

    def record(
        self,
        edges: Sequence[Any],
        inputs: Sequence[Any],
        detached: Sequence[Any],
        outputs: list[Any],
    ) -> None:
        """Make a new autograd node the `grad_fn` of `outputs`, and save the values captured. An
        output that is an input itself becomes a view first: the input keeps its own `grad_fn`.
        """
        g = self.gradient
        seen = [*detached, *outputs[: g.f_real_outputs]]
        node = DifferentiableGraphBackward()
        node.next_edges, node.executor = tuple(edges), self.backward
        for i in g.df_input_vjps:
            t = outputs[i]
            if any(t is v for v in inputs):
                t = outputs[i] = t.view_as(t)
            # The base of a view may be a tensor inside the group, which has no history.
            base = t._base
            if base is not None and not any(base is v for v in seen):
                t = outputs[i] = _no_view(t)
            set_history(t, node, len(node.input_metadata))
            _mark_view(t)
        captured = [_kept(inputs[i], None) for i in g.df_input_captured_inputs]
        captured += [_kept(outputs[i], self.vjp_number.get(i)) for i in g.df_input_captured_outputs]
        node.captured = captured


class DifferentiableGraphBackward(AutogradNode):
    """The backward of a whole group of operators, the `grad_fn` of its outputs. `captured` has the
    values that `df` needs; None once they are released.
    """

    __slots__ = ("executor", "captured")

    saves = True

    executor: Callable[..., Any]
    captured: list[Any] | None

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        if self.captured is None:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        values = [v.unpack(self) if isinstance(v, SavedVariable) else v for v in self.captured]
        results = self.executor(*grads, *values)
        return results if isinstance(results, tuple) else (results,)

    def release_variables(self) -> None:
        self.captured = None

    @property
    def released(self) -> bool:
        return self.captured is None


def _is_real(type: Type) -> bool:
    """Whether a value of this type is known not to be, or contain, a complex number."""
    if isinstance(type, TensorType):
        dtype = type.dtype()
        return dtype is not None and not dtype.is_complex
    return str(type) in ("int", "float", "bool", "int[]", "bool[]", "NoneType")


def _is_complex(v: Tensor) -> bool:
    return v.is_complex() if isinstance(v, TensorImpl) else isinstance(v, complex)


def _detached(v: Any) -> Any:
    return v.detach() if isinstance(v, TensorImpl) and v.requires_grad else v  # type: ignore[attr-defined]


def _kept(v: Any, number: int | None) -> Any:
    """A captured value as the node saves it: a tensor with its version, and an output of the node
    (`number`) without its history, which would be a cycle of references.
    """
    if not isinstance(v, TensorImpl):
        return v
    if number is None or v._geometry.dtype.category < FLOATING:
        return save(v)
    return save_output(v, number)


def _no_view(t: Tensor) -> Any:
    """A tensor with the same memory that is not a view: the base of `t` is inside the group."""
    same = make(t._storage, t._geometry, t._offset, t._array)
    same._version_counter = t._version_counter
    return same


def _mark_view(t: Any) -> None:
    """Forbid writing to a result that is a view of an input or of another result, whose history
    would not record the write.
    """
    meta = t._autograd_meta
    if meta is not None and meta.base is not None:
        meta.creation_meta, meta.attr_version = "custom_function", t._version
