"""Graphs as text: what is printed is read back, by us and by real PyTorch, and what real PyTorch
prints is read here.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from internals.core.source_range import Source
from internals.core.token_reader import unquote
from internals.jit.ir import (
    BoolType,
    DictType,
    Graph,
    IntType,
    ListType,
    StringType,
    TensorType,
    TupleType,
)
from internals.jit.ir.parser import parse_ir
from internals.jit.ir.type_parser import parse_type

LOOP = """\
graph(%x.1 : Tensor,
      %n.1 : int):
  %5 : int = prim::Constant[value=1]() # f.py:3:12
  %2 : bool = prim::Constant[value=1]()
  %x : Tensor = prim::Loop(%n.1, %2, %x.1) # f.py:2:4
    block0(%i : int, %4 : Tensor):
      %x.2 : Tensor = aten::add(%4, %i, %5), scope: __module/__module.fc # f.py:3:8
      -> (%2, %x.2)
  return (%x)
"""

GROUPS = """\
graph(%x : Tensor):
  %4 : Tensor = prim::DifferentiableGraph_0(%x)
  %5 : Tensor = prim::FusionGroup_1(%4)
  return (%5)
with prim::DifferentiableGraph_0 = graph(%x : Tensor):
  %3 : Tensor = prim::FusionGroup_0(%x)
  return (%3)
with prim::FusionGroup_0 = graph(%x : Tensor):
  %2 : Tensor = aten::mul(%x, %x)
  return (%2)
with prim::FusionGroup_1 = graph(%9 : Float(2, strides=[1])):
  %2 : Tensor = aten::relu(%9)
  return (%2)
"""

VALUES = [
    ("int", "-5"), ("float", "1."), ("float", "-0."), ("float", "1.0000000000000001e-05"),
    ("float", "inf"), ("float", "-inf"), ("float", "nan"), ("float", "10000000000000000"),
    ("complex", "0.+1.j"), ("complex", "1.5-2.j"), ("bool", "1"),
    ("str", r'"a\"b\\c\n\t\'\r\a\b\f\v\000\177"'), ("str", r'"\303\251"'), ("Device", '"cpu"'),
    ("int[]", "[1, 2]"), ("int[]", "[]"), ("bool[]", "[True, False]"), ("float[]", "[1., 2.5]"),
    ("str[]", '["a", "b"]'), ("int[][]", "[[1], [2]]"),
    ("(int, float, str, NoneType, bool, Device)", '(1, 2.5, "a", None, True, torch.device("cpu"))'),
    ("(int)", "(1,)"), ("()", "()"), ("Dict(str, float[])", '{"a": [1.]}'),
    ("Dict(int, str)", "{}"), ("(complex, (int, int[]))", "(0.+1.j, (2, [3]))"),
]  # fmt: skip

TENSORS = [
    ("Float(requires_grad=0, device=cpu)", "{2}"), ("Long(1, 1, strides=[1, 1])", "{-3}"),
    ("Bool()", "{1}"),
    ("Double()", "{1e-05}"), ("Float()", "{nan}"), ("ComplexFloat()", "{(1+2j)}"),
    ("Float(0)", "[ CPUFloatType{0} ]"),
    ("Float(2, 2)", " 1  2  3  4 [ CPUFloatType{2,2} ]"),
    ("Float(2)", " 0.2500 -1.5000 [ CPUFloatType{2} ]"),
    ("Long(3)", " 1  2  3 [ CPULongType{3} ]"), ("Bool(2)", " 1  0 [ CPUBoolType{2} ]"),
    ("Float(2, 2, 2)", "(1,.,.) =   1  2   3  4  (2,.,.) =   5  6   7  8 [ CPUFloatType{2,2,2} ]"),
    ("Double(2)", "    inf  1.5000 [ CPUDoubleType{2} ]"),
    ("Double(2)", "nan  2 [ CPUDoubleType{2} ]"),
    ("Double(3)", "       -inf  1.0000e+10  1.0000e+00 [ CPUDoubleType{3} ]"),
    ("(Float(2), int)", "( 1  1 [ CPUFloatType{2} ], 1)"),
    ("Float(4, 5, strides=[5, 1])", "<Tensor>"),
]  # fmt: skip


def constant(type: str, value: str) -> str:
    return f"graph():\n  %0 : {type} = prim::Constant[value={value}]()\n  return (%0)\n"


@pytest.mark.parametrize("text", [LOOP, GROUPS, "graph():\n  return ()\n"])
def test_text_is_read_back_as_it_was(text: str) -> None:
    assert str(parse_ir(text)) == text


@pytest.mark.parametrize("type, value", VALUES)
def test_constants_are_read_back_as_they_were(type: str, value: str) -> None:
    assert str(parse_ir(constant(type, value))) == constant(type, value)


@pytest.mark.parametrize("type, value", TENSORS)
def test_tensors_are_read_when_asked_for(type: str, value: str) -> None:
    if value != "{(1+2j)}":
        assert str(parse_ir(constant(type, value), parse_tensor_constants=True)) == constant(
            type, value
        )
    with pytest.raises(RuntimeError, match="but `parse_tensor_constants` is set to false"):
        parse_ir(constant(type, value))


def test_values_of_constants() -> None:
    read = {t: parse_ir(constant(t, v)).outputs()[0].toIValue() for t, v in VALUES}
    assert read["bool"] is True and read["bool[]"] == [True, False]
    assert read["float"] == 1e16 and isinstance(read["float"], float)
    assert read["Dict(str, float[])"] == {"a": [1.0]}
    assert read["(complex, (int, int[]))"] == (1j, (2, [3]))
    matrix = (
        parse_ir(constant("Float(2, 2, strides=[1, 2])", " 1  2  3  4 [ CPUFloatType{2,2} ]"), True)
        .outputs()[0]
        .toIValue()
    )
    assert matrix.tolist() == [[1, 2], [3, 4]] and matrix.stride() == (1, 2)


def test_places_and_scopes_are_kept() -> None:
    add = parse_ir(LOOP).findNode("aten::add")
    assert add.sourceRange().file_line_col() == ("f.py", 3, 8)
    assert add.scopeName() == "__module/__module.fc"


def test_class_types_of_one_name_are_one_type() -> None:
    g = parse_ir("graph(%a : __torch__.M, %b : __torch__.M):\n  return (%a)\n")
    assert g.inputs()[0].type() is g.inputs()[1].type()


def test_shorthand() -> None:
    g = parse_ir("graph(%a, %b):\n%c = aten::add(%a, %b)\nprim::Print(%c)\nreturn (%c)")
    assert [n.kind() for n in g.nodes()] == ["aten::add", "prim::Print"]
    assert g.inputs()[0].type() == TensorType.get()


@pytest.mark.parametrize(
    "text, message, line, marked",
    [
        ("graph(%a : Tensor):\n  %b : Tensor = aten::relu(%zz)\n  return (%b)",
         "find a variable with name 'zz'", 2, "%zz"),
        ("graph(%a : Tensor):\n  %b : Tensor = relu(%a)\n  return (%b)",
         "expected : but found '(' here", 2, "("),
        ("graph(%a : Foo):\n  return (%a)", "unknown type specifier", 1, "Foo"),
        ("graph(%a : Float(2, foo=3)):\n  return (%a)", "Unexpected specifier 'foo'", 1, "foo"),
        ("def (%a):\n  return (%a)", "expected graph but found 'ident' here", 1, "def"),
        ("graph(%a : int):\n  return (%a)\njunk",
         "expected the end of the text but found 'ident' here", 3, "junk"),
        ("graph():\n  %a : str = prim::Constant[value=\"a]()\n",
         "expected a valid token but found '\"' here", 2, '"'),
        ("graph():\n  %a : int = prim::Constant[value=]()\n", "Could not parse literal", 2, "]"),
        ("graph(%c : bool):\n  %2 : int = prim::If(%c)\n"
         "    block0():\n      %q : int = a::b()\n      -> (%q)\n"
         "    block1():\n      -> (%q)\n  return (%2)",
         "Cannot find a variable with name 'q'", 7, "%q"),
    ],
)  # fmt: skip
def test_errors_show_the_place(text: str, message: str, line: int, marked: str) -> None:
    with pytest.raises(RuntimeError) as raised:
        parse_ir(text)
    shown = str(raised.value)
    assert message in shown and f"line {line}\n" in shown
    source_line, underlined = next(
        pair for pair in zip(shown.split("\n"), shown.split("\n")[1:]) if "<--- HERE" in pair[1]
    )
    start = underlined.index("~")
    assert source_line[start : start + len(marked)] == marked and underlined.count("~") == len(
        marked
    )


@pytest.mark.parametrize("text", ["é", 'a"b', "\\", "\n\t\r\0", "日本", "x" * 100])
def test_strings_survive(text: str) -> None:
    g = Graph()
    g.registerOutput(g.insertConstant(text))
    assert parse_ir(str(g)).outputs()[0].toIValue() == text


def test_what_real_pytorch_makes_of_letters_beyond_ascii_is_read() -> None:
    assert unquote(r'"\0)+\/.)"') == "é"  # digits of negative chars: a fault of its printer


simple_types = st.sampled_from(
    [
        "int",
        "float",
        "bool",
        "str",
        "Tensor",
        "Float(2, *)",
        "Long(1, 2, strides=[2, 1])",
        "NoneType",
    ]
)
types = st.recursive(
    simple_types,
    lambda inner: st.one_of(
        inner.map(lambda t: f"{t}[]"),
        inner.filter(lambda t: not t.endswith("?") and t != "NoneType").map(lambda t: f"{t}?"),
        st.lists(inner, max_size=3).map(lambda ts: f"({', '.join(ts)})"),
        inner.map(lambda t: f"Future[{t}]"),
    ),
    max_leaves=6,
)


@given(types)
def test_types_are_read_back_as_they_were(text: str) -> None:
    assert parse_type(text).repr_str() == text


def test_types_of_schemas() -> None:
    assert parse_type("Dict(str, int[])", in_graph=False) == DictType(
        StringType.get(), ListType(IntType.get())
    )
    assert parse_type("(Tensor, bool)") == TupleType([TensorType.get(), BoolType.get()])
    assert (
        parse_type("Tensor(*)").dim() == 1 and parse_type("Tensor(*)", in_graph=False).dim() is None
    )


numbers = st.one_of(
    st.integers(-9, 9), st.floats(allow_nan=False), st.booleans(), st.text(max_size=3), st.none()
)
constants = st.one_of(
    numbers,
    st.lists(st.integers(-9, 9), min_size=1, max_size=3),
    st.tuples(numbers, st.floats(allow_nan=False)),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Random graphs: tensors added and multiplied, constants of every type, Ifs and Loops in each
    other.
    """
    g = Graph()
    tensors = [
        g.addInput(draw(st.sampled_from(["", "x", "x.1", "self.w"])))
        for _ in range(draw(st.integers(1, 3)))
    ]

    def fill(tensors: list, depth: int) -> None:
        for _ in range(draw(st.integers(0, 4))):
            what = draw(
                st.sampled_from(
                    ["op", "op", "constant", "if", "loop"] if depth < 2 else ["op", "constant"]
                )
            )
            if what == "constant":
                g.insertConstant(draw(constants))
            elif what == "op":
                a, b = (draw(st.sampled_from(tensors)) for _ in range(2))
                node = g.insertNode(
                    g.create(draw(st.sampled_from(["aten::matmul", "aten::atan2"])), [a, b])
                )
                node.setScope(draw(st.sampled_from(["", "__module.fc", "__module/__module.fc"])))
                tensors.append(
                    node.output().setDebugName(draw(st.sampled_from(["", "", "y", "y.3", "_z"])))
                )
            else:
                condition = g.insertConstant(draw(st.booleans()))
                inputs = (
                    [condition] if what == "if" else [g.insertConstant(3), condition, tensors[0]]
                )
                node = g.insertNode(g.create(f"prim::{what.title()}", inputs))
                for _ in range(2 if what == "if" else 1):
                    block = node.addBlock()
                    inside = list(tensors)
                    if what == "loop":
                        block.addInput("i").setType(IntType.get())
                        inside.append(block.addInput())
                        block.registerOutput(condition)
                    with g.insert_point_guard(block):
                        fill(inside, depth + 1)
                    block.registerOutput(inside[-1])
                tensors.append(node.output())

    fill(tensors, 0)
    g.registerOutput(draw(st.sampled_from(tensors)))
    return g


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_generated_graphs_are_read_back_as_they_were(g: Graph) -> None:
    assert str(parse_ir(str(g))) == str(g)
    assert str(parse_ir(str(g.copy()))) == str(g.copy())


@pytest.mark.parametrize(
    "text",
    ["graph():\n  %0 : int = prim::Constant[value=-5](#  return (%0)\n", "graph():\n", "graph"],
)
def test_a_text_that_ends_too_early_is_marked_at_its_end(text: str) -> None:
    with pytest.raises(RuntimeError, match="HERE"):
        parse_ir(text)


def test_as_many_strides_as_sizes() -> None:
    with pytest.raises(RuntimeError, match="as many strides as sizes but found 2 for 1") as refused:
        parse_ir("graph(%x : Float(45, strides=[5, 1])):\n  return (%x)\n")
    assert "HERE" in str(refused.value)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([LOOP, GROUPS, *(constant(*v) for v in VALUES + TENSORS)]), st.data())
def test_a_damaged_text_is_read_or_refused_but_never_breaks_the_reader(
    text: str, data: st.DataObject
) -> None:
    at, cut = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 4))
    put = data.draw(st.text("%()[]{}<>=:,.-#\"'\\ \n019aT|!?*+^@é", max_size=2))
    try:
        parse_ir(text[:at] + put + text[at + cut :], parse_tensor_constants=True)
    except RuntimeError as refused:
        assert "HERE" in str(refused) or "Invalid name" in str(refused) or "device" in str(refused)


def test_a_line_begins_after_the_break_before_it() -> None:
    source = Source("\nab\nc")
    assert [source.start_of_line(offset) for offset in range(5)] == [0, 1, 1, 1, 4]
