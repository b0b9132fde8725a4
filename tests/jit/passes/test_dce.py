"""Dead code elimination: what goes, and what must stay."""

from __future__ import annotations

import pytest

from internals.jit.passes import run_pass
from tests.jit.passes.pass_support import by_torch, canonical, check, check_unchanged, parsed


def test_what_nobody_uses_goes_with_all_it_needed() -> None:
    check(
        "dce",
        """graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %x, %one)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::tanh(%x)
  return (%c)
""",
        """graph(%x : Tensor):
  %c : Tensor = aten::tanh(%x)
  return (%c)
""",
    )


@pytest.mark.parametrize(
    "line",
    [
        '%s : str = prim::Constant[value="hi"]()\n  prim::Print(%s)',
        "%a : Tensor = aten::relu_(%x)",
        "%v : Tensor = aten::t(%x)\n  %a : Tensor = aten::relu_(%v)",
        "%l : Tensor[] = aten::append(%list, %x)",
    ],
    ids=[
        "print",
        "write to an argument",
        "write to a view of an argument",
        "append to an argument",
    ],
)
def test_what_the_caller_sees_stays(line: str) -> None:
    check_unchanged("dce", f"graph(%x : Tensor, %list : Tensor[]):\n  {line}\n  return (%list)\n")


def test_a_write_to_a_live_value_through_a_view_stays() -> None:
    check_unchanged(
        "dce",
        """graph(%x : Tensor):
  %none : NoneType = prim::Constant()
  %zero : int = prim::Constant[value=0]()
  %y : Tensor = aten::clone(%x, %none)
  %row : Tensor = aten::select(%y, %zero, %zero)
  %w : Tensor = aten::zero_(%row)
  return (%y)
""",
    )


def test_an_operator_that_may_return_its_argument_is_not_believed() -> None:
    """The schema of `type_as` promises a new tensor; of a tensor that has that type already, it
    returns the tensor.
    """
    text = """graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  %z : Tensor = aten::type_as(%y, %x)
  %w : Tensor = aten::zero_(%y)
  return (%z)
"""
    check_unchanged("dce", text)


def test_a_write_to_a_value_nobody_reads_goes() -> None:
    check(
        "dce",
        """graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  %w : Tensor = aten::zero_(%y)
  return (%x)
""",
        "graph(%x : Tensor):\n  return (%x)\n",
    )


def test_outputs_of_an_if_that_nobody_uses_go_from_both_arms() -> None:
    check(
        "dce",
        """graph(%x : Tensor, %c : bool):
  %a : Tensor, %b : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::relu(%x)
      %q : Tensor = aten::tanh(%x)
      -> (%p, %q)
    block1():
      -> (%x, %x)
  return (%b)
""",
        """graph(%x : Tensor, %c : bool):
  %b : Tensor = prim::If(%c)
    block0():
      %q : Tensor = aten::tanh(%x)
      -> (%q)
    block1():
      -> (%x)
  return (%b)
""",
    )


def test_an_if_with_a_write_inside_stays() -> None:
    check_unchanged(
        "dce",
        """graph(%x : Tensor, %c : bool):
  prim::If(%c)
    block0():
      %p : Tensor = aten::relu_(%x)
      -> ()
    block1():
      -> ()
  return (%c)
""",
    )


LOOP = """graph(%n : int, %x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor, %c : Tensor = prim::Loop(%n, %true, %x, %x, %x)
    block0(%i : int, %p : Tensor, %q : Tensor, %r : Tensor):
      %p2 : Tensor = aten::add(%p, %one, %one)
      %q2 : Tensor = aten::mul(%q, %r)
      %r2 : Tensor = aten::relu(%r)
      -> (%true, %p2, %q2, %r2)
  return (%b)
"""


def test_a_carried_value_that_only_feeds_itself_goes() -> None:
    """%a is never read. %c is not read after the loop, but the next round needs it for %b."""
    check(
        "dce",
        LOOP,
        """graph(%n : int, %x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %b : Tensor, %c : Tensor = prim::Loop(%n, %true, %x, %x)
    block0(%i : int, %q : Tensor, %r : Tensor):
      %q2 : Tensor = aten::mul(%q, %r)
      %r2 : Tensor = aten::relu(%r)
      -> (%true, %q2, %r2)
  return (%b)
""",
    )


def test_a_loop_that_is_not_needed_goes() -> None:
    text = LOOP.replace("return (%b)", "return (%x)")
    check("dce", text, "graph(%n : int, %x : Tensor):\n  return (%x)\n")


def test_a_loop_carries_a_value_whose_memory_is_written() -> None:
    check_unchanged(
        "dce",
        """graph(%n : int, %x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = aten::relu(%x)
  prim::Loop(%n, %true)
    block0(%i : int):
      %w : Tensor = aten::neg_(%y)
      -> (%true)
  return (%y)
""",
    )


def test_real_pytorch_keeps_the_carried_value_that_feeds_itself() -> None:
    theirs = by_torch("dce", LOOP)
    assert theirs.count("aten::add") == 1
    graph = parsed(theirs)
    run_pass("dce", graph)
    ours = parsed(LOOP)
    run_pass("dce", ours)
    assert canonical(graph) == canonical(ours)
