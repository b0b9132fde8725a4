"""Passes that bring a graph into another form: tuples, inlining, canonical operators, types,
gradients, writes.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import internals
from internals.jit.ir import FunctionType, Graph
from internals.jit.passes import run_pass
from internals.jit.passes.canonicalize import canonicalized
from tests.jit.passes.pass_support import after, by_torch, canonical, check, check_unchanged, parsed
from tests.jit.programs.graphs import interpret

# Tuples

TUPLES = """graph(%x : (Tensor, (int, Tensor)), %c : bool):
  %a : Tensor, %b : (int, Tensor) = prim::TupleUnpack(%x)
  %r : (Tensor, (int, Tensor)) = prim::If(%c)
    block0():
      %t : (Tensor, (int, Tensor)) = prim::TupleConstruct(%a, %b)
      -> (%t)
    block1():
      -> (%x)
  return (%r)
"""


def test_reads_from_a_tuple_in_sight() -> None:
    check(
        "lower_simple_tuples",
        """graph(%x : Tensor, %n : int):
  %minus : int = prim::Constant[value=-1]()
  %t : (Tensor, int) = prim::TupleConstruct(%x, %n)
  %a : Tensor, %b : int = prim::TupleUnpack(%t)
  %k : int = prim::TupleIndex(%t, %minus)
  %s : (Tensor) = prim::TupleSlice[beg=0, end=1](%t)
  %m : Tensor = aten::mul(%a, %b)
  return (%m, %k, %s)
""",
        """graph(%x : Tensor, %n : int):
  %s : (Tensor) = prim::TupleConstruct(%x)
  %m : Tensor = aten::mul(%x, %n)
  return (%m, %n, %s)
""",
    )


def test_tuples_from_outside_stay_unless_all_must_go() -> None:
    check_unchanged("lower_simple_tuples", TUPLES)
    expected = """graph(%a : Tensor, %n : int, %b : Tensor, %c : bool):
  %r0 : Tensor, %r1 : int, %r2 : Tensor = prim::If(%c)
    block0():
      -> (%a, %n, %b)
    block1():
      -> (%a, %n, %b)
  return (%r0, %r1, %r2)
"""
    assert canonical(after("lower_all_tuples", TUPLES)) == canonical(parsed(expected))


def test_a_loop_that_carries_a_tuple() -> None:
    text = """graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %t : (Tensor, int) = prim::TupleConstruct(%x, %n)
  %r : (Tensor, int) = prim::Loop(%n, %true, %t)
    block0(%i : int, %u : (Tensor, int)):
      %a : Tensor, %b : int = prim::TupleUnpack(%u)
      %m : Tensor = aten::mul(%a, %b)
      %v : (Tensor, int) = prim::TupleConstruct(%m, %i)
      -> (%true, %v)
  %p : Tensor, %q : int = prim::TupleUnpack(%r)
  return (%p)
"""
    graph = after("lower_all_tuples", text)
    assert "Tuple" not in str(graph)
    arguments = [internals.tensor([1.0, 2.0]), 3]
    assert interpret(graph, arguments).tolist() == interpret(parsed(text), arguments).tolist()
    untyped = [
        re.sub(r" : \w+", "", t) for t in (canonical(graph), by_torch("lower_all_tuples", text))
    ]
    assert untyped[0] == untyped[1], (
        "types aside: PyTorch forgets that of a number that a Loop carries"
    )


@pytest.mark.parametrize(
    "line, message",
    [
        ("%r : (Tensor, Tensor) = aten::max(%x, %n, %c)", "tuple appears in op outputs"),
        (
            "%p : (Tensor, Tensor) = prim::TupleConstruct(%x, %x)\n  %r : Tensor = "
            "prim::TupleIndex(%p, %n)",
            "non-constant index",
        ),
    ],
)
def test_a_tuple_that_cannot_be_taken_apart(line: str, message: str) -> None:
    graph = parsed(f"graph(%x : Tensor, %n : int, %c : bool):\n  {line}\n  return (%r)\n")
    with pytest.raises(RuntimeError, match=message):
        run_pass("lower_all_tuples", graph)


def test_constant_tuples_are_taken_apart() -> None:
    text = """
        graph(%c : bool):
          %1 : (int, (bool, NoneType)) = prim::Constant[value=(2, (True, None))]()
          %2 : (int, (bool, NoneType)) = prim::If(%c)
            block0():
              -> (%1)
            block1():
              %3 : (int, (bool, NoneType)) = prim::Constant[value=(3, (False, None))]()
              -> (%3)
          return (%2)
        """
    graph = after("lower_all_tuples", text)
    assert [str(v.type()) for v in graph.outputs()] == ["int", "bool", "NoneType"]
    assert [interpret(graph, [c]) for c in (True, False)] == [(2, True, None), (3, False, None)]


# Inlining


class Function:
    """What a scripted function is to a graph: a name and a graph."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.graph = name, parsed(text)


def calling(function: Any, twice: bool = False) -> Graph:
    graph = Graph()
    x = graph.addInput("x")
    callee = graph.create("prim::Constant").s_("name", function.name)
    graph.insertNode(callee).output().setType(FunctionType(function))
    for name in ("y", "z")[: 1 + twice]:
        x = (
            graph.insertNode(graph.create("prim::CallFunction", [callee.output(), x]))
            .output()
            .setDebugName(name)
        )
    graph.registerOutput(x)
    return graph


def test_a_call_becomes_the_body() -> None:
    inner = Function(
        "inner", "graph(%a : Tensor):\n  %b : Tensor = aten::relu(%a)\n  return (%b)\n"
    )
    outer = Function("outer", "graph(%x : Tensor):\n  return (%x)\n")
    outer.graph = calling(inner)
    graph = calling(outer, twice=True)
    assert run_pass("inline", graph).changed and not run_pass("inline", graph).changed
    run_pass("dce", graph, verify=True)
    expected = (
        "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = aten::relu(%y)\n  "
        "return (%z)\n"
    )
    assert canonical(graph) == canonical(parsed(expected))
    assert (
        graph.outputs()[0].debugName() == "z" and len(inner.graph.findAllNodes("aten::relu")) == 1
    )


def test_a_function_that_calls_itself_has_no_end() -> None:
    f = Function("f", "graph(%x : Tensor):\n  return (%x)\n")
    f.graph = calling(f)
    with pytest.raises(RuntimeError, match="function 'f' is called recursively"):
        run_pass("inline", f.graph.copy())


def test_python_functions_stay_calls() -> None:
    class Ignored:
        name, graph = "ignored", None

    graph = calling(Ignored())
    assert not run_pass("inline", graph).changed


# Canonical forms


def test_values_are_numbered_in_order() -> None:
    text = (
        "graph(%x : Tensor, %c : bool):\n"
        "  %7 : Tensor = aten::relu(%x)\n"
        "  %3 : Tensor = prim::If(%c)\n"
        "    block0():\n"
        "      %9 : Tensor = aten::relu(%7)\n"
        "      -> (%9)\n"
        "    block1():\n"
        "      -> (%7)\n"
        "  return (%3)\n"
    )
    graph = after("canonicalize", text)
    assert [v.unique() for n in graph.nodes() for v in n.outputs()] == [
        2,
        3,
    ] and "%4 : Tensor = aten::relu(%2)" in str(graph)
    assert not run_pass("canonicalize", graph).changed
    assert canonicalized(graph, keep_unique_names=False).inputs()[0].debugName() == "0"


def test_operators_in_one_form() -> None:
    text = """graph(%x : Float(2, 4, device=cpu), %y : Float(4, 4, device=cpu)):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %t : Float(requires_grad=0, device=cpu) = prim::Constant[value={2.5}]()
  %a : Tensor = aten::addmm(%x, %x, %y, %one, %one)
  %b : Tensor = aten::mul(%x, %t)
  %l : Tensor[] = aten::chunk(%x, %two, %one)
  %c : Tensor, %d : Tensor = prim::ListUnpack(%l)
  return (%a, %b, %c, %d)
"""
    expected = """graph(%x : Float(2, 4, device=cpu), %y : Float(4, 4, device=cpu)):
  %one : int = prim::Constant[value=1]()
  %p : Tensor = aten::mm(%x, %y)
  %k : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %p, %k)
  %n : float = prim::Constant[value=2.5]()
  %b : Tensor = aten::mul(%x, %n)
  %c : Tensor, %d : Tensor = prim::ConstantChunk[chunks=2, dim=1](%x)
  return (%a, %b, %c, %d)
"""
    graph, wanted = after("canonicalize_ops", text), parsed(expected)
    run_pass("dce", wanted)
    assert canonical(graph) == canonical(wanted)


def test_a_tensor_that_promotes_otherwise_stays_a_tensor() -> None:
    for x in ("Tensor", "Int(device=cpu)", "Bool(3, device=cpu)"):
        check_unchanged(
            "canonicalize_ops",
            (
                f"graph(%x : {x}):\n"
                f"  %t : Double(requires_grad=0, device=cpu) = prim::Constant[value={{2.5}}]()\n"
                f"  %b : Tensor = aten::mul(%x, %t)\n"
                f"  return (%b)\n"
            ),
        )


def test_numbers_become_tensors() -> None:
    text = """graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %f : float = prim::Constant[value=1.5]()
  %y : Tensor = aten::add(%x, %f, %one)
  %d : int = aten::size(%x, %one)
  %e : Tensor = prim::NumToTensor(%d)
  %k : int = aten::Int(%e)
  %z : Tensor = aten::add(%y, %k, %one)
  return (%z)
"""
    assert canonical(after("erase_number_types", text)) == by_torch("erase_number_types", text)


# Types

SHAPES = """graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),
      %l : Tensor[], %c : bool):
  %y : Float(2, 3) = aten::relu(%x)
  %q : Float(2, 3) = prim::If(%c)
    block0():
      %w : Float(2, 3) = aten::relu(%y)
      -> (%w)
    block1():
      -> (%y)
  %t : (Float(2, 3), int) = prim::TupleConstruct(%q, %k)
  return (%t)
""".replace("%k)", "%n)").replace("%c : bool)", "%c : bool, %n : int)")


def test_shapes_are_forgotten() -> None:
    graph = after("erase_shape_information", SHAPES)
    assert "Float" not in str(graph) and canonical(graph) == by_torch(
        "erase_shape_information", SHAPES
    )
    assert not run_pass("erase_shape_information", graph).changed


def test_implicit_expansions_go_explicit_ones_stay() -> None:
    text = """graph(%x : Tensor, %l : int[]):
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : Tensor = aten::expand(%x, %l, %true)
  %z : Tensor = aten::expand(%x, %l, %false)
  return (%y, %z)
"""
    assert canonical(after("remove_expands", text)) == by_torch("remove_expands", text)
    assert len(after("remove_expands", text).findAllNodes("aten::expand")) == 1


def test_an_inplace_python_function_is_refused() -> None:
    graph = parsed("graph(%x : Tensor):\n  %y : Tensor = ^Clamp(2)(%x)\n  return (%y)\n")
    assert not run_pass("check_inplace", graph).changed
    next(graph.nodes()).i_("inplace", 1)
    with pytest.raises(RuntimeError, match="^inplace Clamp not supported in the JIT$"):
        run_pass("check_inplace", graph)


# Gradients

GRADIENTS = """graph(%dy : {dy}, %dz : {dz}, %b : Tensor):
  %g : Tensor = prim::GradOf[name="aten::mul"](%dy)
    block0():
      %m : Tensor = aten::mul(%dy, %b)
      -> (%m)
  %s : Tensor = prim::AutogradAdd(%g, %dz)
  return (%s)
"""
MISSING, THERE = "Tensor[AutogradZero]", "Float(2, device=cpu)"


@pytest.mark.parametrize(
    "dy, dz, lines",
    [
        (THERE, MISSING, "  %m : Tensor = aten::mul(%dy, %b)\n  return (%m)\n"),
        (MISSING, THERE, "  %u : Tensor = prim::Undefined()\n  return (%dz)\n"),
        (THERE, THERE, "  %m : Tensor = aten::mul(%dy, %b)\n"
                       "  %one : int = prim::Constant[value=1]()\n"
                       "  %s : Tensor = aten::add(%m, %dz, %one)\n  return (%s)\n"),
        (MISSING, MISSING, "  %u : Tensor = prim::Undefined()\n  return (%dz)\n"),
    ],
)  # fmt: skip
def test_gradients_known_to_be_there_or_missing(dy: str, dz: str, lines: str) -> None:
    text = GRADIENTS.format(dy=dy, dz=dz)
    check("specialize_undef", text, text.splitlines()[0] + "\n" + lines)


def test_what_is_unknown_is_asked_at_run_time() -> None:
    text = GRADIENTS.format(dy="Tensor", dz=THERE)
    check_unchanged("specialize_undef", text)
    check(
        "lower_grad_of",
        text,
        """graph(%dy : Tensor, %dz : Float(2, device=cpu), %b : Tensor):
  %any : bool = prim::AnyDefined(%dy)
  %g : Tensor = prim::If(%any)
    block0():
      %m : Tensor = aten::mul(%dy, %b)
      -> (%m)
    block1():
      %u : Tensor = prim::Undefined()
      -> (%u)
  %s : Tensor = prim::AutogradAdd(%g, %dz)
  return (%s)
""",
    )


# Writes


def test_a_write_to_a_tensor_of_ones_own_becomes_a_new_tensor() -> None:
    check(
        "remove_inplace",
        """graph(%x : Float(2, 3, device=cpu)):
  %one : int = prim::Constant[value=1]()
  %y : Float(2, 3, device=cpu) = aten::mul(%x, %one)
  %s : Tensor = aten::sum(%y)
  %a : Float(2, 3, device=cpu) = aten::relu_(%y)
  %b : Float(2, 3, device=cpu) = aten::add_(%y, %x, %one)
  %r : Tensor = aten::mul(%y, %s)
  return (%r, %y)
""".replace("aten::sum(%y)", "aten::tanh(%y)"),
        """graph(%x : Float(2, 3, device=cpu)):
  %one : int = prim::Constant[value=1]()
  %y : Float(2, 3, device=cpu) = aten::mul(%x, %one)
  %s : Tensor = aten::tanh(%y)
  %a : Float(2, 3, device=cpu) = aten::relu(%y)
  %b : Float(2, 3, device=cpu) = aten::add(%a, %x, %one)
  %r : Tensor = aten::mul(%b, %s)
  return (%r, %b)
""",
    )


@pytest.mark.parametrize(
    "call, new",
    [
        ("hardswish_(%y)", "hardswish(%y)"),  # no pass has it in a list
        ("eq_(%y, %two)", ""),  # keeps the dtype, without `_` it is bool
        ("logical_not_(%y)", ""),
        ("polygamma_(%y, %two)", ""),  # takes its arguments in another order without `_`
        ("float_power_(%y, %two)", ""),
    ],
)
def test_what_can_be_done_out_of_place_follows_from_the_operator(call: str, new: str) -> None:
    text = f"""graph(%x : Float(2, device=cpu)):
  %two : int = prim::Constant[value=2]()
  %y : Float(2, device=cpu) = aten::neg(%x)
  %w : Float(2, device=cpu) = aten::{call}
  return (%w)
"""
    check("remove_inplace", text, text.replace(call, new) if new else text)


@pytest.mark.parametrize("name, new", [("exp", True), ("logical_not", False)])
def test_what_is_refused_in_place_does_not_count_where_the_dtype_is_unknown(
    name: str, new: bool
) -> None:
    text = f"""graph(%x : Tensor):
  %y : Tensor = aten::neg(%x)
  %w : Tensor = aten::{name}_(%y)
  return (%w)
"""
    check("remove_inplace", text, text.replace(f"{name}_(", f"{name}(") if new else text)


@pytest.mark.parametrize(
    "dtype, number, new",
    [("Long", "int", True), ("Long", "float", False), ("Float", "float", True)],
)
def test_a_number_of_a_higher_kind_stays_a_write(dtype: str, number: str, new: bool) -> None:
    """Out of place the result would have the number's kind."""
    text = f"""graph(%x : {dtype}(2, device=cpu), %s : {number}, %one : int):
  %y : {dtype}(2, device=cpu) = aten::neg(%x)
  %w : {dtype}(2, device=cpu) = aten::mul_(%y, %s)
  return (%w)
"""
    check("remove_inplace", text, text.replace("mul_", "mul") if new else text)


@pytest.mark.parametrize(
    "lines",
    [
        "%w : Tensor = aten::relu_(%x)",  # the caller's
        "%v : Tensor = aten::t(%x)\n  %w : Tensor = aten::relu_(%v)",
        """%y : Tensor = aten::tanh(%x)
  %v : Tensor = aten::t(%y)
  %w : Tensor = aten::relu_(%y)
  %r : Tensor = aten::mul(%v, %v)""",
        """%y : Tensor = aten::tanh(%x)
  %l : Tensor[] = prim::ListConstruct(%y)
  %w : Tensor = aten::relu_(%y)
  %r : Tensor = aten::__getitem__(%l, %n)""",
        # who knows the dtypes
        "%y : Tensor = aten::tanh(%x)\n  %w : Tensor = aten::add_(%y, %x, %n)",
    ],
)
def test_a_write_that_somebody_sees_stays(lines: str) -> None:
    check_unchanged(
        "remove_inplace",
        f"graph(%x : Tensor, %n : int):\n  {lines}\n  return (%{'r' if '%r' in lines else 'w'})\n",
    )
