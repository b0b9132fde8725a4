"""Calls of script functions under a trace (`runAndInsertCall` in
`torch/csrc/jit/python/pybind_utils.h`).

The call becomes a `prim::CallFunction` or a `prim::CallMethod`. The operators inside the function
are not recorded, because it has a graph of its own, with its branches and loops. This is the only
way for control flow to get into a trace.

How the real one differs: the compiler's schema matching checks the arguments, and may convert them.
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
    """The part of `TracingState` for calls of script functions."""

    graph: Graph

    def call_script_function(  # type: ignore[misc]
        self: TracingState, function: ScriptFunction, args: Sequence[Any]
    ) -> Any:
        """Record a call of `function` as one node, run it unrecorded, and return its result."""
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
