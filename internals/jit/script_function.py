"""A compiled function: a graph with a name, a schema and an executor
(`torch/csrc/jit/api/function_impl.h`).

Both front ends, `script` and `trace`, return these. A call checks the arguments against the schema
and passes them to the `GraphExecutor`. When it sees arguments of a kind for the first time, it
optimises the graph for them; then it runs the resulting plan. You can look at each step: `graph`,
`code`, `inlined_graph`, `graph_for(...)`, `bytecode`, `phases(...)`.

A method of a module is a ScriptFunction, too, with the module as its first argument; `ScriptMethod`
binds it.

How the real one differs: a function is compiled when it is first needed, so functions may refer to
each other in any order; its `graph_for` runs the function and shows the plan last used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pickle import PickleError
from typing import TYPE_CHECKING, Any

from internals.core.hot import hot
from internals.core.recording import Scope, recorded, recording
from internals.core.tracer import tracer

from .arguments import ArgumentBinder
from .ir.tensor_type import unshaped
from .ir.value import base_name
from .names import take_name
from .schema import Argument, FunctionSchema

if TYPE_CHECKING:
    from internals.nn.module import Module

    from .ir.graph import Graph
    from .runtime.graph_executor import GraphExecutor


class ScriptFunction:
    """A compiled function. `python_function` is the function or module it was compiled from, or
    None; if `is_method`, the graph's first input is the module.
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        schema: FunctionSchema | None = None,
        *,
        qualified_name: str | None = None,
        python_function: Callable[..., Any] | Module | None = None,
        is_method: bool = False,
    ) -> None:
        self.graph = graph
        schema = schema if schema is not None else schema_of_graph(name, graph)
        self._set_up(
            name,
            schema,
            qualified_name or take_name(f"__torch__.{name}"),
            python_function,
            is_method,
        )

    def _set_up(
        self,
        name: str,
        schema: FunctionSchema,
        qualified_name: str,
        python_function: Callable[..., Any] | Module | None,
        is_method: bool,
    ) -> None:
        """Set all attributes but the graph, which a function from an archive does not have yet."""
        self.name = self.__name__ = name
        self.schema, self.qualified_name = schema, qualified_name
        self.python_function = python_function
        self.is_method = is_method
        self.__doc__ = getattr(python_function, "__doc__", None)
        self._executor: GraphExecutor | None = None
        self._bind: ArgumentBinder | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bind = self._bind
        if bind is None:
            bind = self._bind = ArgumentBinder(self.schema, leading=int(self.is_method))
        # `hot.off` is 0 unless something watches the calls, so a plain call checks only that
        if hot.off:
            if tracer.state is not None:
                leading = args[: int(self.is_method)]
                return tracer.state.call_script_function(
                    self, (*leading, *bind(args[len(leading) :], kwargs))
                )
            if recording.recorder is not None:
                with recorded(self.name, Scope.TORCHSCRIPT_FUNCTION):
                    return self.executor(
                        *args[: int(self.is_method)], *bind(args[int(self.is_method) :], kwargs)
                    )
        if self.is_method:
            return self.executor(args[0], *bind(args[1:], kwargs))
        return self.executor(*bind(args, kwargs))

    @property
    def forward(self) -> Any:
        """The function itself: `f.forward(x)` works as for a module."""
        return self

    @property
    def executor(self) -> GraphExecutor:
        """The executor, which optimises and runs the graph. It is created when first needed."""
        if self._executor is None:
            from .runtime.graph_executor import GraphExecutor

            # threads that call a new function at the same time share one executor and its plans
            with _making:
                if self._executor is None:
                    self._executor = GraphExecutor(self.graph, self.name)
        return self._executor

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph, optimised for arguments like these."""
        return self.executor.graph_for(*self._arguments(args, kwargs))

    def phases(self, *args: Any, **kwargs: Any) -> Any:
        """One record per optimisation phase for arguments like these: its name, the graph before
        and after, the time.
        """
        return self.executor.phases(*self._arguments(args, kwargs))

    def get_debug_state(self) -> Any:
        """The executor's graph and plans."""
        return self.executor.get_debug_state()

    @property
    def inlined_graph(self) -> Graph:
        """A copy of the graph in which calls of functions and methods are replaced by their
        bodies.
        """
        from .passes.inline import inline

        copy = self.graph.copy()
        inline(copy)
        return copy

    @property
    def bytecode(self) -> Any:
        """The instructions that the inlined graph compiles to, without optimisation."""
        from .runtime.compile import compile_graph

        return compile_graph(self.inlined_graph, self.name)

    @property
    def code(self) -> str:
        """The graph as Python source (`python_print.py`)."""
        from .python_print import python_print

        return python_print(self)

    def save(
        self, f: Any, _extra_files: dict[str, Any] | None = None, *, format: str = "modern"
    ) -> None:
        """Write the function to a path or file object (`saving.py`)."""
        from .saving import save

        save(self, f, _extra_files, format=format)

    def save_to_buffer(
        self, _extra_files: dict[str, Any] | None = None, *, format: str = "modern"
    ) -> bytes:
        """The bytes that `save` would write."""
        from .saving import to_buffer

        return to_buffer(self, _extra_files, format=format)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call in the order of the schema; for a method, the module first."""
        leading = args[: int(self.is_method)]
        return (*leading, *ArgumentBinder(self.schema, len(leading))(args[len(leading) :], kwargs))

    def __reduce__(self) -> Any:
        raise PickleError("ScriptFunction cannot be pickled")

    def __repr__(self) -> str:
        return f"<internals.jit.ScriptFunction {self.name}>"


class ScriptMethod:
    """A method of a compiled module, bound to it: `m.forward`."""

    def __init__(self, owner: Any, function: ScriptFunction) -> None:
        self.owner, self.function = owner, function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.owner, *args, **kwargs)

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        return self.function.graph_for(self.owner, *args, **kwargs)

    def phases(self, *args: Any, **kwargs: Any) -> Any:
        return self.function.phases(self.owner, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """The attribute of the function: `graph`, `code`, `schema`, `inlined_graph`, ..."""
        if name in ("owner", "function"):  # not set yet: asking the function would never end
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"<internals.jit.ScriptMethod {self.function.name}>"


_making = threading.RLock()

for _class in (ScriptFunction, ScriptMethod):
    _class.__module__ = "internals.jit"  # where users find them, as in PyTorch


def schema_of_graph(name: str, graph: Graph) -> FunctionSchema:
    """The schema of a function that is given as a graph only (`defaultSchemaFor`). The arguments
    have the names of the graph's inputs.
    """
    arguments = [
        Argument(
            base_name(v.debugName()) if v.hasDebugName() else f"argument_{i}", unshaped(v.type())
        )
        for i, v in enumerate(graph.inputs())
    ]
    returns = tuple(Argument("", unshaped(v.type())) for v in graph.outputs())
    return FunctionSchema(name, "", tuple(arguments), returns)
