"""The last step of the track in `build_pass.py`: the reader's pass on real functions, in the
executor's own pipeline.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import fresh, replaced_pass, same, verified


def chain(x, y):  # type: ignore[no-untyped-def]
    return (x * y).exp() + (x * y).exp() * y


def before_the_arm(x, flag: bool):  # type: ignore[no-untyped-def]
    a = x.exp()
    if flag:
        a = a * x.exp()
    return a


def in_the_loop(x, n: int):  # type: ignore[no-untyped-def]
    y = x
    for i in range(n):
        y = y * x.exp() + x.exp() * i
    return y


def both_arms(x, flag: bool):  # type: ignore[no-untyped-def]
    if flag:
        r = x.exp() + 1
    else:
        r = x.exp() - 1
    return r * x.exp()


def written_between(x, y):  # type: ignore[no-untyped-def]
    a = x + y
    x.add_(1)
    return a * (x + y)


def handed_out(x, y):  # type: ignore[no-untyped-def]
    return x * y, x * y


def random(x, y):  # type: ignore[no-untyped-def]
    return torch.rand_like(x) - torch.rand_like(x) * y


def talking(x, y):  # type: ignore[no-untyped-def]
    print("seen")
    x = x * y
    print("seen")
    return x


def two_choices(x, flag: bool):  # type: ignore[no-untyped-def]
    a = 1
    if flag:
        a = 2
    b = 1
    if flag:
        b = 3
    return x * a + b


PROGRAMS = (
    two_choices,
    chain,
    before_the_arm,
    in_the_loop,
    both_arms,
    written_between,
    handed_out,
    random,
    talking,
)
MERGED = chain, in_the_loop, before_the_arm
SECOND = {
    two_choices: (True, False),
    before_the_arm: (True, False),
    both_arms: (True, False),
    in_the_loop: (2, 0),
}  # others get a tensor
FORM = (
    "one arm of the If uses what only the other one, or only the inside of a block, has computed: "
    "it may not have run"
)
BECAUSE = {
    "two_choices": (
        "the second If has other blocks than the first: nodes with blocks are equal to no other"
    ),
    "written_between": (
        "x was written to between the two additions, so the second computes something else"
    ),
    "handed_out": (
        "the caller got one tensor twice, and whoever writes to one result now changes the other"
    ),
    "random": (
        "two random numbers became one: a nondeterministic operator gives another result every time"
    ),
    "talking": (
        "a line was printed once instead of twice: a node with side effects has to run as often as "
        "written"
    ),
}

START = """
def my_cse(graph):
    aliases = graph.alias_db()

    def walk(block, outside):
        seen, changed = dict(outside), False
        for node in list(block.nodes()):
            for inner in node.blocks():
                changed |= walk(inner, seen)
            key = node_key(node)
            if key is None or not repeatable(node, aliases):
                continue
            first = seen.setdefault(key, node)
            if first is not node and safe_to_merge(aliases, node.outputs(), first.outputs()):
                node.replaceAllUsesWith(first)
                node.destroy()
                changed = True
        return changed

    return walk(graph.block(), {})

"""
REPEATABLE = """
def repeatable(node, aliases):
    if node.hasSideEffects() or node.isNondeterministic():
        return False
    return not is_written(aliases, node.inputs() + node.outputs())
"""
SOLUTION = REPEATABLE.strip() + "\n\n" + START.strip()


@exercise(
    level=3,
    title="Yours runs in the executor",
    ask="""
        Last step: a pass that can be let loose on everything. Write `my_cse(graph)`: as `merge`,
        and also inside the blocks of Ifs and loops, where what was computed before the block, and
        earlier in it, can be used; but not what only a block next door has computed. A node stays
        if it has side effects, is random, or reads or makes something that may be written to; and
        if the caller could tell the two results from one (`safe_to_merge`). The executor will run
        yours wherever it would run its own `cse`, verified, on nine functions, and each has to do
        exactly what it did before.""",
    given="""
        from internals.jit.passes.aliasing import is_written, safe_to_merge
        from internals.jit.passes.node_equality import node_key""",
    start="""
        def my_cse(graph):
            ...""",
    passes=("my_cse",),
    hints=(
        "A function of a block and of what was seen outside, which calls itself for the blocks of "
        "each node. It gets a *copy* of the dict, so that it can forget.",
        "Four questions before a node may be merged: `node.hasSideEffects()`, "
        "`node.isNondeterministic()`, `is_written(aliases, node.inputs() + node.outputs())`, "
        "`safe_to_merge(aliases, node.outputs(), first.outputs())`, with `aliases = "
        "graph.alias_db()`.",
    ),
    solution=SOLUTION,
    why="""
        That is `internals/jit/passes/cse.py`, and `EliminateCommonSubexpression` of PyTorch: the
        merging is three lines, the rest are reasons not to.""",
    mistakes=[
        Mistake(
            "A value of the graph never changes.",
            SOLUTION.replace(
                "return not is_written(aliases, node.inputs() + node.outputs())", "return True"
            ),
            "was written to between",
        ),
        Mistake(
            "Equal kind, equal inputs, equal result.",
            SOLUTION.replace(" or node.isNondeterministic()", ""),
            "two random numbers became one",
        ),
        Mistake(
            "A node without outputs is harmless.",
            SOLUTION.replace("node.hasSideEffects() or ", ""),
            "printed once",
        ),
        Mistake(
            "Equal tensors may be one.",
            SOLUTION.replace(" and safe_to_merge(aliases, node.outputs(), first.outputs())", ""),
            "one tensor twice",
        ),
        Mistake(
            "What was computed once is there for ever after.",
            SOLUTION.replace("dict(outside)", "outside"),
            "may not have run",
        ),
        Mistake(
            "A graph is the list of its nodes.",
            SOLUTION.replace("changed |= walk(inner, seen)", "pass"),
            "inside a block",
        ),
        Mistake(
            "A block has to do with itself only.",
            SOLUTION.replace("walk(inner, seen)", "walk(inner, {})"),
            "computed before the block",
        ),
    ],
)
def build_pass_3(my_cse: Callable[[Any], Any]) -> str:
    from internals.jit import run_pass

    for function in PROGRAMS:
        graph = fresh(function).graph.copy()
        try:
            verified(my_cse, graph)
        except Wrong as error:
            raise Wrong(f"`{function.__name__}`: {FORM if _order(error) else error}") from None
    calls = []

    def counted(graph: Any) -> Any:
        calls.append(graph)
        return my_cse(graph)

    with replaced_pass("cse", counted):
        for function in PROGRAMS:
            for second in SECOND.get(function, (torch.tensor([3.0, -1.0]),)):
                expected, result = (_told(f, second) for f in (function, fresh(function)))
                if (
                    expected[0] != result[0]
                    or not same(expected[1], result[1])
                    or _distinct(expected) != _distinct(result)
                ):
                    why = BECAUSE.get(function.__name__, "it has to do what it did before")
                    raise Wrong(
                        f"with your pass in the executor, `{function.__name__}` is wrong: {why}"
                    )
    for function in MERGED:
        yours, ours = fresh(function).graph.copy(), fresh(function).graph.copy()
        verified(my_cse, yours)
        run_pass("cse", ours)
        if len(yours.findAllNodes("aten::exp")) > len(ours.findAllNodes("aten::exp")):
            where = {
                "before_the_arm": "its arm computes again what was computed before the block",
                "in_the_loop": (
                    "the body of its loop computes the same twice; look inside a block as well"
                ),
            }.get(function.__name__, "it computes the same twice")
            raise Wrong(f"`{function.__name__}` works, but {where}")
    return f"the executor ran yours {len(calls)} times, and nine functions do what they did before"


def _told(function: Callable[..., Any], second: Any) -> tuple[str, Any]:
    """What a function prints and returns, for equal inputs and equal random numbers each time."""
    x = torch.tensor([0.5, 2.0])
    printed, state = io.StringIO(), torch.get_rng_state()
    torch.manual_seed(0)
    try:
        with contextlib.redirect_stdout(printed):
            result = function(x, second.clone() if isinstance(second, torch.Tensor) else second)
    finally:
        torch.set_rng_state(state)
    return printed.getvalue(), result


def _distinct(told: tuple[str, Any]) -> int:
    return len({t.data_ptr() for t in told[1]}) if isinstance(told[1], tuple) else 1


def _order(error: Wrong) -> bool:
    """Whether the verifier found a value that is used where it is not defined."""
    return "rule 'order'" in str(error)
