"""Today's graphs in the words of 1.0.1: what the real wheel printed for the same programs, value
numbers aside.
"""

from __future__ import annotations

import re

import pytest

from internals.jit.ir import TensorType
from internals.jit.ir.parser import parse_ir

# (what PyTorch 2.13 prints, what PyTorch 1.0.1 printed)
TALK_TRACE = (
    """\
graph(%x : Float(2, 2, strides=[2, 1], requires_grad=0, device=cpu)):
  %5 : Float(requires_grad=0, device=cpu) = prim::Constant[value={2}]() # talk.py:7:0
  %6 : Device = prim::Constant[value="cpu"]() # talk.py:7:0
  %7 : int = prim::Constant[value=6]() # talk.py:7:0
  %8 : bool = prim::Constant[value=0]() # talk.py:7:0
  %9 : bool = prim::Constant[value=0]() # talk.py:7:0
  %10 : NoneType = prim::Constant()
  %11 : Float(requires_grad=0, device=cpu) = aten::to(%5, %6, %7, %8, %9, %10) # talk.py:7:0
  %12 : Float(requires_grad=0, device=cpu) = aten::detach(%11) # talk.py:7:0
  return (%12)
""",
    """\
graph(%x : Float(2, 2)) {
  %4 : Float() = prim::Constant[value={2}]()
  %5 : Device = prim::Constant[value="cpu"]()
  %6 : int = prim::Constant[value=6]()
  %7 : bool = prim::Constant[value=0]()
  %8 : bool = prim::Constant[value=0]()
  %9 : Float() = aten::to(%4, %5, %6, %7, %8)
  %10 : Float() = aten::detach(%9)
  return (%10);
}
""",
)
TALK_SCRIPT = (
    """\
graph(%x.1 : Tensor):
  %2 : NoneType = prim::Constant()
  %4 : float = prim::Constant[value=1.]()
  %9 : int = prim::Constant[value=1]()
  %10 : int = prim::Constant[value=2]()
  %3 : Tensor = aten::mean(%x.1, %2)
  %5 : Tensor = aten::gt(%3, %4)
  %7 : bool = aten::Bool(%5)
  %r : int = prim::If(%7)
    block0():
      -> (%9)
    block1():
      -> (%10)
  return (%r)
""",
    """\
graph(%x : Tensor) {
  %2 : float = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=2]()
  %1 : Tensor = aten::mean(%x)
  %3 : Tensor = aten::gt(%1, %2)
  %4 : bool = prim::Bool(%3)
  %r : int = prim::If(%4)
    block0() {
      -> (%5)
    }
    block1() {
      -> (%6)
    }
  return (%r);
}
""",
)
TALK_TRANSPOSE = (
    """\
graph(%x : Float(2, 2, strides=[2, 1], requires_grad=0, device=cpu)):
  %1 : Float(2, 2, strides=[1, 2], requires_grad=0, device=cpu) = aten::t(%x)
  %2 : Float(2, 2, strides=[2, 1], requires_grad=0, device=cpu) = aten::t(%1)
  return (%2)
""",
    """\
graph(%x : Float(2, 2)) {
  %1 : Float(2!, 2!) = aten::t(%x)
  %2 : Float(2, 2) = aten::t(%1)
  return (%2);
}
""",
)
TALK_EXECUTED = (
    """\
graph(%x : Float(*, *)):
  %3 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=1]()
  %1 : float = prim::Constant[value=1.]()
  %n : NoneType = prim::Constant()
  %4 : Float() = aten::mean(%x, %n)
  %5 : Bool() = aten::gt(%4, %1)
  %6 : bool = aten::Bool(%5)
  %r : int = prim::If(%6)
    block0():
      -> (%2)
    block1():
      -> (%3)
  return (%r)
""",
    """\
graph(%x : Float(*, *)) {
  %3 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=1]()
  %1 : float = prim::Constant[value=1]()
  %4 : Float() = aten::mean(%x)
  %5 : Byte() = aten::gt(%4, %1)
  %6 : bool = prim::Bool(%5)
  %r : int = prim::If(%6)
    block0() {
      -> (%2)
    }
    block1() {
      -> (%3)
    }
  return (%r);
}
""",
)
LOOP = (
    """\
graph(%x.1 : Tensor,
      %n.1 : int):
  %9 : int = prim::Constant[value=1]()
  %5 : bool = prim::Constant[value=1]() # opts.py:11:4
  %x : Tensor = prim::Loop(%n.1, %5, %x.1) # opts.py:11:4
    block0(%i.1 : int, %x.11 : Tensor):
      %x.5 : Tensor = aten::add(%x.11, %i.1, %9) # opts.py:12:12
      -> (%5, %x.5)
  return (%x)
""",
    """\
graph(%x.1 : Tensor
      %n : int) {
  %5 : int = prim::Constant[value=1]()
  %2 : bool = prim::Constant[value=1]()
  %x : Tensor = prim::Loop(%n, %2, %x.1)
    block0(%i : int, %4 : Tensor) {
      %x.2 : Tensor = aten::add(%4, %i, %5)
      -> (%2, %x.2)
    }
  return (%x);
}
""",
)
LSTM_CELL = (
    """\
graph(%x.1 : Tensor,
      %h.1 : Tensor,
      %w.1 : Tensor,
      %b.1 : Tensor):
  %15 : int = prim::Constant[value=2]() # opts.py:29:19
  %16 : int = prim::Constant[value=1]() # opts.py:29:22
  %6 : Tensor = aten::mm(%x.1, %w.1) # opts.py:28:22
  %9 : Tensor = aten::add(%6, %b.1, %16) # opts.py:28:22
  %10 : Tensor = aten::sigmoid(%9) # opts.py:28:8
  %12 : Tensor = aten::tanh(%h.1) # opts.py:28:37
  %g.1 : Tensor = aten::mul(%10, %12) # opts.py:28:8
  %17 : Tensor[] = aten::chunk(%g.1, %15, %16) # opts.py:29:11
  %c.1 : Tensor, %d.1 : Tensor = prim::ListUnpack(%17)
  %22 : Tensor = aten::mul(%c.1, %d.1) # opts.py:30:22
  %26 : Tensor = aten::add(%c.1, %d.1, %16) # opts.py:30:27
  %27 : Tensor[] = prim::ListConstruct(%22, %26)
  %28 : Tensor = aten::cat(%27, %16) # opts.py:30:11
  return (%28)
""",
    """\
graph(%x : Tensor
      %h : Tensor
      %w : Tensor
      %b : Tensor) {
  %10 : int = prim::Constant[value=2]()
  %11 : int = prim::Constant[value=1]()
  %4 : Tensor = aten::mm(%x, %w)
  %6 : Tensor = aten::add(%4, %b, %11)
  %7 : Tensor = aten::sigmoid(%6)
  %8 : Tensor = aten::tanh(%h)
  %g : Tensor = aten::mul(%7, %8)
  %12 : Tensor[] = aten::chunk(%g, %10, %11)
  %c : Tensor, %d : Tensor = prim::ListUnpack(%12)
  %15 : Tensor = aten::mul(%c, %d)
  %17 : Tensor = aten::add(%c, %d, %11)
  %18 : Tensor[] = prim::ListConstruct(%15, %17)
  %19 : Tensor = aten::cat(%18, %11)
  return (%19);
}
""",
)
FUSED = (
    """\
graph(%x.1 : Float(*)):
  %x.3 : Float(*) = prim::FusionGroup_0(%x.1)
  %7 : Float(*, *), %8 : Float(*, *) = prim::ConstantChunk[chunks=2, dim=1](%x.3)
  return (%x.3)
with prim::FusionGroup_0 = graph(%4 : Float(*)):
  %x.4 : Float(*) = aten::mul(%4, %4)
  %x.2 : Float(*) = aten::mul(%x.4, %x.4)
  return (%x.2)
""",
    """\
graph(%x.1 : Float(*)) {
  %x : Float(*) = prim::FusionGroup_0(%x.1)
  %7 : Float(*, *), %8 : Float(*, *) = prim::ConstantChunk[chunks=2, dim=1](%x)
  return (%x);
}
with prim::FusionGroup_0 = graph(%4 : Float(*)) {
  %x.1 : Float(*) = aten::mul(%4, %4)
  %x : Float(*) = aten::mul(%x.1, %x.1)
  return (%x);
}
""",
)


def renumbered(text: str) -> str:
    """The text with the numbers of values counted from 0 in the order they appear."""
    numbers: dict[str, str] = {}
    return re.sub(r"%(\d+)\b", lambda m: numbers.setdefault(m[0], f"%{len(numbers)}"), text)


@pytest.mark.parametrize(
    "today, then", [TALK_TRACE, TALK_SCRIPT, TALK_TRANSPOSE, TALK_EXECUTED, LOOP, LSTM_CELL, FUSED]
)
def test_graphs_of_1_0_1(today: str, then: str) -> None:
    assert renumbered(parse_ir(today, True).dump(style="1.0.1")) == renumbered(then)


def dump(body: str, inputs: str = "%x : Tensor, %n : int", result: str = "%x") -> str:
    text = parse_ir(f"graph({inputs}):\n{body}\n  return ({result})", True).dump(style="1.0.1")
    return text.partition("{\n")[2].partition("  return")[0]


@pytest.mark.parametrize(
    "today, then",
    [
        ("%a : int[] = prim::ListConstruct(%n)\n%b : int = aten::__getitem__(%a, %n)",
         "  %a : int[] = prim::ListConstruct(%n)\n  %b : int = aten::select(%a, %n)\n"),
        ("%s : str = prim::Constant[value=\"a\\\"b\\n\"]()",
         '  %s : string = prim::Constant[value="a"b\\n"]()\n'),
        ("%f : float = prim::Constant[value=3.1415926535]()",
         "  %f : float = prim::Constant[value=3.14159]()\n"),
        ("%f : float = prim::Constant[value=10000000000.]()",
         "  %f : float = prim::Constant[value=1e+10]()\n"),
        ("%z : NoneType = prim::Constant()", "  %z : None = prim::None()\n"),
        ("%b : bool = aten::Bool(%x)", "  %b : bool = prim::Bool(%x)\n"),
        ("%i : int = aten::Int(%x)", "  %i : int = prim::Int(%x)\n"),
        ("%f : float = aten::FloatImplicit(%x)", "  %f : float = prim::ImplicitTensorToNum(%x)\n"),
        ("= prim::Print(%x)", "   = prim::Print(%x)\n"),
        ("%b : Bool(2, strides=[1]) = prim::Constant[value= 1  0 [ CPUBoolType{2} ]]()",
         "  %b : Byte(2) = prim::Constant[value= 1  0 [ CPUByteType{2} ]]()\n"),
        ("%y : Tensor = ^P[inplace=0](3)(%x)", "  %y : Tensor = ^P(3)(%x)\n"),
        ("%y : Tensor = aten::relu(%x), scope: Net/Linear[fc]",
         "  %y : Tensor = aten::relu(%x), scope: Net/Linear[fc]\n"),
        ("%y : Float(3, 2, strides=[1, 3]) = aten::relu(%x)",
         "  %y : Float(3!, 2!) = aten::relu(%x)\n"),
        ("%y : Float(2, 3, strides=[6, 2]) = aten::relu(%x)",
         "  %y : Float(2, 3!) = aten::relu(%x)\n"),
        ("%y : Scalar?[] = prim::ListConstruct()", "  %y : Scalar?[] = prim::ListConstruct()\n"),
    ],
)  # fmt: skip
def test_words_of_1_0_1(today: str, then: str) -> None:
    assert dump(today) == then


def test_arguments_that_were_written_out_then() -> None:
    today = "%z : NoneType = prim::Constant()\n%y : Tensor = aten::slice(%x, %n, %n, %z, %n)"
    assert dump(today) == (
        "  %4 : int = prim::Constant[value=9223372036854775807]()\n  %y : Tensor = aten::slice(%x, "
        "%n, %n, %4, %n)\n"
    )


def test_an_argument_that_matters_is_kept() -> None:
    today = "%d : int = prim::Constant[value=7]()\n%y : Tensor = aten::mean(%x, %d)"
    assert (
        dump(today)
        == "  %d : int = prim::Constant[value=7]()\n  %y : Tensor = aten::mean(%x, %d)\n"
    )


def test_parameters_become_inputs() -> None:
    g = parse_ir("""
graph(%self.1 : __torch__.Net, %x : Float(1, 4, strides=[4, 1])):
  %fc : __torch__.Linear = prim::GetAttr[name="fc"](%self.1)
  %weight : Tensor = prim::GetAttr[name="weight"](%fc)
  %y : Float(1, 3, strides=[3, 1]) = aten::mm(%x, %weight), scope: __module.fc
  return (%y)
""")
    assert g.dump(style="1.0.1") == (
        "graph(%x : Float(1, 4)\n      %weight : Tensor) {\n"
        "  %y : Float(1, 3) = aten::mm(%x, %weight), scope: __module.fc\n  return (%y);\n}\n"
    )


def test_parameters_come_in_the_order_they_were_declared_and_once() -> None:
    g = parse_ir("""
graph(%self : __torch__.Net, %x : Tensor):
  %b : Tensor = prim::GetAttr[name="bias"](%self)
  %w : Tensor = prim::GetAttr[name="weight"](%self)
  %v : Tensor = prim::GetAttr[name="weight"](%self)
  %y : Tensor = aten::addmm(%b, %v, %w, %x, %x)
  return (%y)
""")
    for name in ("weight", "bias"):
        g.inputs()[0].type().addAttribute(name, TensorType.get(), "parameter")
    assert g.dump(style="1.0.1") == (
        "graph(%x : Tensor\n      %w : Tensor\n      %b : Tensor) {\n"
        "  %y : Tensor = aten::addmm(%b, %w, %w, %x, %x)\n  return (%y);\n}\n"
    )


def test_the_graph_itself_stays() -> None:
    g = parse_ir(TALK_SCRIPT[0])
    g.dump(style="1.0.1")
    assert str(g) == TALK_SCRIPT[0]
    with pytest.raises(ValueError, match="style is 'today' or '1.0.1'"):
        g.dump(style="0.4")
