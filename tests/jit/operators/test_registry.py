"""The registry: operators by name and by node, those of the dispatcher and of libraries
included.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals._generated import ops
from internals.jit.ir import Graph, IntType, ListType, OptionalType, TensorType, Type
from internals.jit.ir.type_parser import parse_type
from internals.jit.operators import (
    all_operators,
    find_operator,
    find_operators,
    operator_for,
    register_operator,
)
from internals.jit.operators.registry import _registry
from internals.library import Library
from tests.answers import answer


def overload(symbol: str, *types: str) -> str | None:
    """The overload that a node with inputs of these types is a call of."""
    graph = Graph()
    node = graph.create(symbol, [graph.addInput().setType(parse_type(t)) for t in types])
    operator = node.operator()
    return operator.name if operator else None


def test_the_dispatchers_operators_are_there_and_not_wrapped() -> None:
    operator = find_operator("aten::add.Tensor")
    assert operator.fn is ops.add_Tensor
    assert (
        str(operator.schema)
        == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    )
    assert operator.handle is not None and operator.handle.name == operator.name
    assert find_operator("aten::relu").fn is ops.relu


def test_every_operator_can_be_parsed_and_called() -> None:
    for operator in all_operators():
        assert callable(operator.fn) and operator.schema.operator_name == operator.name


def test_find() -> None:
    assert find_operators("aten::no_such_thing") == []
    names = [o.name for o in find_operators("aten::add")]
    assert names[:2] == ["aten::add.Tensor", "aten::add.Scalar"] and names[-1] == "aten::add"
    with pytest.raises(
        RuntimeError,
        match=r"Could not find schema for aten::add.nope; the overloads are aten::add.Tensor",
    ):
        find_operator("aten::add.nope")
    with pytest.raises(RuntimeError, match="Could not find schema for aten::nope$"):
        find_operator("aten::nope")


def test_order_is_pytorchs() -> None:
    def overloads(torch: Any) -> dict[str, list[str]]:
        symbols = sorted(
            {
                s.name
                for s in torch._C._jit_get_all_schemas()
                if s.name.startswith(("aten::", "prim::"))
            }
        )
        found = {symbol: torch._C._jit_get_schemas_for_operator(symbol) for symbol in symbols}
        return {
            k: [s.name + ("." * bool(s.overload_name)) + s.overload_name for s in v]
            for k, v in found.items()
        }

    theirs = answer(overloads, family="jit")
    symbols = {o.schema.name for o in all_operators()} & set(theirs)
    assert len(symbols) > 900
    for symbol in symbols:
        ours, real = [o.name for o in find_operators(symbol)], theirs[symbol]
        assert [n for n in ours if n in real] == [n for n in real if n in ours]


@pytest.mark.parametrize(
    ("symbol", "types", "expected"),
    [
        ("aten::add", ["Tensor", "Tensor", "int"], "aten::add.Tensor"),
        ("aten::add", ["Float(2, 3)", "int", "int"], "aten::add.Scalar"),
        ("aten::add", ["int", "int"], "aten::add.int"),
        ("aten::add", ["int", "float"], "aten::add.int_float"),
        ("aten::add", ["Scalar", "int"], "aten::add"),
        ("aten::add", ["str", "str"], "aten::add.str"),
        ("aten::add", ["int[]", "int[]"], "aten::add.t"),
        ("aten::add", ["int[]", "str[]"], None),
        ("aten::add", ["Tensor", "Tensor"], None),
        ("aten::__getitem__", ["Dict(str, int)", "str"], "aten::__getitem__.Dict_str"),
        ("aten::__getitem__", ["Tensor[]", "int"], "aten::__getitem__.t"),
        ("aten::index", ["Tensor", "Tensor?[]"], "aten::index.Tensor"),
        ("aten::index", ["Tensor", "Tensor[]"], "aten::index.Tensor_hacked_twin"),
        ("aten::size", ["Tensor"], "aten::size"),
        ("aten::size", ["Tensor", "int"], "aten::size.int"),
        ("aten::format", ["str", "int", "Tensor"], "aten::format"),
        ("aten::_unwrap_optional", ["int?"], "aten::_unwrap_optional"),
        ("aten::__is__", ["Tensor?", "NoneType"], "aten::__is__"),
        ("aten::to", ["Tensor", "int", "bool", "bool", "NoneType"], "aten::to.dtype"),
        ("prim::If", ["bool"], None),
    ],
)
def test_the_overload_follows_from_the_types(
    symbol: str, types: list[str], expected: str | None
) -> None:
    assert overload(symbol, *types) == expected


def test_the_answer_changes_with_the_types() -> None:
    graph = Graph()
    a = graph.addInput().setType(IntType.get())
    node = graph.insertNode(graph.create("aten::neg", [a]))
    assert node.operator() is find_operator("aten::neg.int")
    a.setType(TensorType.get())
    assert node.operator() is find_operator("aten::neg") is operator_for(node)
    node.addInput(a)
    assert node.operator() is find_operator("aten::neg.out")
    node.addInput(a)
    assert node.operator() is None


def test_graph_insert_types_its_output() -> None:
    graph = Graph()
    x = graph.addInput("x")
    assert graph.insert("aten::size", [x]).type() == ListType(IntType.get())


def test_numbers_become_objects_at_the_door() -> None:
    x = internals.ones(2, dtype=internals.float32)
    assert find_operator("aten::to.dtype").fn(x, 7, False, False, None).dtype is internals.float64
    made = find_operator("aten::empty.memory_format").fn([1, 2, 3, 4], 3, 0, None, None, 2)
    assert made.dtype is internals.int32 and made.is_contiguous(
        memory_format=internals.channels_last
    )
    assert find_operator("aten::sum").fn(x, None).item() == 2


def test_a_list_of_tensors_is_a_list() -> None:
    pieces = find_operator("aten::split.Tensor").fn(internals.ones(4), 2, 0)
    assert type(pieces) is list and len(pieces) == 2


def test_operators_of_libraries_come_and_go() -> None:
    assert find_operators("jit_demo::triple") == []
    with Library("jit_demo", "DEF") as library:
        library.define("triple(Tensor x, *, ScalarType? dtype=None) -> Tensor")
        library.impl("triple", lambda x, dtype: (x * 3).to(dtype or x.dtype), "CPU")
        assert overload("jit_demo::triple", "Tensor", "int") == "jit_demo::triple"
        assert find_operator("jit_demo::triple").fn(internals.ones(1), 7).dtype is internals.float64
    assert find_operators("jit_demo::triple") == []
    assert overload("jit_demo::triple", "Tensor", "int") is None


def test_a_kernel_that_was_replaced_runs() -> None:
    relu = find_operator("aten::relu").fn
    with Library("aten", "IMPL") as library:
        with pytest.warns(UserWarning, match="Overriding"):
            library.impl("relu", lambda x: x + 100, "CPU")
        assert relu(internals.zeros(1)).item() == 100
    assert relu(internals.zeros(1)).item() == 0


def test_register() -> None:
    operator = register_operator("jit_test::twice(int a) -> int", lambda a: 2 * a)
    try:
        assert find_operator("jit_test::twice") is operator and operator.fn(4) == 8
        with pytest.raises(RuntimeError, match="same name and overload name multiple times"):
            register_operator("jit_test::twice(int a) -> int", lambda a: a)
    finally:
        del _registry.jit_only["jit_test::twice"]
        _registry.forget()
    assert find_operators("jit_test::twice") == []


def test_an_optional_is_no_value() -> None:
    graph = Graph()
    maybe: Type = OptionalType(IntType.get())
    node = graph.create("aten::neg", [graph.addInput().setType(maybe)])
    assert node.operator() is None


def test_properties() -> None:
    graph = Graph()
    x = graph.addInput("x")
    p, on, off = graph.insertConstant(0.5), graph.insertConstant(True), graph.insertConstant(False)
    assert graph.create("aten::dropout", [x, p, on]).isNondeterministic()
    assert not graph.create("aten::dropout", [x, p, off]).isNondeterministic()
    assert not graph.create("aten::relu", [x]).isNondeterministic()
    assert (
        graph.create("prim::Print", [x], 0).hasSideEffects()
        and not graph.create("aten::relu", [x]).hasSideEffects()
    )
    assert graph.create("aten::relu_", [x]).schema().is_mutable  # type: ignore[union-attr]


def test_nondeterminism_is_pytorchs() -> None:
    """By the tag of the operators there."""
    names = sorted(
        o.name for o in all_operators() if o.handle is not None and o.name.startswith("aten::")
    )

    def is_nondeterministic(torch: Any, operator: str) -> bool | None:
        name, _, overload_name = operator.removeprefix("aten::").partition(".")
        packet = getattr(torch.ops.aten, name, None)
        if (overload_name or "default") not in packet.overloads():
            return None
        return torch.Tag.nondeterministic_seeded in getattr(packet, overload_name or "default").tags

    theirs = answer(
        lambda torch: [is_nondeterministic(torch, name) for name in names],
        about=names,
        family="jit",
    )
    for name, real in zip(names, theirs, strict=True):
        node = Graph().create(name.partition(".")[0], [])
        assert real is None or node.isNondeterministic() == real, name
