"""Graphs as Python source, beside `.code` of real PyTorch for the same graphs, and by hand where it
is not installed.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

import pytest

import internals
from internals.jit.ir import FunctionType, Graph, TensorType, TupleType
from internals.jit.ir.parser import parse_ir
from internals.jit.python_print import PythonPrinter
from internals.jit.schema_parser import parse_schema
from tests.answers import answer
from tests.jit.ir.ir_sources import PROGRAMS, compiled
from tests.jit.sources import define, place_free


def code(text: str, name: str = "f", **options: Any) -> str:
    printer = PythonPrinter()
    printer.function(name, parse_ir(text, parse_tensor_constants=True), **options)
    return printer.text()


# Side by side


class Callee:
    def __init__(self, qualified_name: str) -> None:
        self.qualified_name = qualified_name


def parts(theirs: Any) -> tuple[Any, ...]:
    """Of a function of real PyTorch: name, graph, the names of the functions it calls, which that
    leaves out; schema, code.
    """
    constants = [n.output() for n in theirs.graph.findAllNodes("prim::Constant")]
    names = {
        c.debugName(): place_free(c.type().annotation_str)
        for c in constants
        if c.type().kind() == "FunctionType"
    }
    return (
        theirs.name,
        place_free(str(theirs.graph)),
        names,
        str(theirs.schema),
        place_free(theirs.code),
    )


def read(graph: str, names: dict[str, str]) -> Graph:
    g = parse_ir(graph, parse_tensor_constants=True)
    for node in g.findAllNodes("prim::Constant"):
        if isinstance(node.output().type(), FunctionType):
            node.output().setType(FunctionType(Callee(names[node.output().debugName()])))
    return g


def assert_same_code(functions: Callable[[Any], list[Any]], is_method: bool = False) -> None:
    """Of each function that real PyTorch made: its code is what we print of its graph."""

    def essence(said: list[Any]) -> list[Any]:
        # the numbers of values count what was compiled before
        return [(place_free(name), place_free(schema)) for name, _, _, schema, _ in said]

    said = answer(lambda torch: list(map(parts, functions(torch))), family="jit", essence=essence)
    for name, graph, names, schema, theirs in said:
        printer = PythonPrinter()
        printer.function(name, read(graph, names), parse_schema(schema), first_type=not is_method)
        assert printer.text() == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_functions(name: str) -> None:
    assert_same_code(lambda torch: [compiled(torch, name)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    ["cross_entropy", "dropout", "elu", "embedding", "group_norm", "huber_loss", "instance_norm",
     "layer_norm", "mse_loss", "multi_head_attention_forward", "nll_loss", "normalize", "pad",
     "relu", "softmax", "triplet_margin_loss"],
)  # fmt: skip
def test_functions_of_nn(name: str) -> None:
    assert_same_code(lambda torch: [torch.jit.script(getattr(torch.nn.functional, name))])


@pytest.mark.filterwarnings("ignore")
def test_methods_of_modules() -> None:
    def methods(torch: Any) -> list[Any]:
        nn = torch.nn
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(1, 2, 3),
            nn.BatchNorm2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32, 4),
            nn.LayerNorm(4),
        )
        traced = torch.jit.trace(net.eval(), torch.ones(1, 1, 6, 6), check_trace=False)
        modules = [*torch.jit.script(net).modules(), *traced.modules()]
        return [
            module._c._get_method(name) for module in modules for name in module._c._method_names()
        ]

    assert_same_code(methods, is_method=True)


@pytest.mark.filterwarnings("ignore")
def test_traces() -> None:
    def traced(torch: Any) -> list[Any]:
        def f(x: Any, y: Any) -> Any:
            y = y.clone()
            y[0] = 2
            return (x + y).view(x.size(0), -1) * torch.tensor([1.0, 2.0]), {"a": x}

        return [torch.jit.trace(f, (torch.ones(2, 2), torch.ones(2, 2)), strict=False)]

    assert_same_code(traced)


# By hand


def test_expressions_are_written_inside_each_other_in_the_order_they_run() -> None:
    assert (
        code("""
graph(%x : Tensor, %y : Tensor):
  %1 : Tensor = aten::t(%x)
  %2 : Tensor = aten::relu(%y)
  %3 : Tensor = aten::mul(%1, %2)
  return (%3)""")
        == "def f(x: Tensor,\n    y: Tensor) -> Tensor:\n"
        "  return torch.mul(torch.t(x), torch.relu(y))\n"
    )
    assert code("""
graph(%x : Tensor, %y : Tensor):
  %2 : Tensor = aten::relu_(%y)
  %1 : Tensor = aten::t(%x)
  %3 : Tensor = aten::mul(%1, %2)
  return (%3)""") == (
        "def f(x: Tensor,\n    y: Tensor) -> Tensor:\n  _0 = torch.relu_(y)\n  return "
        "torch.mul(torch.t(x), _0)\n"
    )


def test_what_comes_before_a_long_expression_gets_a_line_as_well() -> None:
    assert code("""
graph(%x : Tensor, %a_rather_long_name : Tensor):
  %1 : Tensor = aten::relu_(%x)
  %2 : Tensor = aten::matmul(%a_rather_long_name, %a_rather_long_name)
  %3 : Tensor = aten::mul(%1, %2)
  return (%3)""").split("\n")[2:-1] == [
        "  _0 = torch.relu_(x)",
        "  _1 = torch.matmul(a_rather_long_name, a_rather_long_name)",
        "  return torch.mul(_0, _1)",
    ]


def test_default_arguments_at_the_end_are_left_out_and_keywords_kept() -> None:
    text = """
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %float : float = prim::Constant[value=1.]()
  %1 : Tensor = aten::add(%x, %x, %one)
  %2 : Tensor = aten::add(%x, %x, %two)
  %3 : Tensor = aten::add(%x, %x, %float)
  %4 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%1, %2, %3)
  return (%4)"""
    assert "(torch.add(x, x), torch.add(x, x, alpha=2), torch.add(x, x, alpha=1.))" in code(text)


def test_constants_without_a_literal_are_in_a_table() -> None:
    g = Graph()
    x = g.addInput("x")
    for value in (internals.ones(2), internals.ones(2), internals.zeros(2), "é", "e"):
        v = g.insertConstant(value)
        g.insertNode(g.create("prim::Print", [x, v], 0))
    printer = PythonPrinter()
    printer.function("f", g)
    assert [line.strip() for line in printer.lines[1:]] == [
        "print(x, CONSTANTS.c0)", "print(x, CONSTANTS.c0)", "print(x, CONSTANTS.c1)",
        "print(x, CONSTANTS.c2)", 'print(x, "e")',
    ]  # fmt: skip
    assert len(printer.constants) == 3 and printer.constants[2] == "é"


@pytest.mark.parametrize(
    "value, shown",
    [(True, "True"), (None, "None"), (1.0, "1."), (1e-5, "1.0000000000000001e-05"),
     (float("-inf"), "-inf"), (2j, "0.+2.j"), ("a\n'", r'"a\n\'"'),
     (internals.device("cpu"), 'torch.device("cpu")'), ([1, 2], "[1, 2]"),
     ((1, (2.5,)), "(1, (2.5,))"), ([], "annotate(List[Tensor], [])"), ([True], "[True]")],
)  # fmt: skip
def test_literals(value: Any, shown: str) -> None:
    assert PythonPrinter().expressions.literal(value) == shown


def test_attributes_methods_and_functions() -> None:
    assert code("""
graph(%self.1 : __torch__.Net, %x.1 : Tensor):
  %g : Function = prim::Constant[name="g"]()
  %1 : __torch__.Fc = prim::GetAttr[name="0"](%self.1)
  %2 : Tensor = prim::CallMethod[name="forward"](%1, %x.1)
  = prim::SetAttr[name="seen"](%self.1, %2)
  %3 : Tensor = prim::CallFunction(%g, %2)
  return (%3)""", "forward", first_type=False) == (
        'def forward(self,\n    x: Tensor) -> Tensor:\n  _0 = (getattr(self, "0")).forward(x, )\n'
        "  self.seen = _0\n  return g(_0, )\n"
    )  # fmt: skip


def test_names_are_made_valid_and_unique() -> None:
    assert code("""
graph(%lambda.1 : Tensor, %x.1 : Tensor):
  %x.2 : Tensor = aten::relu(%x.1)
  %fc.weight : Tensor = aten::mm(%x.2, %x.1)
  %3 : Tensor = aten::mul(%fc.weight, %lambda.1)
  %x : Tensor = aten::mul(%3, %x.2)
  %5 : Tensor = aten::mul(%x, %x)
  return (%5)""").split("\n")[:-1] == [
        "def f(lambda0: Tensor,",
        "    x: Tensor) -> Tensor:",
        "  x0 = torch.relu(x)",
        "  fc_weight = torch.mm(x0, x)",
        "  x1 = torch.mul(torch.mul(fc_weight, lambda0), x0)",
        "  return torch.mul(x1, x1)",
    ]


def test_a_named_tuple_is_called_by_its_name() -> None:
    g = parse_ir("graph(%x : Tensor):\n  %1 : (Tensor) = prim::TupleConstruct(%x)\n  return (%1)")
    g.outputs()[0].setType(TupleType([TensorType.get()], ["first"], "__torch__.Pair"))
    printer = PythonPrinter()
    printer.function("f", g)
    assert printer.text() == "def f(x: Tensor) -> __torch__.Pair:\n  return __torch__.Pair(x,)\n"


def test_a_with_statement() -> None:
    assert code("""
graph(%guard : __torch__.Guard, %x : Tensor):
  %1 : Tensor = prim::Enter(%guard)
  = prim::Print(%1)
  %2 : Tensor = prim::Exit(%guard)
  %3 : NoneType = prim::Enter(%guard)
  %4 : Tensor = prim::Exit(%guard)
  return (%x)""").split("\n")[2:-1] == [
        "  with guard as _0:",
        "    print(_0)",
        "  with guard:",
        "    pass",
        "  return x",
    ]


def test_a_loop_with_count_and_condition_is_refused() -> None:
    with pytest.raises(RuntimeError, match="loop cannot be printed as python"):
        code("""
graph(%n : int, %c : bool):
  = prim::Loop(%n, %c)
    block0(%i : int):
      -> (%c)
  return (%n)""")


def test_functions_printed_together_share_names_of_temporaries_and_constants() -> None:
    text = (
        "graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x)\n  %2 : Tensor = aten::mul(%1, %1)\n  "
        "return (%2)"
    )
    printer = PythonPrinter()
    printer.function("f", parse_ir(text))
    printer.function("g", parse_ir(text))
    assert "  _0 = torch.relu(x)\n" in printer.text() and "  _1 = torch.relu(x)\n" in printer.text()


def test_a_very_long_chain_of_calls() -> None:
    lines = "".join(f"  %{i + 1} : Tensor = aten::relu(%{i})\n" for i in range(3000))
    text = code(f"graph(%0 : Tensor):\n{lines}  return (%3000)\n")
    assert text.count("torch.relu(") == 3000 and text.startswith(
        "def f(argument_0: Tensor) -> Tensor:\n  _0 = torch.relu("
    )


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("isinstance", "fork")])
def test_what_we_compile_is_printed_as_what_they_compile(name: str) -> None:
    names = {n: getattr(typing, n) for n in ("Any", "Dict", "List", "Optional", "Tuple")}

    def printed(torch: Any) -> str:
        return place_free(
            torch.jit.script(define(PROGRAMS[name], torch=torch, Tensor=torch.Tensor, **names)).code
        )

    assert printed(internals) == answer(printed, about=PROGRAMS[name], family="jit")
