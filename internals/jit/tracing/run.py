"""One trace: inputs in, the function run, outputs out, the graph tidied (`tracer::trace` in
`torch/csrc/jit/frontend/tracer.cpp`).

    graph inputs ◄── example inputs        the function's arguments, tuples and lists of them
                                           unpacked by nodes
    body         ◄── what the function does, as `recorder.py` writes it down
    graph outputs ◄─ what it returns

The function is really run, on the example inputs, and only this once.

How the real one differs: passes run on the graph also in between, for forks, which are left out
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import DictType, Graph, ListType, TensorType, TupleType, Type, Value
from internals.jit.operators.second_names import first_name

from .fixup_scopes import fixup_scopes
from .state import TracingState
from .traceable import check_traceable, infer_type

if TYPE_CHECKING:
    from internals.jit.script_module import ScriptModule

NO_RESULT = (
    "The traced function didn't return any values! Side-effects are not captured in traces, so it "
    "would be a no-op."
)


def record_function(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    names: Sequence[str],
    *,
    keywords: Sequence[str] = (),
    strict: bool = True,
    force_outplace: bool = False,
    module: ScriptModule | None = None,
    scopes: Mapping[Any, str] | None = None,
) -> Graph:
    """The graph of what `function(*inputs)` does. Its inputs are called `names`, as far as there
    are enough of those.

    With `keywords` the inputs are passed by name. `module` is the traced module whose method this
    becomes: it is the graph's first input, and its parameters are known as its attributes. `scopes`
    maps submodules of the original to their scopes. Raises RuntimeError for inputs and outputs that
    cannot be traced, and inside another trace."""
    state = TracingState(strict, force_outplace, scopes)
    graph = state.graph
    types = check_traceable(inputs).elements
    with state.recording():
        if module is not None:
            _gather_attributes(
                state, graph.addInput("self").setType(module._jit_type), module, "__module"
            )
        named = len(names) >= len(inputs)
        given = [
            _add_input(state, value, type, graph.addInput(names[i] if named else ""))
            for i, (value, type) in enumerate(zip(inputs, types))
        ]
        result = function(**dict(zip(keywords, given))) if keywords else function(*given)
        if result is None:
            raise RuntimeError(NO_RESULT)
        infer_type(result)
        graph.registerOutput(state.output_value(result, 1))
    fixup_scopes(graph, module)
    normalize_names(graph)
    return graph


def _add_input(state: TracingState, example: Any, type: Type, value: Value) -> Any:
    """Let `value` stand for an example input; returns the input as the function gets it."""
    graph = state.graph
    value.setType(type)
    if isinstance(example, TensorImpl):
        value.inferTypeFrom(example)
        if state.knows(example):  # the same tensor twice: to the trace they are two
            example = example.view(example._geometry.sizes)  # type: ignore[attr-defined]
        state._values[id(example)] = example, value
        return example
    if isinstance(example, tuple):
        assert isinstance(type, TupleType)
        node = graph.insertNode(graph.create("prim::TupleUnpack", [value], len(example)))
        parts = [
            _add_input(state, e, t, v) for e, t, v in zip(example, type.elements, node.outputs())
        ]
        value.setType(TupleType([v.type() for v in node.outputs()]))
        return tuple(parts)
    if isinstance(example, dict):
        assert isinstance(type, DictType)
        parts_by_key = {}
        for key, item in example.items():
            at = graph.insertConstant(key)
            element = state.add(graph.create("aten::__getitem__", [value, at])).output()
            parts_by_key[key] = _add_input(state, item, type.value, element)
        return parts_by_key
    assert isinstance(type, ListType)
    node = graph.insertNode(graph.create("prim::ListUnpack", [value], len(example)))
    return [_add_input(state, e, type.element, v) for e, v in zip(example, node.outputs())]


def _gather_attributes(
    state: TracingState, self_value: Value, module: ScriptModule, prefix: str
) -> None:
    """Let `prim::TracedAttr` nodes stand for everything a module has; `fixup_scopes` turns those in
    use into `GetAttr`s.
    """
    state.set_value(module, self_value)
    for name, attribute in module._jit_type.attributes.items():
        node = state.graph.insertNode(
            state.graph.create("prim::TracedAttr").s_("scope", f"{prefix}.{name}")
        )
        value = node.output().setType(attribute.type)
        if attribute.kind == "module":
            _gather_attributes(state, value, module._modules[name], f"{prefix}.{name}")
        elif isinstance(attribute.type, TensorType):
            members = module._parameters if attribute.kind == "parameter" else module._buffers
            if members[name] is not None:
                _add_input(state, members[name], attribute.type, value)


def normalize_names(graph: Graph) -> None:
    """Call operators by their first names: `aten::clamp` for `aten::clip` (`normalize_ops.cpp`)."""
    for node in graph.nodes():
        kind = first_name(node.kind())
        if kind == node.kind():
            continue
        new = graph.create(kind, node.inputs(), 0).insertAfter(node)
        new.copyMetadata(node)
        for v in node.outputs():
            v.replaceAllUsesWith(new.addOutput().copyMetadata(v))
        node.destroy()
