"""One trace, from the example inputs to the finished graph (`tracer::trace` in
`torch/csrc/jit/frontend/tracer.cpp`).

    graph inputs ◄── example inputs        the function's arguments; tuples, lists and dicts among
                                           them are unpacked by nodes
    body         ◄── the operators that the function calls, as `recorder.py` records them
    graph outputs ◄─ the function's results

The function is run once, on the example inputs. Afterwards passes tidy the graph.

How the real one differs: it also has passes for forks, which are not traced here.
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
    """The graph of the operators that `function(*inputs)` calls. Its inputs are called `names`, if
    there are enough of these.

    With `keywords` the inputs are passed by name. `module` is the traced module whose method this
    becomes: it is the graph's first input, and its parameters are recorded as attributes. `scopes`
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
        infer_type(result)  # raises RuntimeError for a result that cannot be traced
        graph.registerOutput(state.output_value(result, 1))
    fixup_scopes(graph, module)
    normalize_names(graph)
    return graph


def _add_input(state: TracingState, example: Any, type: Type, value: Value) -> Any:
    """Let `value` represent an example input. Tuples, lists and dicts are unpacked by nodes, whose
    outputs represent the elements. Returns the input to pass to the function.
    """
    graph = state.graph
    value.setType(type)
    if isinstance(example, TensorImpl):
        value.inferTypeFrom(example)
        if state.knows(example):  # the same tensor twice: a view makes it two, with two values
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
    """Add a `prim::TracedAttr` node for each attribute of a module and its submodules, which
    represents the parameter or buffer. `fixup_scopes` turns those in use into `GetAttr`s.
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
    """Rename operators to their first names: `aten::clip` to `aten::clamp`
    (`normalize_ops.cpp`).
    """
    for node in graph.nodes():
        kind = first_name(node.kind())
        if kind == node.kind():
            continue
        new = graph.create(kind, node.inputs(), 0).insertAfter(node)
        new.copyMetadata(node)
        for v in node.outputs():
            v.replaceAllUsesWith(new.addOutput().copyMetadata(v))
        node.destroy()
