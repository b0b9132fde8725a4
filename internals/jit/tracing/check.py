"""Checking a trace: it is recorded a second time, and compared with the function (`_check_trace` in
`torch/jit/_trace.py`).

    traced(inputs)  =  function(inputs)            else a warning: "Output nr 1. of the traced
                                                   function does not match ..."
    traced(inputs)  =  second trace(inputs)        else a warning
    graph           =  graph of the second trace   else TracingCheckError, with the difference

The check fails for a function with a branch, if it is checked on inputs that take the other branch.
It also fails for a function with dropout, though its trace is right, because each run draws new
random numbers; the warning then lists the nodes that do so.

How the real one differs: it first converts outputs that are quantized, nested or on other devices.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.autograd.grad_mode import no_grad
from internals.core.dtype import COMPLEX
from internals.core.tensor_impl import Tensor, TensorImpl
from internals.jit.ir import Graph
from internals.jit.passes.canonicalize import canonicalized
from internals.jit.passes.erase_shape_information import erase_shape_information
from internals.jit.passes.inline import inline

from .comparison import assert_close, default_tolerances
from .warnings import TracerWarning

if TYPE_CHECKING:
    from internals.jit.ir.node import Node
    from internals.jit.script_function import ScriptFunction, ScriptMethod


class TracingCheckError(Exception):
    """The second trace of a function differs from the first one; `message` shows the difference."""

    def __init__(
        self,
        graph_diff_error: str | None,
        tensor_compare_error: str | None,
        extra_msg: str | None = None,
    ) -> None:
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            self.message += (
                "ERROR: Graphs differed across invocations!\n" + indent(graph_diff_error) + "\n"
            )
        if tensor_compare_error is not None:
            self.message += (
                "ERROR: Tensor-valued Constant nodes "
                "differed in value across invocations. This "
                "often indicates that the tracer has "
                "encountered untraceable code.\n" + indent(tensor_compare_error) + "\n"
            )
        super().__init__(self.message)


def check_trace(
    inputs: Any,
    function: Callable[..., Any],
    traced: ScriptFunction | ScriptMethod,
    trace_again: Callable[[Any], Any],
    tolerance: float,
) -> None:
    """Compare `traced` with `function` and with `trace_again(inputs)`. `inputs` is a tuple, or a
    dict of keyword arguments.

    Warns (TracerWarning) about outputs that differ, and raises TracingCheckError if the graphs do.
    """
    with no_grad():
        check = _Check(traced, trace_again(clone_inputs(inputs)), tolerance)
        outputs = check.run(traced, inputs, "trace")
        wanted = check.run(function, inputs, "Python function")
        if check.compare(outputs, wanted, "Python function"):
            check.compare(
                outputs, check.run(check.again, inputs, "repeated trace"), "repeated trace"
            )
        differences = check.graph_differences()
        if any(d is not None for d in differences):
            raise TracingCheckError(*differences)


class _Check:
    """One check of `traced` against `again`, the second trace. `tolerance` is relative."""

    def __init__(
        self,
        traced: ScriptFunction | ScriptMethod,
        again: ScriptFunction | ScriptMethod,
        tolerance: float,
    ) -> None:
        self.traced, self.again, self.tolerance = traced, again, tolerance
        self.warned = False

    def run(self, function: Any, inputs: Sequence[Tensor], what: str) -> list[Any]:
        """The tensors among the outputs of `function`, which `what` names in errors. Raises
        TracingCheckError if it raises anything.
        """
        try:
            given = clone_inputs(inputs)
            result = function(**given) if isinstance(given, dict) else function(*given)
        except Exception as error:
            message = (
                f"encountered an exception while running the {what} with test "
                f"inputs.\nException:\n{indent(str(error))}"
            )
            raise TracingCheckError(*self.graph_differences(), extra_msg=message) from error
        results = result if isinstance(result, tuple) else (result,)
        return [r for r in results if isinstance(r, TensorImpl)]

    def compare(self, original: list[Any], reference: list[Any], what: str) -> bool:
        """Whether the outputs are close, pair by pair. Warns about each pair that is not. They are
        converted to double precision first, so their dtypes may differ.
        """
        all_ok = True
        for i, (a, b) in enumerate(zip(original, reference)):
            try:
                is_complex = COMPLEX in (a.dtype.category, b.dtype.category)
                wide = (a.cdouble(), b.cdouble()) if is_complex else (a.double(), b.double())
                assert_close(*wide, rtol=self.tolerance, atol=default_tolerances(a, b)[1])
            except AssertionError as error:
                self.warn_if_nondeterministic()
                self.warn(
                    f"Output nr {i + 1}. of the traced function does not match the corresponding "
                    f"output of the {what}. Detailed error:\n{error}"
                )
                all_ok = False
        return all_ok

    def warn_if_nondeterministic(self) -> None:
        """Warn, once, about the nodes of the trace that draw random numbers."""
        if self.warned:
            return
        self.warned = True
        nodes = [n for n in self.traced.graph.nodes() if n.isNondeterministic()]
        if nodes:
            self.warn(
                "Trace had nondeterministic nodes. Did you forget call .eval() on your model? "
                "Nodes:\n"
                + "\n".join([indent(str(n)) for n in nodes][:20])
                + (
                    "\nThis may cause errors in trace checking. To disable trace checking, pass "
                    "check_trace=False to torch.jit.trace()"
                )
            )

    @staticmethod
    def warn(message: str) -> None:
        """Give a warning that points at the line which called `trace`: `stacklevel` counts the
        functions between.
        """
        warnings.warn(message, TracerWarning, stacklevel=5)

    def graph_differences(self) -> tuple[str | None, str | None]:
        """The difference of the graphs, and that of the first constant tensor that differs; None
        for each where there is none.
        """
        first, second = canonical(self.traced.graph), canonical(self.again.graph)
        return _graph_difference(first, second), _constant_difference(first, second)


def canonical(graph: Graph) -> Graph:
    """A copy of a graph to compare: values are numbered in order, calls are inlined, and the types
    of tensors have no shapes.
    """
    copy = canonicalized(graph)
    inline(copy)
    erase_shape_information(copy)
    return copy


def _text(thing: Any) -> str:
    """The text of a graph, without the part of class names that makes them unique."""
    return re.sub(r"___torch_mangle_[0-9]+\.", "", str(thing))


def _graph_difference(first: Graph, second: Graph) -> str | None:
    """The lines in which two graphs differ, and the first node that does, with its place in the
    source; None if they are equal.
    """
    a, b = _text(first), _text(second)
    if a == b:
        return None
    text = "Graph diff:\n" + indent("".join(_ndiff(a, b))) + "\n"
    for n, m in zip(first.nodes(), second.nodes()):
        if str(n) == str(m):
            continue
        text += (
            "First diverging operator:\nNode diff:\n"
            + indent("".join(_ndiff(str(n), str(m))))
            + "\n"
        )
        text += _location("Trace source location:\n", n) + _location("Check source location:\n", m)
        break
    return text


def _constant_difference(first: Graph, second: Graph) -> str | None:
    """The first tensor constant whose values differ in the two graphs; None if there is none. The
    text of a graph does not show these values.
    """
    for n, m in zip(first.nodes(), second.nodes()):
        if n.kind() != m.kind():  # from here on, the graphs cannot be compared node by node
            return None
        if n.kind() != "prim::Constant" or not (
            n.hasAttribute("value") and m.hasAttribute("value")
        ):
            continue
        if n.kindOf("value") != "t" or m.kindOf("value") != "t":
            continue
        try:
            assert_close(n.t("value"), m.t("value"))
        except (RuntimeError, AssertionError) as error:
            where = _location("Source Location:\n", n)
            return (
                "Node:\n"
                + indent(str(n))
                + "\n"
                + where
                + "Comparison exception: "
                + indent(str(error))
            )
    return None


def _ndiff(a: str, b: str) -> Any:
    return difflib.ndiff(a.splitlines(True), b.splitlines(True))


def _location(title: str, node: Node) -> str:
    range = node.sourceRange()
    return title + indent(range.highlight()) + "\n" if range is not None else ""


def indent(text: str) -> str:
    return "\n".join("\t" + line for line in text.splitlines())


def clone_inputs(inputs: Any) -> Any:
    """Arguments with all tensors in them copied, also nested ones. A copy requires grad if its
    original does.
    """
    if isinstance(inputs, TensorImpl):
        return inputs.detach().clone().requires_grad_(inputs.requires_grad)  # type: ignore[attr-defined]
    if isinstance(inputs, dict):
        return {k: clone_inputs(v) for k, v in inputs.items()}
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return inputs.__class__(*map(clone_inputs, inputs))
    if isinstance(inputs, (list, tuple)):
        return inputs.__class__(map(clone_inputs, inputs))
    return inputs
