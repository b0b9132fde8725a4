"""The graph itself: values and their uses, names, order, blocks, copies."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import internals
from internals.jit.ir import (
    BoolType,
    ClassType,
    DeviceObjType,
    DictType,
    FloatType,
    Graph,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    Source,
    SourceRange,
    StringType,
    TensorType,
    TupleType,
    Type,
    Value,
    all_nodes,
    type_of,
    type_verbosity,
    unify_types,
    unshaped,
)
from internals.jit.ir.parser import parse_ir


def chain(length: int = 3) -> tuple[Graph, list[Value]]:
    """x, relu(x), relu(relu(x)), ..."""
    g = Graph()
    values = [g.addInput("x")]
    for _ in range(length):
        values.append(g.insert("aten::relu", [values[-1]]))
    g.registerOutput(values[-1])
    return g, values


def uses(v: Value) -> list[tuple[str, int]]:
    return [(u.user.kind(), u.offset) for u in v.uses()]


def test_a_value_knows_its_maker_and_its_users() -> None:
    g = Graph()
    x = g.addInput("x")
    y = g.insert("aten::mul", [x, x])
    g.registerOutput(y)
    assert uses(x) == [("aten::mul", 0), ("aten::mul", 1)]
    assert y.node().kind() == "aten::mul" and y.offset() == 0
    assert uses(y) == [("prim::Return", 0)]
    assert x.node().kind() == "prim::Param"


def test_replacing_all_uses() -> None:
    g, (x, a, b, c) = chain()
    b.replaceAllUsesWith(x)
    assert c.node().input() is x and not b.hasUses()
    assert uses(x) == [("aten::relu", 0), ("aten::relu", 0)]
    b.node().destroy()
    a.node().destroy()
    assert [n.kind() for n in g.nodes()] == ["aten::relu"]


def test_replacing_uses_after_a_node() -> None:
    _, (x, a, b, c) = chain()
    a.replaceAllUsesAfterNodeWith(b.node(), x)
    assert b.node().input() is a
    x.replaceAllUsesAfterNodeWith(b.node(), a)
    assert a.node().input() is x and c.node().input() is b


def test_inserting_and_removing_inputs_renumbers_the_uses() -> None:
    g = Graph()
    x, y, z = (g.addInput(n) for n in "xyz")
    n = g.appendNode(g.create("aten::cat", [x, y, x]))
    n.insertInput(1, z)
    assert [v.debugName() for v in n.inputs()] == ["x", "z", "y", "x"]
    assert sorted(u.offset for u in x.uses()) == [0, 3] and [u.offset for u in y.uses()] == [2]
    n.removeInput(0)
    assert [v.debugName() for v in n.inputs()] == ["z", "y", "x"]
    assert [u.offset for v in (z, y, x) for u in v.uses()] == [0, 1, 2]
    n.removeAllInputs()
    assert not x.hasUses() and not y.hasUses() and not z.hasUses()


def test_replacing_one_input_by_another() -> None:
    g = Graph()
    x, y = g.addInput("x"), g.addInput("y")
    n = g.appendNode(g.create("aten::addcmul", [x, y, x], num_outputs=2))
    n.replaceInputWith(x, y)
    assert n.inputs() == [y, y, y] and not x.hasUses() and [u.offset for u in y.uses()] == [1, 0, 2]
    assert (
        n.hasMultipleOutputs()
        and not g.appendNode(g.create("aten::relu", [x])).hasMultipleOutputs()
    )


def test_the_latest_owner_of_a_name_keeps_it() -> None:
    g, (x, a, b, c) = chain()
    a.setDebugName("x")
    b.setDebugName("x")
    assert [v.debugName() for v in (x, a, b)] == ["x.1", "x.3", "x"]
    c.setDebugName("x.1")
    assert [v.debugName() for v in (x, c)] == ["x.5", "x.1"]
    b.setDebugName("")
    assert b.debugName() == str(b.unique())


@pytest.mark.parametrize("name", ["12", "a b", "%x", "f(x)", "a:b"])
def test_names_that_would_not_read_back_are_refused(name: str) -> None:
    g, (x, *_) = chain()
    with pytest.raises(RuntimeError, match="Invalid name"):
        x.setDebugName(name)


@given(st.lists(st.sampled_from(["x", "y", "x.1", "x.2", "x.7", ""]), min_size=1, max_size=20))
def test_names_stay_unique_whatever_is_asked_for(names: list[str]) -> None:
    g = Graph()
    values = [g.addInput() for _ in names]
    for value, name in zip(values, names):
        value.setDebugName(name)
        assert value.debugName() == (name or str(value.unique()))
    shown = [v.debugName() for v in values]
    assert len(set(shown)) == len(shown)


def test_what_is_used_cannot_be_destroyed() -> None:
    g, (x, a, *_) = chain()
    with pytest.raises(RuntimeError, match="still used by aten::relu"):
        a.node().destroy()
    with pytest.raises(RuntimeError, match="cannot be erased"):
        g.eraseInput(0)


def test_walking_while_changing() -> None:
    g, values = chain(4)
    seen = []
    for n in g.nodes():
        seen.append(n)
        if n is values[2].node():
            n.output().replaceAllUsesWith(values[1])
            n.destroy()
    assert len(seen) == 4 and len(list(g.nodes())) == 3
    seen = []
    for n in g.nodes(reverse=True):
        seen.append(n.output().debugName())
        if len(seen) == 1:
            g.create("aten::neg", [values[0]]).insertBefore(n).output().setDebugName("new")
    assert seen[1] == "new"


def test_order_across_blocks() -> None:
    g = Graph()
    c, x = g.addInput("c").setType(BoolType.get()), g.addInput("x")
    branch = g.insertNode(g.create("prim::If", [c]))
    arms = [branch.addBlock(), branch.addBlock()]
    inner = [b.addNode("aten::neg", [x]) for b in arms]
    for b, n in zip(arms, inner):
        b.registerOutput(n.output())
    after = g.insertNode(g.create("aten::relu", [branch.output()]))
    assert inner[0].isBefore(after) and after.isAfter(inner[1]) and branch.isBefore(after)
    assert not inner[0].isBefore(branch) and not branch.isBefore(inner[0])
    after.moveBefore(branch)
    assert after.isBefore(inner[0])


def test_a_copy_is_numbered_anew_and_keeps_names() -> None:
    g, (x, a, b, c) = chain()
    b.setDebugName("b")
    b.replaceAllUsesWith(a)
    b.node().destroy()
    copy = g.copy()
    assert [v.unique() for n in copy.nodes() for v in n.outputs()] == [1, 2]
    assert str(copy) == str(copy.copy())
    assert copy.inputs()[0].debugName() == "x"
    copy.insert("aten::neg", [copy.inputs()[0]])
    assert g.findNode("aten::neg") is None


def test_inlining_a_graph() -> None:
    callee, _ = chain(2)
    g = Graph()
    x = g.addInput("x")
    (out,) = g.insertGraph(callee, [x])
    g.registerOutput(out)
    assert [n.kind() for n in g.nodes()] == ["aten::relu"] * 2
    assert len(list(callee.nodes())) == 2 and out.node().owningGraph() is g


def test_constants_come_back_as_they_went_in() -> None:
    g = Graph()
    values = [
        1,
        True,
        1.5,
        "a'b\n",
        None,
        [1, 2],
        (1, 2.5),
        internals.device("cpu"),
        False,
        [],
        float("inf"),
    ]
    values += [2 + 1j, 0.5 - 2.5j, -4j]
    for v in values:
        c = g.insertConstant(v)
        assert c.isConstant() and c.toIValue() == v and type(c.toIValue()) is type(v), v
    text = str(g)
    assert [n.output().toIValue() for n in parse_ir(text).nodes()] == [
        n.output().toIValue() for n in g.nodes()
    ]
    t = internals.tensor([1.0, 2.0])
    assert g.insertConstant(t).toIValue() is t
    for bad in (object(), internals.ones(1, requires_grad=True), [internals.ones(1)]):
        with pytest.raises(TypeError):
            g.insertConstant(bad)


def test_scopes_and_insert_points() -> None:
    g, (x, a, *_) = chain()
    with g.insert_point_guard(a.node()), g.scope_guard("__module.fc"), g.scope_guard("inner"):
        n = g.insert("aten::neg", [x]).node()
    assert n.scopeName() == "__module.fc/inner" and n.isBefore(a.node())
    assert ", scope: __module.fc/inner" in str(g)
    assert g.insertPoint() is g.return_node()


def test_attributes() -> None:
    n = Graph().create("prim::Thing")
    n.s_("name", "fc").i_("k", 3).fs_("scales", [1, 2.5]).ints_("sizes", [1, 2])
    assert n.attributeNames() == ["name", "k", "scales", "sizes"] and n.kindOf("scales") == "fs"
    assert (
        n.s("name") == "fc"
        and n.i("k") == 3
        and n.fs("scales") == [1.0, 2.5]
        and n.ints("sizes") == [1, 2]
    )
    with pytest.raises(RuntimeError, match="required keyword attribute 'missing' is undefined"):
        n.s("missing")
    with pytest.raises(RuntimeError, match="has the wrong type"):
        n.i("name")
    assert 'prim::Thing[name="fc", k=3, scales=[1., 2.5], sizes=[1, 2]]' in str(n)


def test_attributes_that_are_graphs_types_and_tensors() -> None:
    n, inner, one = Graph().create("prim::Thing"), Graph(), internals.ones(1)
    assert not n.hasAttributes()
    n.g_("Subgraph", inner).gs_("more", [inner]).t_("value", one).ts_("values", [one]).ty_(
        "type", INT
    ).tys_("types", [INT])
    assert (
        n.g("Subgraph") is inner
        and n.gs("more") == [inner]
        and n.t("value") is one
        and n.ts("values")[0] is one
    )
    assert n.ty("type") == INT and n.tys("types") == [INT]
    n.removeAttribute("type")
    assert n.hasAttributes() and not n.hasAttribute("type")


def test_new_nodes_get_the_place_and_are_walked_in_order() -> None:
    g = Graph()
    flag = g.addInput("flag").setType(BoolType.get())
    place = SourceRange(Source("x = 1\n", "f.py", 1), 0, 1)
    with g.source_range_guard(place):
        choice = g.insertNode(g.create("prim::If", [flag], num_outputs=0))
    for arm, kind in ((choice.addBlock(), "aten::relu"), (choice.addBlock(), "aten::exp")):
        arm.appendNode(g.create(kind, [flag]))
    last = g.insertNode(g.create("aten::neg", [flag]))
    assert choice.sourceRange() is place and last.sourceRange() is not place
    assert [n.kind() for n in all_nodes(g.block())] == [
        "prim::If",
        "aten::relu",
        "aten::exp",
        "aten::neg",
    ]


TENSOR, INT, FLOAT = TensorType.get(), IntType.get(), FloatType.get()
MATRIX = TensorType(internals.float32, internals.device("cpu"), (2, 3), (3, 1), False)


@pytest.mark.parametrize(
    "type, shown, annotation",
    [
        (INT, "int", "int"),
        (ListType(INT), "int[]", "List[int]"),
        (OptionalType(TENSOR), "Tensor?", "Optional[Tensor]"),
        (TupleType([INT, TENSOR]), "(int, Tensor)", "Tuple[int, Tensor]"),
        (DictType(StringType.get(), INT), "Dict(str, int)", "Dict[str, int]"),
        (NumberType.get(), "Scalar", "number"),
        (ClassType("__torch__.M"), "__torch__.M", "__torch__.M"),
    ],
)
def test_spellings(type: object, shown: str, annotation: str) -> None:
    assert str(type) == shown and repr(type) == annotation


def test_what_is_known_of_a_tensor_is_printed() -> None:
    assert MATRIX.repr_str() == "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    assert MATRIX.dimensionedOnly().repr_str() == "Float(*, *, requires_grad=0, device=cpu)"
    assert TensorType(internals.float32).repr_str() == "FloatTensor"
    with type_verbosity(1):
        assert MATRIX.repr_str() == "Float(2, 3)" and ListType(MATRIX).repr_str() == "Float(2, 3)[]"


def test_subtypes() -> None:
    for below, above in [
        (INT, NumberType.get()), (FLOAT, NumberType.get()), (INT, OptionalType(INT)),
        (NoneType.get(), OptionalType(TENSOR)), (MATRIX, TENSOR),
        (MATRIX, MATRIX.dimensionedOnly()), (TupleType([MATRIX]), TupleType([TENSOR])),
        (OptionalType(MATRIX), OptionalType(TENSOR)),
    ]:  # fmt: skip
        assert below.isSubtypeOf(above) and not above.isSubtypeOf(below), (below, above)
    for a, b in [
        (BoolType.get(), NumberType.get()),
        (ListType(MATRIX), ListType(TENSOR)),
        (INT, FLOAT),
    ]:
        assert not a.isSubtypeOf(b) and not b.isSubtypeOf(a)


def test_unification() -> None:
    assert unify_types(INT, NoneType.get()) == OptionalType(INT)
    assert unify_types(MATRIX, MATRIX.with_sizes([2, 4])) == MATRIX.with_sizes([2, None])
    assert unify_types(TupleType([INT, NoneType.get()]), TupleType([INT, INT])) == TupleType(
        [INT, OptionalType(INT)]
    )
    assert unify_types(INT, TENSOR) is None and unify_types(INT, FLOAT) is None


def test_types_of_values() -> None:
    assert type_of(True) == BoolType.get() and type_of([1, 2]) == ListType(INT)
    assert type_of({"a": (1, None)}) == DictType(StringType.get(), TupleType([INT, NoneType.get()]))
    assert type_of(internals.device("cpu")) == DeviceObjType.get()
    assert type_of([1, None]) == ListType(OptionalType(INT))
    with pytest.raises(TypeError, match="has no TorchScript type"):
        type_of(object())


def test_a_type_may_be_a_hundred_types_deep() -> None:
    deep: Type = INT
    while deep.depth < 100:
        deep = ListType(deep)
    with pytest.raises(
        RuntimeError, match="a type of 101 types inside each other; the deepest has 100"
    ):
        ListType(deep)


def test_containers_of_other_types() -> None:
    pair = TupleType([MATRIX, INT], ["m", "n"], "Pair")
    deep = OptionalType(DictType(StringType.get(), ListType(pair)))
    assert unshaped(deep) == OptionalType(
        DictType(StringType.get(), ListType(TupleType([TENSOR, INT], ["m", "n"], "Pair")))
    )
    assert unshaped(INT) is INT and INT.withContained([]) is INT
    assert (
        ListType(INT).withContained([FLOAT]) == ListType(FLOAT)
        and ListType(INT).getElementType() is INT
    )
    assert (
        deep.element.getKeyType() == StringType.get()
        and deep.element.getValueType() == ListType(pair)
    )
