"""Constants and expressions: propagation, pooling, common subexpressions."""

from __future__ import annotations

import pytest

import internals
from internals.jit.passes import run_pass
from internals.jit.passes.folding_limits import fits
from tests.jit.passes.pass_support import after, by_torch, canonical, check, check_unchanged, parsed
from tests.jit.programs.graphs import interpret

# Common subexpressions


def test_the_same_again_is_taken_from_before() -> None:
    check(
        "cse",
        """graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %one)
  %b : Tensor = aten::add(%x, %y, %one)
  %c : Tensor = aten::mul(%a, %b)
  return (%c)
""",
        """graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %one)
  %c : Tensor = aten::mul(%a, %a)
  return (%c)
""",
    )


def test_a_block_finds_what_was_computed_around_it_and_forgets_at_its_end() -> None:
    check(
        "cse",
        """graph(%x : Tensor, %c : bool):
  %a : Tensor = aten::relu(%x)
  %r : Tensor = prim::If(%c)
    block0():
      %b : Tensor = aten::relu(%x)
      %t : Tensor = aten::tanh(%x)
      %d : Tensor = aten::mul(%b, %t)
      -> (%d)
    block1():
      -> (%a)
  %u : Tensor = aten::tanh(%x)
  %v : Tensor = aten::mul(%r, %u)
  return (%v)
""",
        """graph(%x : Tensor, %c : bool):
  %a : Tensor = aten::relu(%x)
  %r : Tensor = prim::If(%c)
    block0():
      %t : Tensor = aten::tanh(%x)
      %d : Tensor = aten::mul(%a, %t)
      -> (%d)
    block1():
      -> (%a)
  %u : Tensor = aten::tanh(%x)
  %v : Tensor = aten::mul(%r, %u)
  return (%v)
""",
    )


def test_not_across_a_write() -> None:
    check_unchanged(
        "cse",
        """graph(%x : Tensor):
  %a : Tensor = aten::relu(%x)
  %w : Tensor = aten::zero_(%x)
  %b : Tensor = aten::relu(%x)
  %c : Tensor = aten::mul(%a, %b)
  return (%c)
""",
    )


def test_not_if_both_are_returned() -> None:
    check_unchanged(
        "cse",
        "graph(%x : Tensor):\n  %a : Tensor = aten::relu(%x)\n  %b : Tensor = aten::relu(%x)\n  "
        "return (%a, %b)\n",
    )


def test_not_if_one_is_written_to() -> None:
    check_unchanged(
        "cse",
        """graph(%x : Tensor):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %w : Tensor = aten::zero_(%b)
  %c : Tensor = aten::tanh(%a)
  return (%c)
""",
    )


def test_random_numbers_are_drawn_each_time() -> None:
    check_unchanged(
        "cse",
        """graph(%x : Tensor):
  %none : NoneType = prim::Constant()
  %a : Tensor = aten::bernoulli(%x, %none)
  %b : Tensor = aten::bernoulli(%x, %none)
  %c : Tensor = aten::mul(%a, %b)
  return (%c)
""",
    )


# Constant propagation


def test_numbers_are_computed() -> None:
    check(
        "constant_propagation",
        """graph(%x : Tensor):
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %six : int = aten::mul(%two, %three)
  %k : int = aten::add(%six, %two)
  %y : Tensor = aten::mul(%x, %k)
  return (%y)
""",
        (
            "graph(%x : Tensor):\n"
            "  %k : int = prim::Constant[value=8]()\n"
            "  %y : Tensor = aten::mul(%x, %k)\n"
            "  return (%y)\n"
        ),
    )


def test_a_branch_that_is_decided_is_taken() -> None:
    check(
        "constant_propagation",
        """graph(%x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::If(%true)
    block0():
      %a : Tensor = aten::relu(%x)
      -> (%a)
    block1():
      -> (%x)
  return (%y)
""",
        "graph(%x : Tensor):\n  %a : Tensor = aten::relu(%x)\n  return (%a)\n",
    )


def test_what_both_arms_return_needs_no_branch() -> None:
    check(
        "constant_propagation",
        """graph(%x : Tensor, %c : bool):
  %a : Tensor, %n : int = prim::If(%c)
    block0():
      %p : int = prim::Constant[value=4]()
      -> (%x, %p)
    block1():
      %q : int = prim::Constant[value=4]()
      -> (%x, %q)
  %y : Tensor = aten::mul(%a, %n)
  return (%y)
""",
        (
            "graph(%x : Tensor, %c : bool):\n"
            "  %p : int = prim::Constant[value=4]()\n"
            "  %y : Tensor = aten::mul(%x, %p)\n"
            "  return (%y)\n"
        ),
    )


def test_a_loop_of_no_rounds_is_skipped() -> None:
    """1.0.1 ran `for i in range(0)` once when optimised."""
    text = """graph(%x : Tensor):
  %n : int = prim::Constant[value=0]()
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %a : Tensor):
      %b : Tensor = aten::relu(%a)
      -> (%true, %b)
  %z : Tensor = aten::tanh(%y)
  return (%z)
"""
    check(
        "constant_propagation",
        text,
        "graph(%x : Tensor):\n  %z : Tensor = aten::tanh(%x)\n  return (%z)\n",
    )


def test_a_value_that_a_loop_never_changes_is_not_carried() -> None:
    check(
        "constant_propagation",
        """graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %y : Tensor, %z : Tensor = prim::Loop(%n, %true, %x, %x)
    block0(%i : int, %a : Tensor, %b : Tensor):
      %c : Tensor = aten::mul(%a, %b)
      -> (%true, %c, %b)
  return (%y)
""",
        """graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %a : Tensor):
      %c : Tensor = aten::mul(%a, %x)
      -> (%true, %c)
  return (%y)
""",
    )


def test_nor_are_several_side_by_side() -> None:
    before = """graph(%x : Tensor, %y : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %p : Tensor, %q : Tensor, %r : Tensor, %s : Tensor = prim::Loop(%n, %true, %x, %x, %y, %y)
    block0(%i : int, %a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor):
      %e : Tensor = aten::mul(%a, %b)
      %f : Tensor = aten::mul(%c, %e)
      %g : Tensor = aten::mul(%d, %f)
      -> (%true, %g, %b, %c, %d)
  return (%p, %q, %r, %s)
"""
    expected = """graph(%x : Tensor, %y : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %p : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %a : Tensor):
      %e : Tensor = aten::mul(%a, %x)
      %f : Tensor = aten::mul(%y, %e)
      %g : Tensor = aten::mul(%y, %f)
      -> (%true, %g)
  return (%p, %x, %y, %y)
"""
    check("constant_propagation", before, expected)


def test_an_error_stays_where_it_is_raised() -> None:
    check_unchanged(
        "constant_propagation",
        """graph():
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %a : int = aten::floordiv(%one, %zero)
  return (%a)
""",
    )


ZEROS = """graph():
  %two : int = prim::Constant[value=2]()
  %sizes : int[] = prim::ListConstruct(%two)
  %none : NoneType = prim::Constant()
  %z : Tensor = aten::zeros(%sizes, %none, %none, %none, %none)
  return (%z)
"""


def test_a_tensor_for_the_caller_is_made_anew_each_time() -> None:
    graph = after("constant_propagation", ZEROS)
    assert len(graph.findAllNodes("aten::zeros")) == 1
    first = interpret(graph, [])
    first.fill_(7)
    assert interpret(graph, []).tolist() == [0, 0]
    assert by_torch("constant_propagation", ZEROS).count("aten::zeros") == 0, (
        "PyTorch returns one tensor to all"
    )


def test_a_tensor_that_stays_inside_is_folded() -> None:
    graph = after(
        "constant_propagation",
        ZEROS.replace("return (%z)", "%y : Tensor = aten::exp(%z)\n  return (%y)"),
    )
    assert [n.kind() for n in graph.nodes()] == ["prim::Constant", "aten::exp"]
    assert interpret(graph, []).tolist() == [1, 1]


def test_a_tensor_that_is_written_to_is_not() -> None:
    text = ZEROS.replace(
        "return (%z)", "%w : Tensor = aten::neg_(%z)\n  %y : Tensor = aten::exp(%z)\n  return (%y)"
    )
    assert len(after("constant_propagation", text).findAllNodes("aten::zeros")) == 1


def test_data_is_not_put_into_the_graph() -> None:
    text = ZEROS.replace("value=2", "value=1000000").replace(
        "return (%z)", "%y : Tensor = aten::exp(%z)\n  return (%y)"
    )
    assert len(after("constant_propagation", text).findAllNodes("aten::zeros")) == 1


# Constant pooling


def test_equal_constants_are_one_and_stand_at_the_top() -> None:
    text = """graph(%x : Tensor, %c : bool):
  %a : float = prim::Constant[value=2.5]()
  %y : Tensor = aten::mul(%x, %a)
  %z : Tensor = prim::If(%c)
    block0():
      %b : float = prim::Constant[value=2.5]()
      %d : int = prim::Constant[value=3]()
      %e : Tensor = aten::add(%y, %b, %d)
      -> (%e)
    block1():
      -> (%y)
  return (%z)
"""
    expected = """graph(%x : Tensor, %c : bool):
  %d : int = prim::Constant[value=3]()
  %a : float = prim::Constant[value=2.5]()
  %y : Tensor = aten::mul(%x, %a)
  %z : Tensor = prim::If(%c)
    block0():
      %e : Tensor = aten::add(%y, %a, %d)
      -> (%e)
    block1():
      -> (%y)
  return (%z)
"""
    assert (
        canonical(after("constant_pooling", text))
        == canonical(parsed(expected))
        == by_torch("constant_pooling", text)
    )


def test_zeros_of_both_signs_are_two_constants() -> None:
    text = """graph(%x : Tensor):
  %a : float = prim::Constant[value=0.]()
  %b : float = prim::Constant[value=-0.]()
  %one : bool = prim::Constant[value=1]()
  %i : int = prim::Constant[value=1]()
  return (%a, %b, %one, %i)
"""
    assert len(after("constant_pooling", text).findAllNodes("prim::Constant")) == 4
    assert by_torch("constant_pooling", text).count("prim::Constant") == 3, (
        "PyTorch takes -0.0 for 0.0"
    )


def test_one_tensor_in_two_constants_is_pooled_two_that_are_returned_are_not() -> None:
    tensor = internals.tensor([1.0, 2.0])
    for values, count in (((tensor, tensor), 1), ((tensor, tensor.clone()), 2)):
        graph = parsed("graph(%x : Tensor):\n  return (%x)\n")
        for v in values:
            graph.registerOutput(graph.insertConstant(v))
        run_pass("constant_pooling", graph, verify=True)
        assert len(graph.findAllNodes("prim::Constant")) == count


@pytest.mark.parametrize(
    ("value", "may"),
    [
        ("a" * 4096, True), ("a" * 4097, False), ([0] * 4096, True), ([0] * 4097, False),
        (([0] * 4094,), True), (([0] * 4096,), False), ({"a": 1}, False), ([{"a": 1}], False),
        (None, True), (internals.device("cpu"), True), (internals.Generator(), False),
        ([internals.Generator()], False), (object(), False),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_may_be_a_constant(value: object, may: bool) -> None:
    assert fits(value) == may
