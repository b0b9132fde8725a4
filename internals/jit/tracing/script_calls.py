"""Script functions called under a trace (`runAndInsertCall` in
`torch/csrc/jit/python/pybind_utils.h`).

The call becomes a `prim::CallFunction` (or `prim::CallMethod`), and what the function does inside
is not recorded: it has a graph of its own, with its branches and loops. That is how control flow
gets into a trace.

How the real one differs: arguments are matched against the schema by the compiler's schema
matching, which may convert them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals.jit.ir import FunctionType, Graph

from .frames import source_location

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

    from .state import TracingState


class ScriptCalls:
    """Part of `TracingState`."""

    graph: Graph

    def call_script_function(  # type: ignore[misc]
        self: TracingState, function: ScriptFunction, args: Sequence[Any]
    ) -> Any:
        """Record the call and run it."""
        values = [self.value_of(a) for a in args]
        if function.is_method:
            node = self.graph.create("prim::CallMethod", values).s_("name", function.name)
        else:
            constant = self.graph.create("prim::Constant").s_("name", function.name)
            constant.setSourceRange(source_location())
            callee = self.graph.insertNode(constant).output().setType(FunctionType(function))
            node = self.graph.create("prim::CallFunction", [callee, *values])
        output = self.add(node).output().setType(function.schema.returns[0].type)
        with self.paused():
            result = function.executor(*args)
        self.set_value(result, output)
        return result
