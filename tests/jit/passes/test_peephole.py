"""Peephole rules, one example each that fires and one for each guard; every rule with operands of
all types in every place; and real PyTorch on the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, product
from typing import Any

import pytest

import internals
from internals.jit.ir import ListType, Node, Type
from internals.jit.operators.registry import accepts, find_operators
from internals.jit.passes import run_pass
from internals.jit.passes.peephole import RULES, rules
from internals.jit.passes.peephole_rules import Facts, Rule
from tests.jit.passes.pass_support import after, by_torch, canonical, parsed
from tests.jit.programs.graphs import frozen, interpret
from tests.support import outcome

F = "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
HEAD = f"""graph(%x : Tensor, %f : {F}, %l : Long(2, device=cpu), %b : Bool(2, device=cpu),
      %i : int, %s : float, %o : Tensor?, %c : bool):
"""


def body(lines: str, result: str = "%r") -> str:
    """A graph of these lines, separated by semicolons. `one zero none true false` are constants."""
    names = {"one": "int = prim::Constant[value=1]", "zero": "int = prim::Constant[value=0]",
             "none": "NoneType = prim::Constant", "two": "int = prim::Constant[value=2]",
             "true": "bool = prim::Constant[value=1]",
             "false": "bool = prim::Constant[value=0]"}  # fmt: skip
    text = "".join(f"  %{n} : {v}()\n" for n, v in names.items() if f"%{n}" in lines + result)
    text += "".join(f"  {line.strip()}\n" for line in lines.split(";") if line.strip())
    return f"{HEAD}{text}  return ({result})\n"


T = "%r : Tensor = aten::exp(%a)"  # so that what is looked at does not reach the caller

FIRES = [
    (f"%t : Tensor = aten::t(%x); %a : Tensor = aten::t(%t); {T}", "%r : Tensor = aten::exp(%x)"),
    (f"%a : Tensor = aten::type_as(%f, %f); {T}", "%r : Tensor = aten::exp(%f)"),
    (f"%a : Tensor = aten::mul(%f, %one); {T}", "%r : Tensor = aten::exp(%f)"),
    (f"%a : Tensor = aten::div(%f, %one); {T}", "%r : Tensor = aten::exp(%f)"),
    (f"%a : Tensor = aten::add(%f, %zero, %one); {T}", "%r : Tensor = aten::exp(%f)"),
    (f"%a : Tensor = aten::sub(%f, %zero, %one); {T}", "%r : Tensor = aten::exp(%f)"),
    (f"%a : Tensor = aten::mul(%l, %one); {T}", "%r : Tensor = aten::exp(%l)"),
    ("%r : int = aten::add(%i, %zero)", "%i"),
    ("%r : int = aten::add(%zero, %i)", "%i"),
    ("%r : int = aten::sub(%i, %zero)", "%i"),
    ("%r : int = aten::mul(%one, %i)", "%i"),
    ("%r : int = aten::floordiv(%i, %one)", "%i"),
    ("%a : int = aten::add(%i, %one); %r : int = aten::add(%a, %one)",
     "%r : int = aten::add(%i, %two)"),
    ("%t : Tensor = prim::NumToTensor(%i); %r : int = aten::Int(%t)", "%i"),
    ("%t : Tensor = prim::NumToTensor(%s); %r : float = aten::Float(%t)", "%s"),
    ("%r : int = aten::Int(%i)", "%i"),
    ("%r : float = aten::Float(%s)", "%s"),
    ("%r : bool = aten::eq(%i, %i)", "%true"),
    ("%r : bool = aten::ne(%i, %i)", "%false"),
    ("%r : bool = aten::__is__(%x, %none)", "%false"),
    ("%r : bool = aten::__isnot__(%none, %x)", "%true"),
    ("%r : bool = aten::__is__(%none, %none)", "%true"),
    ("%r : Tensor = aten::_unwrap_optional(%x)", "%x"),
    ("%r : Tensor = prim::unchecked_cast(%x)", "%x"),
    ("%r : int = aten::dim(%f)", "%two"),
    ("%r : int = aten::size(%f, %zero)", "%two"),
    ("%a : int[] = aten::size(%f); %r : int = aten::len(%a)", "%two"),
    ("%r : bool = aten::is_floating_point(%f)", "%true"),
    ("%r : bool = aten::is_complex(%f)", "%false"),
    ("%r : bool = prim::is_cuda(%f)", "%false"),
    ("%a : Tensor[] = prim::ListConstruct(%x, %f); %r : int = aten::len(%a)", "%two"),
    ("%a : Tensor[] = prim::ListConstruct(%x, %f); %r : Tensor = aten::__getitem__(%a, %one)",
     "%f"),
    ("%a : Tensor[] = prim::ListConstruct(%f); %p : Tensor = prim::ListUnpack(%a); "
     "%r : Tensor = aten::exp(%p)",
     "%r : Tensor = aten::exp(%f)"),
]  # fmt: skip


@pytest.mark.parametrize("lines, expected", FIRES)
def test_a_rule_fires(lines: str, expected: str) -> None:
    wanted = body(expected) if "=" in expected else body("", expected)
    assert canonical(after("peephole", body(lines))) == canonical(parsed(wanted))


HOLDS = [
    f"%a : Tensor = aten::mul(%x, %one); {T}",  # who knows its dtype
    f"%a : Tensor = aten::mul(%b, %one); {T}",  # an int64
    f"%a : Tensor = aten::div(%l, %one); {T}",  # a float
    "%r : Tensor = aten::mul(%f, %one)",  # a new tensor for the caller, not the caller's own
    "%r : Tensor = aten::mul(%f, %one); %w : Tensor = aten::zero_(%f)",
    f"%a : Tensor = aten::mul(%f, %one); %w : Tensor = aten::zero_(%f); {T}",
    f"%a : Tensor = aten::mul(%f, %one); %w : Tensor = aten::zero_(%a); {T}",
    f"%a : Tensor = aten::add(%f, %zero, %two); {T}",
    f"%a : Tensor = aten::type_as(%f, %x); {T}",
    f"%a : Tensor = aten::type_as(%f, %l); {T}",
    "%r : bool = aten::eq(%s, %s)",  # NaN
    "%r : bool = aten::__is__(%o, %none)",
    "%t : Tensor = prim::NumToTensor(%s); %r : int = aten::Int(%t)",
    "%t : Tensor = prim::NumToTensor(%i); %w : Tensor = aten::zero_(%t); %r : int = aten::Int(%t)",
    "%r : int = aten::dim(%x)",
    "%w : Tensor = aten::t_(%f); %r : int = aten::size(%f, %zero)",
    "%r : int[] = aten::size(%f)",  # a list for the caller
    "%a : Tensor[] = prim::ListConstruct(%x, %f); %w : Tensor[] = aten::append(%a, %x); %r : int = "
    "aten::len(%a)",
    "%a : Tensor[] = prim::ListConstruct(%x, %f); %r : Tensor = aten::__getitem__(%a, %two)",
]


@pytest.mark.parametrize("lines", HOLDS)
def test_a_guard_holds(lines: str) -> None:
    assert canonical(after("peephole", body(lines))) == canonical(parsed(body(lines)))


def test_lists_are_joined_and_cut() -> None:
    text = body("""%a : Tensor[] = prim::ListConstruct(%x, %f); %j : Tensor[] = aten::add(%a, %a);
                   %p : Tensor[] = aten::slice(%j, %one, %none, %one);
                   %r : Tensor = aten::cat(%p, %zero)""")
    expected = body(
        "%p : Tensor[] = prim::ListConstruct(%f, %x, %f); %r : Tensor = aten::cat(%p, %zero)"
    )
    assert canonical(after("peephole", text)) == canonical(parsed(expected))


def test_sizes_that_stay_inside_are_a_constant() -> None:
    graph = after(
        "peephole", body("%a : int[] = aten::size(%f); %r : Tensor = aten::expand(%f, %a, %false)")
    )
    assert [n.kind() for n in graph.nodes()] == []


def test_true_if_c_else_false_is_c() -> None:
    text = (
        HEAD
        + """  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %r : bool = prim::If(%c)
    block0():
      -> (%true)
    block1():
      -> (%false)
  return (%r)
"""
    )
    assert canonical(after("peephole", text)) == canonical(parsed(body("", "%c")))
    swapped = (
        text.replace("(%true)", "(%q)").replace("(%false)", "(%true)").replace("(%q)", "(%false)")
    )
    assert len(after("peephole", swapped).findAllNodes("prim::If")) == 1


def test_the_dtype_of_a_known_tensor_is_its_number() -> None:
    graph = after("peephole", body("%r : int = prim::dtype(%f)"))
    assert graph.outputs()[0].toIValue() == 6


def test_a_device_is_a_constant() -> None:
    graph = after("peephole", body("%r : Device = prim::device(%f)"))
    assert str(graph.outputs()[0].toIValue()) == "cpu"


def test_the_table_can_be_read() -> None:
    text = rules()
    assert len(text.splitlines()) == len(RULES)
    assert any(line.startswith("t(t(x)) ") and line.endswith("->  x") for line in text.splitlines())


# Operands of every type in every place: each of these values goes wherever a node that a rule looks
# at takes it

POOL = f"""graph(%i : int, %s : float, %b : bool, %w : str, %o : int?, %f : {F},
      %l : Long(2, 3, strides=[3, 1], requires_grad=0, device=cpu),
      %t : Bool(3, strides=[1], requires_grad=0, device=cpu)):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %minus : int = prim::Constant[value=-1]()
  %nought : float = prim::Constant[value=0.]()
  %unit : float = prim::Constant[value=1.]()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %empty : str = prim::Constant[value=""]()
  %none : NoneType = prim::Constant()
  %sizes : int[] = prim::Constant[value=[2, 3]]()
  %row : int[] = prim::Constant[value=[3]]()
  %plus : int = aten::add(%i, %two)
  %added : int = aten::add(%two, %i)
  %less : int = aten::sub(%i, %two)
  %taken : int = aten::sub(%two, %i)
  %ni : Tensor = prim::NumToTensor(%i)
  %ns : Tensor = prim::NumToTensor(%s)
  %nb : Tensor = prim::NumToTensor(%b)
  %turned : Tensor = aten::t(%f)
  %summed : Tensor = aten::_grad_sum_to_size(%f, %sizes)
  %ints : int[] = prim::ListConstruct(%i, %zero, %two)
  %pair : int[] = prim::ListConstruct(%one, %i)
  %tensors : Tensor[] = prim::ListConstruct(%f, %l)
"""
# the third operand and those behind it
CONSTANTS = {"false", "one", "two", "minus", "none", "unit"}
ARGUMENTS = ((-7, float("nan"), True, "a", None), (0, -0.0, False, "", 3), (3, 2.5, True, "ab", 0))
NAMES = {internals.Tensor: "Tensor", type(None): "NoneType", internals.device: "Device"}
# What has several results, or results that have to stay inside, is tested above; no operator takes
# a bool to a bool.
ELSEWHERE = {"bool(b)", "size(x)", "len(size(x))", "x, y = [a, b]", "True if c else False"}

Pool = dict[str, tuple[Type, Any]]  # type and content of a value, by its name


def calls(kind: str, pool: Pool) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The operands that a node of this kind can have, and its result."""
    for operator in find_operators(kind):
        formals = operator.schema.arguments
        places = [[n for n in pool if i < 2 or n in CONSTANTS] for i in range(len(formals))]
        if any(a.is_out for a in formals) or len(formals) > 4:
            continue
        for types in product(*({pool[n][0] for n in names} for names in places)):
            if not accepts(operator.schema, types):
                continue
            for names in product(
                *([n for n in names if pool[n][0] == t] for names, t in zip(places, types))
            ):
                result, error = outcome(lambda: operator.fn(*(pool[n][1] for n in names)))  # noqa: B023
                if error is None and result is not None:
                    yield names, result


def type_name(value: Any, operands: Iterable[Type]) -> str:
    if isinstance(value, list):
        return next((str(t) for t in operands if isinstance(t, ListType)), "int[]")
    return NAMES.get(type(value), type(value).__name__)


def noting(rule: Rule, found: set[str]) -> Rule:
    def find(node: Node, facts: Facts) -> Any:
        result = rule.find(node, facts)
        if result is not None:
            found.add(rule.pattern)
        return result

    return replace(rule, find=find)


def told(call: str, value: Any) -> str:
    """A text, which tells -0.0 from 0.0; but x + 0 is taken for x, in PyTorch too."""
    text = repr(frozen(value))
    return (
        re.sub(r"-(?=0\.[],])|\s", "", text)
        if re.search(r": Tensor = aten::(add|sub)\(", call)
        else text
    )


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("numbers", ARGUMENTS, ids=str)
def test_no_operand_is_taken_for_another(
    numbers: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result is what the operator by itself makes of these operands, whichever rules have looked
    at the node.
    """
    found: set[str] = set()
    monkeypatch.setattr(
        "internals.jit.passes.peephole.RULES", [noting(rule, found) for rule in RULES]
    )
    floats = internals.arange(6.0).view(2, 3) * numbers[1]
    arguments = [
        *numbers,
        floats,
        internals.arange(6).view(2, 3),
        internals.tensor([True, False, True]),
    ]
    head = parsed(f"{POOL}  return ()\n")
    values = [*head.inputs(), *(v for node in head.nodes() for v in node.outputs())]
    all_of_them = ", ".join(f"%{v.debugName()}" for v in values)
    contents = interpret(parsed(f"{POOL}  return ({all_of_them})\n"), arguments)
    pool = {v.debugName(): (v.type(), content) for v, content in zip(values, contents, strict=True)}

    kinds = dict.fromkeys(rule.kind for rule in RULES)
    everything = ((kind, names, result) for kind in kinds for names, result in calls(kind, pool))
    while some := list(islice(everything, 100)):
        text, expected = POOL, {}
        for i, (kind, names, result) in enumerate(some):
            call = (
                f"%r{i} : {type_name(result, (pool[n][0] for n in names))} = "
                f"{kind}({', '.join('%' + n for n in names)})"
            )
            text += f"  {call}\n"
            if isinstance(result, internals.Tensor):
                # of which the caller gets a copy, or it could tell which are one
                text += f"  %c{i} : Tensor = aten::clone(%r{i}, %none)\n"
            expected[f"%{'c' if isinstance(result, internals.Tensor) else 'r'}{i}"] = (
                call,
                told(call, result),
            )
        graph = parsed(f"{text}  return ({', '.join(expected)})\n")
        run_pass("peephole", graph, verify=True)
        for (call, wanted), ours in zip(
            expected.values(), interpret(graph, arguments), strict=True
        ):
            assert told(call, ours) == wanted, call
    assert {rule.pattern for rule in RULES} - found == ELSEWHERE


# Where PyTorch has the same rule, it makes the same of it
OURS = (
    "%f, %one",
    "%l, %one",
    "%f, %zero",
    "Float(%s)",
    "%zero, %i",
    "%one, %i",
    "len(%a)",
    "(%none, %none)",
)
SAME = [lines for lines, _ in FIRES if not any(k in lines for k in OURS)]


@pytest.mark.parametrize("lines", SAME)
def test_pytorch_does_the_same(lines: str) -> None:
    assert canonical(after("peephole", body(lines))) == by_torch("peephole", body(lines))


@pytest.mark.parametrize(
    "lines, theirs",
    [
        ("%r : bool = aten::eq(%s, %s)", "bool = prim::Constant[value=1]"),
        (f"%a : Tensor = aten::mul(%b, %one); {T}", "aten::exp(%3)"),
    ],
)
def test_what_pytorch_gets_wrong_is_not_copied(lines: str, theirs: str) -> None:
    assert theirs in by_torch("peephole", body(lines))
    assert theirs not in canonical(after("peephole", body(lines)))
