"""The printout that shows who writes where, and who shares memory with whom."""

from __future__ import annotations

from internals.jit.ir.annotate_aliases import annotate_aliases
from internals.jit.ir.parser import parse_ir


def annotated(body: str, inputs: str = "%x : Tensor", result: str = "%x") -> list[str]:
    """The nodes' lines, blanks before comments made one."""
    text = annotate_aliases(parse_ir(f"graph({inputs}):\n{body}\n  return ({result})"))
    return [
        " # ".join(part.strip() for part in line.split("  # "))
        for line in text.split("\n")
        if " = " in line
    ]


def test_the_example_of_the_docstring() -> None:
    text = annotate_aliases.__globals__["__doc__"].split("\n\n")[1]
    lines = [line.removeprefix("    ") for line in text.split("\n")]
    plain = "\n".join(line.partition("  #")[0].replace("!", "") for line in lines)
    assert annotate_aliases(parse_ir(plain)) == "\n".join(lines) + "\n"


def test_a_graph_that_only_computes_is_printed_plainly() -> None:
    text = (
        "graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x)\n  %2 : Tensor = aten::mul(%1, %1)\n  "
        "return (%2)\n"
    )
    assert annotate_aliases(parse_ir(text)) == text


def test_a_write_through_a_view_of_a_view() -> None:
    lines = annotated(
        "%f : Tensor = aten::relu(%x)\n%a : Tensor = aten::t(%f)\n"
        "%b : Tensor = aten::t(%a)\n%c : Tensor = aten::zero_(%b)"
    )
    assert lines == [
        "%f : Tensor = aten::relu(%x)",
        "%a : Tensor = aten::t(%f) # %a may share memory with %f",
        "%b : Tensor = aten::t(%a) # %b may share memory with %a",
        "%c : Tensor = aten::zero_(%b!) # writes %b, may change %f, %a; %c may share memory with "
        "%b",
    ]


def test_arms() -> None:
    lines = annotated(
        "%r : Tensor = prim::If(%c)\n"
        "  block0():\n    %y : Tensor = aten::relu_(%x)\n    -> (%y)\n"
        "  block1():\n    %z : Tensor = aten::relu(%x)\n    -> (%z)",
        "%x : Tensor, %c : bool",
        "%r",
    )
    assert lines[0] == "%r : Tensor = prim::If(%c) # %r may share memory with %y, %z"
    assert lines[1] == "%y : Tensor = aten::relu_(%x!) # writes %x; %y may share memory with %x"
    assert lines[2] == "%z : Tensor = aten::relu(%x)"


def test_graphs_of_groups_are_kept() -> None:
    group = (
        "with prim::FusionGroup_0 = graph(%4 : Tensor):\n  %5 : Tensor = aten::relu(%4)\n  return "
        "(%5)\n"
    )
    text = "graph(%x : Tensor):\n  %1 : Tensor = prim::FusionGroup_0(%x)\n  return (%1)\n" + group
    assert annotate_aliases(parse_ir(text)).endswith(group)


def test_places_in_the_source_are_left_out() -> None:
    text = "graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x) # model.py:3:4\n  return (%1)\n"
    assert annotate_aliases(parse_ir(text)) == text.replace(" # model.py:3:4", "")
