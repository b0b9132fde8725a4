"""Alias analysis: what may share memory, who writes, and that moves which it allows change
nothing.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import internals
from internals.jit.ir import Block, Graph, Node, Value
from internals.jit.ir.parser import parse_ir
from internals.jit.operators import register_operator
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.operators.registry import _registry
from internals.jit.passes import run_pass
from tests.answers import answer
from tests.jit.programs.graphs import interpret
from tests.support import examples

HEAD = """graph(%x : Tensor, %y : Tensor, %n : int, %c : bool):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
"""


def graph_of(body: str) -> Graph:
    lines = [line.strip() for line in body.strip().splitlines()]
    return parse_ir(HEAD + "".join(f"  {line}\n" for line in lines))


def values_of(block: Block) -> dict[str, Value]:
    """Every value of a block and the blocks inside, by name."""
    found = {v.debugName(): v for v in block.inputs()}
    for node in block.nodes():
        found.update({v.debugName(): v for v in node.outputs()})
        for inner in node.blocks():
            found.update(values_of(inner))
    return found


def aliases(body: str) -> tuple[AliasDb, dict[str, Value]]:
    graph = graph_of(body)
    return AliasDb(graph), values_of(graph.block())


VIEW = """
%a : Tensor = aten::add(%x, %y, %one)
%b : Tensor = aten::add(%x, %y, %one)
%v : Tensor = aten::select(%a, %zero, %zero)
%w : Tensor = aten::mul_(%v, %one)
return (%b)
"""


def test_a_view_shares_memory_and_a_write_to_it_is_seen() -> None:
    db, v = aliases(VIEW)
    assert db.may_alias(v["a"], v["v"]) and db.may_alias(v["w"], v["a"])
    assert not db.may_alias(v["a"], v["b"])
    assert db.has_writers(v["a"]) and not db.has_writers(v["b"])
    write, read = v["w"].node(), v["v"].node()
    assert (
        db.has_writers(read)
        and db.writes_to_alias(write, [v["a"]])
        and not db.writes_to_alias(write, [v["b"]])
    )
    assert db.is_mutable(write) and not db.is_mutable(read)
    assert not db.has_untracked_effects(write)


def test_inputs_may_be_each_other() -> None:
    db, v = aliases("%w : Tensor = aten::mul_(%x, %one)\nreturn (%y)")
    assert db.may_alias(v["x"], v["y"]) and db.has_writers(v["y"])
    assert db.has_untracked_effects(v["w"].node()) and db.may_alias_wildcard([v["w"]])
    assert not db.may_alias_wildcard([v["n"]])


def test_numbers_have_no_memory() -> None:
    db, v = aliases("%m : int = aten::add(%n, %one)\nreturn (%m)")
    assert not db.may_alias(v["n"], v["m"]) and not db.has_writers(v["m"])


def test_a_list_contains_its_elements() -> None:
    db, v = aliases("""
        %a : Tensor = aten::neg(%x)
        %l : Tensor[] = prim::ListConstruct(%a, %a)
        %cat : Tensor = aten::cat(%l, %zero)
        %w : Tensor = aten::neg_(%a)
        return (%cat)
    """)
    assert not db.may_alias(v["l"], v["a"]) and db.may_contain_alias(v["l"], v["a"])
    assert not db.may_contain_alias(v["cat"], v["l"])
    assert db.writes_to_alias(v["w"].node(), [v["l"]])
    assert not db.couldMoveBeforeTopologically(v["w"].node(), v["cat"].node())


def test_what_went_into_a_list_may_come_out_of_any_other() -> None:
    db, v = aliases("""
        %a : Tensor = aten::neg(%x)
        %b : Tensor = aten::neg(%x)
        %l : Tensor[] = prim::ListConstruct(%a)
        %m : Tensor[] = prim::ListConstruct(%b)
        %first : Tensor = aten::__getitem__(%l, %zero)
        %w : Tensor = aten::neg_(%first)
        return (%m)
    """)
    assert db.may_alias(v["first"], v["a"]) and db.has_writers(v["a"])


def test_appending_writes_to_the_list_and_lets_the_element_escape() -> None:
    db, v = aliases("""
        %a : Tensor = aten::neg(%x)
        %l : Tensor[] = prim::ListConstruct()
        %m : Tensor[] = aten::append(%l, %a)
        %k : int = aten::len(%l)
        return (%k)
    """)
    assert db.may_alias(v["l"], v["m"]) and db.has_writers(v["l"])
    assert db.may_alias(v["a"], v["x"])
    assert not db.couldMoveBeforeTopologically(v["k"].node(), v["m"].node())


def test_an_if_gives_what_either_arm_gives() -> None:
    db, v = aliases("""
        %a : Tensor = aten::neg(%x)
        %b : Tensor = aten::neg(%x)
        %d : Tensor = aten::neg(%x)
        %r : Tensor = prim::If(%c)
          block0():
            -> (%a)
          block1():
            -> (%b)
        %w : Tensor = aten::neg_(%r)
        return (%d)
    """)
    assert (
        db.may_alias(v["r"], v["a"])
        and db.may_alias(v["r"], v["b"])
        and not db.may_alias(v["r"], v["d"])
    )
    assert not db.may_alias(v["a"], v["b"])
    assert db.has_writers(v["a"]) and db.has_writers(v["b"]) and not db.has_writers(v["d"])


LOOP = """
%a : Tensor = aten::neg(%x)
%o : Tensor = prim::Loop(%n, %true, %a)
  block0(%i : int, %k : Tensor):
    %k2 : Tensor = aten::add(%k, %k, %one)
    -> (%true, %k2)
%w : Tensor = aten::neg_(%o)
return (%a)
"""


def test_a_loop_may_not_run() -> None:
    db, v = aliases(LOOP)
    assert db.may_alias(v["o"], v["k2"]) and db.may_alias(v["k"], v["k2"])
    assert db.may_alias(v["o"], v["a"]) and db.has_writers(v["a"])  # PyTorch says no


def test_what_is_written_in_a_loop_was_carried_around() -> None:
    db, v = aliases("""
        %a : Tensor = aten::neg(%x)
        %b : Tensor = aten::neg(%x)
        %p : Tensor, %q : Tensor = prim::Loop(%n, %true, %a, %b)
          block0(%i : int, %j : Tensor, %k : Tensor):
            %w : Tensor = aten::neg_(%k)
            -> (%true, %k, %j)
        return (%p)
    """)
    assert db.may_alias(v["k"], v["a"]) and db.has_writers(v["a"])  # they change places every time
    assert db.writes_to_alias(v["p"].node(), [v["b"]])


# A container T of %a, where it is made, and how %e comes out of it again
CONTAINERS = {
    "list": ("Tensor[]", "prim::ListConstruct(%a)", "%e : Tensor = aten::__getitem__(%o, %zero)"),
    "unpacked list": (
        "Tensor[]",
        "prim::ListConstruct(%a, %a)",
        "%e : Tensor, %f : Tensor = prim::ListUnpack(%o)",
    ),
    "tuple": (
        "(Tensor, int)",
        "prim::TupleConstruct(%a, %n)",
        "%e : Tensor = prim::TupleIndex(%o, %zero)",
    ),
    "unpacked tuple": (
        "(int, Tensor)",
        "prim::TupleConstruct(%n, %a)",
        "%m : int, %e : Tensor = prim::TupleUnpack(%o)",
    ),
    "dict": (
        "Dict(int, Tensor)",
        "prim::DictConstruct(%n, %a)",
        "%e : Tensor = aten::__getitem__(%o, %n)",
    ),
    **{
        f"list, {call}": (
            "Tensor[]",
            "prim::ListConstruct(%a)",
            f"%l : Tensor[] = aten::{call}\n%e : Tensor = aten::__getitem__(%l, %zero)",
        )
        for call in (
            "slice(%o, %zero, %one, %one)",
            "add(%o, %o)",
            "mul(%o, %one)",
            "copy(%o)",
            "list(%o)",
        )
    },
    **{
        f"dict, {call}": ("Dict(int, Tensor)", "prim::DictConstruct(%n, %a)", f"%{call}")
        for call in (
            "l : Tensor[] = aten::values(%o)\n%e : Tensor = aten::__getitem__(%l, %zero)",
            "l : Dict(int, Tensor) = aten::copy(%o)\n%e : Tensor = aten::__getitem__(%l, %n)",
            "e : Tensor = aten::pop(%o, %n)",
            "e : Tensor = aten::get(%o, %n, %y)",
            "l : (int, Tensor)[] = aten::items(%o)\n%t : (int, Tensor) = aten::__getitem__(%l, "
            "%zero)\n"
            "%e : Tensor = prim::TupleIndex(%t, %one)",
        )
    },
}
PLACES = {
    "here": "%o : T = make",
    "if": (
        "%o : T = prim::If(%c)\nblock0():\n%p : T = make\n-> (%p)\nblock1():\n%q : T = make\n-> "
        "(%q)"
    ),
    "loop": (
        "%s : T = make\n%o : T = prim::Loop(%n, %true, %s)\nblock0(%i : int, %k : T):\n%p : T = "
        "make\n-> (%true, %p)"
    ),
    "if in a loop": (
        "%s : T = make\n%o : T = prim::Loop(%n, %true, %s)\n"
        "block0(%i : int, %k : T):\n%j : T = prim::If(%c)\n"
        "block0():\n%p : T = make\n-> (%p)\nblock1():\n-> (%k)\n-> (%true, %j)"
    ),
    "fork": "%h : Future(T) = prim::fork_0(%a, %n)\n%o : T = aten::wait(%h)",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_what_a_container_lets_out_is_what_went_in(container: str, place: str) -> None:
    """Wherever it was made: a write to it is a write to what went in, and no pass takes the two
    sums for one.
    """
    type, make, take = CONTAINERS[container]
    text = (
        f"""%a : Tensor = aten::neg(%x)
        {PLACES[place]}
        {take}
        %before : Tensor = aten::sum(%a, %none)
        %w : Tensor = aten::neg_(%e)
        %after : Tensor = aten::sum(%a, %none)
        %change : Tensor = aten::sub(%after, %before, %one)
        return (%change)
        with prim::fork_0 = graph(%a : Tensor, %n : int):
        %o : T = make
        return (%o)""".replace("T)", f"{type})")
        .replace(" T ", f" {type} ")
        .replace("make", make)
    )
    graph = graph_of(text if place == "fork" else text.partition("with")[0])
    db, v = AliasDb(graph), values_of(graph.block())
    assert db.may_alias(v["e"], v["a"]) and db.has_writers(v["a"])
    assert db.may_contain_alias(v["o"], v["a"]) and db.writes_to_alias(v["w"].node(), [v["o"]])
    run_pass("cse", graph, verify=True)
    # from -2 to 2
    assert interpret(graph, [internals.ones(2), internals.ones(2), 1, True]).item() == 4


@pytest.mark.parametrize("container", [None, *CONTAINERS])
def test_after_a_wait_anything_may_have_been_written_to(container: str | None) -> None:
    """By what was forked: to what it was given, or to what it found in there."""
    type, make, take = (
        CONTAINERS[container]
        if container
        else ("Tensor", "aten::detach(%a)", "%e : Tensor = aten::detach(%o)")
    )
    graph = graph_of(f"""%a : Tensor = aten::neg(%x)
        %o : {type} = {make}
        %before : Tensor = aten::sum(%a, %none)
        %h : Future(Tensor) = prim::fork_0(%o, %n, %y, %zero, %one)
        %done : Tensor = aten::wait(%h)
        %after : Tensor = aten::sum(%a, %none)
        %change : Tensor = aten::sub(%after, %before, %one)
        return (%change)
        with prim::fork_0 = graph(%o : {type}, %n : int, %y : Tensor, %zero : int, %one : int):
        {take}
        %w : Tensor = aten::neg_(%e)
        return (%w)""")
    db, v = AliasDb(graph), values_of(graph.block())
    assert db.has_writers(v["a"]) and db.writes_to_alias(v["done"].node(), [v["a"]])
    run_pass("cse", graph, verify=True)
    # from -2 to 2
    assert interpret(graph, [internals.ones(2), internals.ones(2), 1, True]).item() == 4


def test_code_that_is_not_here_may_do_anything() -> None:
    graph = graph_of("%a : Tensor = aten::neg(%x)\n%b : Tensor = aten::neg(%x)\nreturn (%b)")
    v = values_of(graph.block())
    call = graph.create("prim::CallFunction", [v["a"]]).insertBefore(graph.return_node())
    db = AliasDb(graph)
    assert db.has_writers(v["a"]) and not db.has_writers(v["b"])
    assert db.may_alias(call.output(), v["x"]) and db.has_untracked_effects(call)


def test_pieces_are_views_of_the_whole() -> None:
    db, v = aliases("""
        %a : Tensor = aten::neg(%x)
        %s : Tensor[] = aten::split(%a, %one, %zero)
        %f : Tensor = aten::__getitem__(%s, %zero)
        %w : Tensor = aten::neg_(%f)
        return (%a)
    """)
    assert db.may_alias(v["f"], v["a"]) and db.has_writers(v["a"])


def test_any_may_be_a_tensor() -> None:
    graph = parse_ir(
        "graph(%a : Any, %x : Tensor):\n  %w : Tensor = aten::neg_(%x)\n  return (%a)\n"
    )
    a, x = graph.inputs()
    assert AliasDb(graph).may_alias(a, x) and AliasDb(graph).has_writers(a)


def test_dump_names_everything() -> None:
    db, _ = aliases(VIEW)
    shown = str(db)
    assert db.dump() == shown == str(db.graph.alias_db())
    assert "%v points to: %a\n" in shown and "%x points to: WILDCARD for type Tensor\n" in shown
    assert shown.endswith("===3. Writes===\n%w : Tensor = aten::mul_(%v, %one)\n  %a\n")


def test_agrees_with_pytorch_on_these_graphs() -> None:
    """PyTorch's answers, but for loops that do not run. It has no may_alias in Python."""

    def said(graph: Any, db: Any) -> list[Any]:
        values = [*graph.inputs(), *(o for n in graph.nodes() for o in n.outputs())]
        return [(db.has_writers(a), [db.may_contain_alias(a, b) for b in values]) for a in values]

    def ask(torch: Any, text: str) -> list[Any]:
        graph = torch._C.parse_ir(text)
        return said(graph, graph.alias_db())

    for body in (
        VIEW,
        "%a : Tensor = aten::relu(%x)\n%w : Tensor = aten::mul_(%x, %one)\nreturn (%a)",
    ):
        graph = graph_of(body)
        text = str(graph)
        theirs = answer(lambda torch, text=text: ask(torch, text), about=text, family="jit")
        assert said(graph, AliasDb(graph)) == theirs


# Moves


def order(graph: Graph) -> list[str]:
    return [n.output().debugName() for n in graph.nodes() if n.kind() != "prim::Constant"]


def test_a_move_drags_along_what_it_needs() -> None:
    graph = graph_of("""
        %a : Tensor = aten::neg(%x)
        %b : Tensor = aten::relu(%x)
        %d : Tensor = aten::abs(%b)
        return (%a, %d)
    """)
    db, v = AliasDb(graph), values_of(graph.block())
    assert db.moveBeforeTopologicallyValid(v["d"].node(), v["a"].node())
    assert order(graph) == ["b", "d", "a"]
    assert db.moveAfterTopologicallyValid(v["b"].node(), v["a"].node())
    assert order(graph) == ["a", "b", "d"]
    graph.lint()


def test_a_move_pushes_away_what_depends_on_it() -> None:
    graph = graph_of("""
        %a : Tensor = aten::neg(%x)
        %b : Tensor = aten::relu(%a)
        %d : Tensor = aten::abs(%x)
        return (%b, %d)
    """)
    db, v = AliasDb(graph), values_of(graph.block())
    assert db.moveBeforeTopologicallyValid(v["a"].node(), v["d"].node())
    assert order(graph) == ["a", "d", "b"]


def test_nothing_moves_past_a_write_that_it_reads() -> None:
    graph = graph_of("""
        %a : Tensor = aten::neg(%x)
        %w : Tensor = aten::add_(%x, %y, %one)
        %b : Tensor = aten::neg(%x)
        return (%a, %b)
    """)
    db, v = AliasDb(graph), values_of(graph.block())
    assert not db.moveBeforeTopologicallyValid(v["b"].node(), v["a"].node())
    assert not db.couldMoveAfterTopologically(v["a"].node(), v["w"].node())
    assert order(graph) == ["a", "w", "b"]


def test_prints_and_random_numbers_stay_in_order() -> None:
    graph = graph_of("""
        %p : float = prim::Constant[value=0.5]()
        %a : Tensor = aten::dropout(%x, %p, %true)
        %b : Tensor = aten::dropout(%x, %p, %true)
        = prim::Print(%n)
        = prim::Print(%c)
        return (%a, %b)
    """)
    db = AliasDb(graph)
    a, b, first, second = list(graph.nodes())[-4:]
    assert not db.couldMoveBeforeTopologically(b, a) and not db.couldMoveBeforeTopologically(
        second, first
    )
    assert db.couldMoveBeforeTopologically(first, a)


def test_only_within_a_block() -> None:
    graph = graph_of(LOOP)
    v = values_of(graph.block())
    with pytest.raises(RuntimeError, match="different blocks"):
        AliasDb(graph).moveBeforeTopologicallyValid(v["k2"].node(), v["a"].node())


def run_block(block: Block, env: dict[Value, Any], inputs: list[Any]) -> list[Any]:
    """The simplest interpreter there is."""
    env.update(zip(block.inputs(), inputs))
    for node in block.nodes():
        args = [env[v] for v in node.inputs()]
        env.update(zip(node.outputs(), run_node(node, env, args)))
    return [env[v] for v in block.outputs()]


def run_node(node: Node, env: dict[Value, Any], args: list[Any]) -> list[Any]:
    if node.kind() == "prim::Constant":
        return [node.output().toIValue()]
    if node.kind() == "prim::ListConstruct":
        return [args]
    if node.kind() == "prim::If":
        return run_block(node.blocks()[0 if args[0] else 1], env, [])
    if node.kind() == "prim::Loop":
        carried = args[2:]
        for i in range(args[0]):
            carried = run_block(node.blocks()[0], env, [i, *carried])[1:]
        return carried
    operator = node.operator()
    assert operator is not None, node
    return [operator.fn(*args)][: node.outputsSize()]


STEPS = {
    "fresh": "%{v} : Tensor = aten::sub(%{t}, %{u}, %one)",
    "write": "%{v} : Tensor = aten::add_(%{t}, %{u}, %one)",
    "copy": "%{v} : Tensor = aten::neg_(%{t})",
    "view": "%{v} : Tensor = aten::detach(%{t})",
    "list": "%{v} : Tensor[] = prim::ListConstruct(%{t}, %{u})",
    "append": "%{v} : Tensor[] = aten::append(%{l}, %{t})",
    "item": "%{v} : Tensor = aten::__getitem__(%{l}, %zero)",
    "set": "%{v} : Tensor[] = aten::_set_item(%{l}, %zero, %{t})",
    "stack": (
        "%{v}s : Tensor = aten::stack(%{l}, %zero)\n%{v} : Tensor = aten::select(%{v}s, %zero, "
        "%zero)"
    ),
    "if": "%{v} : Tensor = prim::If(%c)\n  block0():\n    -> (%{t})\n"
    "  block1():\n    %{v}n : Tensor = aten::neg_(%{u})\n    -> (%{v}n)",
    "loop": "%{v} : Tensor = prim::Loop(%n, %true, %{t})\n  block0(%{v}i : int, %{v}k : Tensor):\n"
    "    %{v}n : Tensor = aten::sub(%{v}k, %{u}, %one)\n    -> (%true, %{v}n)",
}


@st.composite
def programs(draw: st.DrawFn) -> Graph:
    tensors, lists, body = (
        ["x", "y"],
        ["first"],
        ["%first : Tensor[] = prim::ListConstruct(%x, %y)"],
    )
    for i in range(draw(st.integers(3, 10))):
        step = draw(st.sampled_from(list(STEPS)))
        names = {
            "t": draw(st.sampled_from(tensors)),
            "u": draw(st.sampled_from(tensors)),
            "l": draw(st.sampled_from(lists)),
        }
        body += STEPS[step].format(v=f"v{i}", **names).split("\n")
        (lists if step in ("list", "append", "set") else tensors).append(f"v{i}")
    text = (
        HEAD
        + "".join(f"  {line}\n" for line in body)
        + f"  return ({', '.join('%' + t for t in tensors)})\n"
    )
    return parse_ir(text)


@examples(60)
@given(programs(), st.data())
def test_a_valid_move_changes_nothing(graph: Graph, data: st.DataObject) -> None:
    def outcome() -> list[Any]:
        results = []
        for n, together in ((0, False), (2, True)):
            x = internals.arange(4.0).view(2, 2)
            y = x if together else x + 1
            found = run_block(graph.block(), {}, [x, y, n, not together])
            results.append([t.tolist() for t in found])
        return results

    db, expected = AliasDb(graph), outcome()
    for _ in range(4):
        nodes = [n for n in graph.nodes() if n.kind() != "prim::Constant"]
        node, target = data.draw(st.sampled_from(nodes)), data.draw(st.sampled_from(nodes))
        move = data.draw(
            st.sampled_from([db.moveBeforeTopologicallyValid, db.moveAfterTopologicallyValid])
        )
        before = str(graph)
        if move(node, target):
            graph.lint()
            assert outcome() == expected, before
        else:
            assert str(graph) == before


@examples(60)
@given(programs())
def test_values_without_a_common_location_never_share_memory(graph: Graph) -> None:
    db = AliasDb(graph)
    env: dict[Value, Any] = {}
    run_block(graph.block(), env, [internals.ones(2, 2), internals.ones(2, 2), 1, True])
    tensors = [(v, t) for v, t in env.items() if hasattr(t, "untyped_storage")]
    for v, t in tensors:
        for w, u in tensors:
            if t.untyped_storage() is u.untyped_storage():
                assert db.may_alias(v, w), f"%{v.debugName()} and %{w.debugName()} in\n{graph}"


def test_an_operator_with_any_number_of_results_may_give_anything() -> None:
    register_operator("jit_test::parts(Tensor x) -> ...", lambda x: (x, x))
    try:
        graph = graph_of("%a : Tensor = aten::neg(%x)\nreturn (%a)")
        parts = graph.create("jit_test::parts", [graph.inputs()[0]], 2).insertBefore(
            graph.return_node()
        )
        db = AliasDb(graph)
        assert all(db.may_alias(part, graph.inputs()[0]) for part in parts.outputs())
    finally:
        del _registry.jit_only["jit_test::parts"]
        _registry.seen = (0, None)
