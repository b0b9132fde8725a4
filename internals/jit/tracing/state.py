"""`TracingState`: the graph being recorded, and the value in it that represents each tensor
(`torch/csrc/jit/frontend/tracer.cpp`).

The main part of a trace is one dictionary, from tensors (by identity) to values of the graph. The
inputs of an operator are looked up in it, and its outputs are entered. A tensor that is not found
was made outside of the trace, and becomes a constant.

    x ──► %x            y = x * w
    y ──► %3            %1 = prim::Constant[value=<w>];  %3 = aten::mul(%x, %1)

`tracer.state` (`internals/core/tracer.py`) is this state while Python code runs under the trace. It
is None while a recorded operator runs (`paused`), so that the operators it calls are not recorded
as well.

How the real one differs: it has a stack of dictionaries, for code that is traced in a fork; and
C++ code asks it for sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from internals.core import dispatcher
from internals.core.dispatch_key import DispatchKey
from internals.core.hot import hot
from internals.core.tensor_impl import TensorImpl
from internals.core.tracer import tracer
from internals.functional.scripting import is_scripting
from internals.jit.ir import Graph, ListType, Node, TensorType, TupleType, Type, Value
from internals.jit.ir.tensor_text import tensor_text
from internals.nn import _global_hooks

from .frames import name_of, source_location
from .python_function import PythonFunctions
from .script_calls import ScriptCalls
from .sizes import Sizes
from .traceable import infer_type
from .warnings import warn

_TRACER = 1 << DispatchKey.Tracer


class TracingState(Sizes, PythonFunctions, ScriptCalls):
    """The state of one trace. With `strict`, a list as output gives a warning and a dict raises an
    error; with `force_outplace`, `add_` is recorded as `add`.

    `modules` maps each submodule of a traced module to its scope (`__module.seq.0`); None if a
    function is traced.
    """

    def __init__(
        self,
        strict: bool = True,
        force_outplace: bool = False,
        modules: Mapping[Any, str] | None = None,
    ) -> None:
        self.graph = Graph()
        self.strict, self.force_outplace, self.modules = strict, force_outplace, modules
        # id -> (tensor, value); the tensor is kept alive, so that its id is not used again
        self._values: dict[int, tuple[Any, Value]] = {}

    # From tensors to values

    def knows(self, thing: Any) -> bool:
        """Whether a value of the graph represents this tensor or module."""
        return id(thing) in self._values

    def set_value(self, thing: object, value: Value) -> None:
        """Let `value` represent this tensor or module from now on. Lists, tuples and dicts of
        tensors are unpacked by nodes.

        Raises RuntimeError for anything else.
        """
        if isinstance(thing, TensorImpl):
            # the tensor at hand gives the value its dtype, device, sizes and strides
            known = value.type()
            if isinstance(known, TensorType) and not known.isComplete():
                value.inferTypeFrom(thing)
        elif isinstance(thing, (list, tuple)):
            self._unpack(thing, value)
            return
        elif isinstance(thing, dict):
            for key, item in thing.items():
                self.set_value(
                    item,
                    self.add(
                        self.graph.create("aten::__getitem__", [value, self.constant(key)])
                    ).output(),
                )
            return
        elif not hasattr(thing, "_jit_type"):
            kind = {
                int: "Int",
                float: "Double",
                str: "String",
                bool: "Bool",
                type(None): "None",
            }.get(type(thing), "Object")
            raise RuntimeError(
                f"Tracer cannot set value trace for type {kind}. Supported types are tensor, "
                "tensor list, and tuple of tensors."
            )
        self._values[id(thing)] = thing, value

    def _unpack(self, parts: list[Any] | tuple[Any, ...], value: Value) -> None:
        """Unpack `value`, a list or tuple, by a node whose outputs represent `parts`."""
        kind = "prim::ListUnpack" if isinstance(parts, list) else "prim::TupleUnpack"
        unpack = self.graph.insertNode(self.graph.create(kind, [value], len(parts)))
        type = value.type()
        for i, (part, output) in enumerate(zip(parts, unpack.outputs())):
            if isinstance(type, TupleType):
                output.setType(type.elements[i])
            self.set_value(part, output)

    def forget(self, thing: Any) -> None:
        """Remove a tensor from the dictionary: when it is used again, it becomes a constant."""
        self._values.pop(id(thing), None)

    def value_of(self, thing: Any) -> Value:
        """The value that represents a tensor, or a tuple, list or dict of them; a constant for
        anything that the trace does not know.

        Raises RuntimeError for an unknown tensor that requires grad, for an unknown module, and for
        an object that cannot be a constant.
        """
        if isinstance(thing, TensorImpl):
            found = self._values.get(id(thing))
            if found is None:
                return self._tensor_constant(thing)
            value = found[1]
            # named only now: when it was recorded, its tensor had no variable yet
            if not value.hasDebugName():
                value.setDebugName(name_of(thing))
            return value
        if isinstance(thing, list) and all(isinstance(t, TensorImpl) for t in thing):
            return self.list_of([self.value_of(t) for t in thing], TensorType.get())
        if isinstance(thing, tuple):
            return self.tuple_of([self.value_of(t) for t in thing])
        if isinstance(thing, dict):
            pairs = [v for k, t in thing.items() for v in (self.value_of(k), self.value_of(t))]
            return self._dict_of(thing, pairs)
        if id(thing) in self._values:
            return self._values[id(thing)][1]
        if hasattr(thing, "_jit_type"):
            raise RuntimeError(
                f"Tried to trace <{thing._jit_type.qualified_name} object> but it is not part of "
                "the active trace. Modules that are called during a trace must be registered as "
                "submodules of the thing being traced."
            )
        return self.constant(thing)

    def _tensor_constant(self, t: Any) -> Value:
        """A tensor from outside of the trace, as a constant. Raises RuntimeError if it requires
        grad: a constant would get no gradient.
        """
        if t.requires_grad:
            with self.paused():
                raise RuntimeError(
                    "Cannot insert a Tensor that requires grad as a constant. Consider making it "
                    f"a parameter or input, or detaching the gradient\nTensor:\n{_shown(t)}"
                )
        with self.paused():
            constant = self.constant(t)
        return constant

    def output_value(self, thing: object, number: int) -> Value:
        """The value for a result of the traced function, the `number`-th. Raises RuntimeError for a
        tensor that the trace does not know.
        """
        if isinstance(thing, TensorImpl):
            found = self._values.get(id(thing))
            if found is None:
                with self.paused():
                    shown = _shown(thing)
                raise RuntimeError(
                    f"output {number} ({shown}) of traced region did not have observable data "
                    "dependence with trace inputs; this probably indicates your program cannot be "
                    "understood by the tracer."
                )
            return found[1]
        # a list or dict would always have as many elements as in this run
        if isinstance(thing, list):
            if self.strict:
                warn("Encountering a list at the output of the tracer" + CONTAINER)
            return self.list_of([self.output_value(t, number) for t in thing], TensorType.get())
        if isinstance(thing, tuple):
            return self.tuple_of([self.output_value(t, number) for t in thing])
        if isinstance(thing, dict):
            if self.strict:
                raise RuntimeError("Encountering a dict at the output of the tracer" + CONTAINER)
            self._check_dict(thing, number)
            pairs = [
                v
                for k, t in thing.items()
                for v in (self.value_of(k), self.output_value(t, number))
            ]
            return self._dict_of(thing, pairs)
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from "
            "traced functions"
        )

    def _check_dict(self, thing: dict[Any, Any], number: int) -> None:
        """Raises RuntimeError unless the keys are strings or tensors, and the items tensors or
        tuples of tensors.
        """
        keys_fit = all(isinstance(k, (str, TensorImpl)) for k in thing)
        tensors = [t for v in thing.values() for t in (v if isinstance(v, tuple) else (v,))]
        if not keys_fit or not all(isinstance(t, TensorImpl) for t in tensors):
            with self.paused():
                shown = ", ".join(
                    f"{k}: {_shown(v) if isinstance(v, TensorImpl) else v}"
                    for k, v in thing.items()
                )
            raise RuntimeError(
                f"output {number} ({{{shown}}}) of traced region cannot be understood by the "
                "tracer, only outputs matching dict[Union[str, Tensor], Union[Tensor, "
                "Tuple[Tensor, ...]]] can be a dictionary output of a traced function"
            )

    # Nodes

    def add(self, node: Node) -> Node:
        """Append a node to the recording, with the current line of Python as its place."""
        node.setSourceRange(source_location())
        return self.graph.insertNode(node)

    def constant(self, value: object) -> Value:
        """A new constant in the graph. Raises RuntimeError for a value that cannot be one."""
        try:
            output = self.graph.insertConstant(value)
        except TypeError:
            raise RuntimeError(
                f"Tracer cannot get value trace for type {type(value).__name__}. The below value "
                f"could not be materialized as a constant:\n{value}"
            ) from None
        if value is not None:
            output.node().setSourceRange(source_location())
        return output

    def list_of(self, values: list[Value], element: Type) -> Value:
        node = self.graph.insertNode(self.graph.create("prim::ListConstruct", values))
        return node.output().setType(ListType(element))

    def tuple_of(self, values: list[Value]) -> Value:
        node = self.graph.insertNode(self.graph.create("prim::TupleConstruct", values))
        return node.output().setType(TupleType([v.type() for v in values]))

    def _dict_of(self, thing: dict[Any, Any], pairs: list[Value]) -> Value:
        node = self.graph.insertNode(self.graph.create("prim::DictConstruct", pairs))
        return node.output().setType(infer_type(thing))

    def warn(self, message: str, callers: int = 0) -> None:
        """Give a TracerWarning; see `warnings.py`."""
        warn(message, callers)

    # Modules

    def call_module(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the `forward` of a module; that of a submodule is recorded in a block of its own
        (`Module._slow_forward`).
        """
        scope = self.modules.get(module) if self.modules is not None else None
        if not scope or hasattr(module, "_jit_type"):
            return module.forward(*args, **kwargs)
        node = self.graph.insertNode(
            self.graph.create("prim::TracedModuleForward", 0).s_("scope", scope)
        )
        with self.graph.scope_guard(scope), self.graph.insert_point_guard(node.addBlock()):
            return module.forward(*args, **kwargs)

    # Starting, pausing and resuming

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Within this context, the operators that this thread calls are recorded. Raises
        RuntimeError inside another trace.
        """
        if tracer.state is not None:
            raise RuntimeError("Tracing can't be nested")
        key = -1 - id(self)
        _global_hooks.around_calls[key] = True  # calls of modules go through `call_module`
        try:
            with hot.detour(), self.resumed():
                yield
        finally:
            del _global_hooks.around_calls[key]

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Within this context, this is the thread's state, and the dispatcher calls the Tracer key
        first.
        """
        tls = dispatcher.tls
        outer, included = tracer.state, tls.included
        tracer.state, tls.included = self, included | _TRACER
        try:
            yield
        finally:
            tracer.state, tls.included = outer, included

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within this context, nothing is recorded (`NoTracerDispatchMode`)."""
        tls = dispatcher.tls
        outer, included = tracer.state, tls.included
        tracer.state, tls.included = None, included & ~_TRACER
        try:
            yield
        finally:
            tracer.state, tls.included = outer, included


CONTAINER = (
    " might cause the trace to be incorrect, this is only valid if the container structure does "
    "not change based on the module's inputs. Consider using a constant container instead (e.g. "
    "for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely "
    "need this and know the side effects, pass strict=False to trace() to allow this behavior."
)


def _shown(t: TensorImpl) -> str:
    """A tensor as error messages show it, in C++'s format, with the Python name of its type:
    `internals.FloatTensor` for `CPUFloatType`.
    """
    text = re.sub(r"CUDA(\w+)Type", r"internals.cuda.\1Tensor", tensor_text(t))
    return re.sub(r"CPU(\w+)Type", r"internals.\1Tensor", text)


def is_tracing() -> bool:
    """Whether this thread is recording a trace. False in compiled code."""
    if is_scripting():
        return False
    else:  # not compiled: `is_scripting()` is known while compiling
        return tracer.state is not None


def get_tracing_state() -> TracingState | None:
    """The trace this thread is recording, or None (`torch._C._get_tracing_state`)."""
    return tracer.state
