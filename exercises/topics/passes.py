"""Exercises of notebook 14: what a pass may do, which one did it, and one of your own in the
executor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, first_pass, fresh, same, table, verified
from exercises.topics._loops import (
    another_kind,
    carried,
    input_written,
    invariant,
    last_two,
    result_written,
)

LEFT = {
    "y_written": 2,
    "fresh_written": 1,
    "written_later": 2,
    "both_arms": 2,
    "before_the_arm": 1,
    "handed_out": 2,
}


@exercise(
    level=1,
    title="Computed once is enough?",
    ask="""
        Each of these functions says `x.exp()` twice. Run `cse` on its graph: how many `aten::exp`
        are left? Decide first. Then look: `run_pass("cse", graph)` on a copy, and
        `annotate_aliases`.""",
    given="""
        @torch.jit.script
        def y_written(x, y):
            a = x.exp()
            y.add_(1)
            return a * x.exp()

        @torch.jit.script
        def fresh_written(x, y):
            a = x.exp()
            y = (y * 2).add_(1)
            return a * x.exp() * y

        @torch.jit.script
        def written_later(x):
            a = x.exp() * x.exp()
            x.add_(1)
            return a

        @torch.jit.script
        def both_arms(x, flag: bool):
            if flag:
                r = x.exp() + 1
            else:
                r = x.exp() - 1
            return r

        @torch.jit.script
        def before_the_arm(x, flag: bool):
            a = x.exp()
            if flag:
                a = a + x.exp()
            return a

        @torch.jit.script
        def handed_out(x):
            return x.exp(), x.exp()

        functions = (
            y_written, fresh_written, written_later, both_arms, before_the_arm, handed_out
        )""",
    start=blank(LEFT),
    passes=("answer", "functions"),
    hints=(
        "Three questions for each pair: has the first surely run when the second does? May "
        "anything write to what they read? Could the caller tell one result from two?",
        "Nothing says that `y` is another tensor than `x`. And the analysis asks whether "
        "anything may write to `x`, not when.",
    ),
    solution=table(LEFT),
    why=(
        "What holds CSE back: memory, blocks, the caller. `written_later` could be merged; the "
        "pass is careful, not clever."
    ),
    mistakes=[
        Mistake(
            "Two names are two tensors.",
            table(LEFT, y_written=1),
            "may be called with the same tensor",
        ),
        Mistake(
            "A pass gives up wherever there is a write.",
            table(LEFT, fresh_written=2),
            "a tensor of its own",
        ),
        Mistake("The pass follows the order of writes.", table(LEFT, written_later=1), "not when"),
        Mistake(
            "The same line in both arms runs once.",
            table(LEFT, both_arms=1),
            "neither arm runs before the other",
        ),
        Mistake(
            "Nothing is merged across a block.", table(LEFT, before_the_arm=2), "has surely run"
        ),
        Mistake(
            "Equal values are as good as one.", table(LEFT, handed_out=1), "the caller gets both"
        ),
    ],
)
def passes_1(answer: dict[str, int], functions: tuple[Any, ...]) -> str:
    from internals.jit import run_pass

    because = {
        "y_written": (
            "it may be called with the same tensor twice: the write to y may change x between the "
            "two"
        ),
        "fresh_written": (
            "the write goes to y * 2, a tensor of its own, which x shares no memory with"
        ),
        "written_later": (
            "x is written to somewhere; the pass asks whether, not when, and leaves both alone"
        ),
        "both_arms": (
            "neither arm runs before the other, so neither can use what the other computed"
        ),
        "before_the_arm": (
            "the first exp has surely run when the arm does, so the arm can use its result"
        ),
        "handed_out": (
            "the caller gets both and may write to one of them: they must stay two tensors"
        ),
    }
    truth = {}
    for function in functions if isinstance(functions, tuple) else ():
        graph = function.graph.copy()
        run_pass("cse", graph)
        truth[function.name] = len(graph.findAllNodes("aten::exp"))
    if truth.keys() != because.keys():
        raise Wrong("`functions` are the six scripts above; leave them as they are")
    compare(answer, truth, lambda key, said: f"{key}: not {said!r}; {because[key]}", "a number")
    return (
        "memory, blocks, and what the caller gets: that is all that stands between two equal lines "
        "and one"
    )


def turned(x, y):  # type: ignore[no-untyped-def]
    return x.t().t().mm(y).tanh() + x.t().t().mm(y).tanh()


def mixed(x, y):  # type: ignore[no-untyped-def]
    for _ in range(3):
        z = x.mm(y)
        x = z.t().mm(z.t()).mm(z.t().t())
    return x


def plain(x, y):  # type: ignore[no-untyped-def]
    return x.mm(y).tanh()


@exercise(
    level=2,
    title="Which pass was it?",
    ask="""
        Write `who_removed(function, kind, *args)`: the names of the passes after which the graph
        has fewer nodes of this kind than before, in the order in which they ran, when the script is
        optimized for these arguments. `who_removed(traced_fn, "aten::t", torch.ones(2, 2))` was
        `["peephole"]` in section 1.""",
    start="""
        def who_removed(function, kind, *args):
            ...""",
    passes=("who_removed",),
    hints=(
        "`function.phases(*args)` gives a record for each pass, with the graph's text `before` and "
        "`after` it.",
        "In `before` and `after` a kind stands between ` = ` and a `(` or `[`: what tells "
        "`aten::t` from `aten::tanh`?",
    ),
    solution="""
        def who_removed(function, kind, *args):
            def count(text):
                return text.count(f"= {kind}(") + text.count(f"= {kind}[")
            return [r.name for r in function.phases(*args) if count(r.after) < count(r.before)]""",
    why="A record that keeps the text before and after is all that `viz.pipeline` has, too.",
    mistakes=[
        Mistake(
            "A pass that changed the graph removed the node.",
            """
            def who_removed(function, kind, *args):
                return [r.name for r in function.phases(*args) if r.changed]""",
            "changed something else",
        ),
        Mistake(
            "The text of a kind is found where the kind is.",
            """
            def who_removed(function, kind, *args):
                return [
                    r.name
                    for r in function.phases(*args)
                    if r.after.count(kind) < r.before.count(kind)
                ]""",
            "also the beginning of another",
        ),
        Mistake(
            "A node is a kind and its inputs.",
            """
            def who_removed(function, kind, *args):
                kind = f"= {kind}("
                return [
                    r.name
                    for r in function.phases(*args)
                    if r.after.count(kind) < r.before.count(kind)
                ]""",
            "in square brackets",
        ),
        Mistake(
            "It is gone only when none is left.",
            """
            def who_removed(function, kind, *args):
                kind = f"= {kind}("
                return [
                    r.name
                    for r in function.phases(*args)
                    if kind in r.before and kind not in r.after
                ]""",
            "fewer, not none",
        ),
        Mistake(
            "One pass is to blame.",
            """
            def who_removed(function, kind, *args):
                kind = f"= {kind}("
                return [
                    r.name
                    for r in function.phases(*args)
                    if r.after.count(kind) < r.before.count(kind)
                ][:1]""",
            "one pass after the other",
        ),
    ],
)
def passes_2(who_removed: Callable[..., Any]) -> str:
    tensors = torch.ones(2, 2), torch.ones(2, 2)
    cases = [
        (turned, "aten::t"),
        (turned, "aten::mm"),
        (mixed, "aten::t"),
        (mixed, "prim::Loop"),
        (plain, "aten::mm"),
    ]
    cases += [(mixed, "prim::Constant")]
    for function, kind in cases:
        script = fresh(function)
        records = script.phases(*tensors)

        def count(text: str, kind: str = kind) -> int:
            return len(re.findall(rf"= {kind}[\[(]", text))

        truth = [r.name for r in records if count(r.after) < count(r.before)]
        told = who_removed(script, kind, *tensors)
        if (told := list(told) if isinstance(told, (list, tuple)) else told) == truth:
            continue
        changed = [r.name for r in records if r.changed]
        loose = [r.name for r in records if r.after.count(kind) < r.before.count(kind)]
        gone = [r.name for r in records if count(r.before) and not count(r.after)]
        said = f"for {kind} in `{function.__name__}` it is {truth}, not {told!r}"
        if told == changed:
            raise Wrong(
                f"{said}: the others changed something else, a type perhaps. Count the nodes"
            )
        if told == loose:
            raise Wrong(
                f"{said}: this kind's name is also the beginning of another, as `aten::t` is of "
                "`aten::tanh`"
            )
        if told == gone:
            raise Wrong(f"{said}: fewer, not none. A pass may remove some and leave others")
        if told and told == truth[:1]:
            raise Wrong(f"{said}: they can go one pass after the other, each taking some")
        if kind == "prim::Constant":
            raise Wrong(
                f"{said}: a node may have attributes, which stand in square brackets before its "
                "inputs"
            )
        raise Wrong(f"{said}. Compare the number of such nodes in a record's `before` and `after`")
    return "names, in order, from nothing but text before and after"


KINDS = "aten::exp", "aten::tanh", "aten::sigmoid"


@exercise(
    level=3,
    title="Out of the loop",
    ask="""
        Write the pass `hoist(graph)`: a node of one of the `KINDS` in the body of a loop that takes
        only what was made before the loop computes the same in every turn, so move it in front of
        the loop. Also a chain: once `exp` is out, its `tanh` can follow. A node must stay if its
        input or its output may be written to (`is_written`), or if the caller may get hold of its
        output (`escapes`). Return whether anything was moved. The executor will run it on functions
        with loops; results have to stay what they were.""",
    given="""
        from internals.jit.passes.aliasing import escapes, is_written

        KINDS = "aten::exp", "aten::tanh", "aten::sigmoid\"""",
    start="""
        def hoist(graph):
            ...""",
    passes=("hoist",),
    hints=(
        "`graph.findAllNodes(\"prim::Loop\")`, a loop's `blocks()[0].nodes()`, a value's `node()`, "
        "`isBefore`, `moveBefore`.",
        "`aliases = graph.alias_db()` first, then two loops. A node may go if every one of its "
        "inputs has `value.node().isBefore(loop)`, and neither question about memory says no: "
        "`is_written(aliases, values)`.",
    ),
    solution="""
        def hoist(graph):
            aliases, changed = graph.alias_db(), False
            for loop in graph.findAllNodes("prim::Loop"):
                for node in list(loop.blocks()[0].nodes()):
                    ready = node.kind() in KINDS and all(
                        v.node().isBefore(loop) for v in node.inputs()
                    )
                    if not ready or is_written(aliases, node.inputs() + node.outputs()):
                        continue
                    if not escapes(aliases, node.outputs()):
                        node.moveBefore(loop)
                        changed = True
            return changed""",
    why="""
        Compilers call it loop-invariant code motion. These kinds cannot fail and have no side
        effects; a division of ints could not be moved, because a loop may take no turn at all.""",
    mistakes=[
        Mistake(
            "What stands in a loop can stand before it.",
            """
            def hoist(graph):
                changed = False
                for loop in graph.findAllNodes("prim::Loop"):
                    for node in list(loop.blocks()[0].nodes()):
                        if node.kind() in KINDS:
                            node.moveBefore(loop)
                            changed = True
                return changed""",
            "made inside the loop",
        ),
        Mistake(
            "A value of the graph never changes.",
            """
            def hoist(graph):
                changed = False
                for loop in graph.findAllNodes("prim::Loop"):
                    for node in list(loop.blocks()[0].nodes()):
                        if node.kind() in KINDS and all(
                            v.node().isBefore(loop) for v in node.inputs()
                        ):
                            node.moveBefore(loop)
                            changed = True
                return changed""",
            "writes to what the node reads",
        ),
        Mistake(
            "Only the input matters.",
            """
            def hoist(graph):
                aliases, changed = graph.alias_db(), False
                for loop in graph.findAllNodes("prim::Loop"):
                    for node in list(loop.blocks()[0].nodes()):
                        outside = all(v.node().isBefore(loop) for v in node.inputs())
                        if (
                            node.kind() in KINDS
                            and outside
                            and not is_written(aliases, node.inputs())
                        ):
                            node.moveBefore(loop)
                            changed = True
                return changed""",
            "each turn wrote to a tensor of its own",
        ),
        Mistake(
            "Equal tensors may be one tensor.",
            """
            def hoist(graph):
                aliases, changed = graph.alias_db(), False
                for loop in graph.findAllNodes("prim::Loop"):
                    for node in list(loop.blocks()[0].nodes()):
                        outside = all(v.node().isBefore(loop) for v in node.inputs())
                        if (
                            node.kind() in KINDS
                            and outside
                            and not is_written(aliases, node.inputs() + node.outputs())
                        ):
                            node.moveBefore(loop)
                            changed = True
                return changed""",
            "one and the same tensor",
        ),
        Mistake(
            "Nobody asks a pass whether it changed anything.",
            """
            def hoist(graph):
                aliases = graph.alias_db()
                for loop in graph.findAllNodes("prim::Loop"):
                    for node in list(loop.blocks()[0].nodes()):
                        outside = all(v.node().isBefore(loop) for v in node.inputs())
                        safe = not is_written(aliases, node.inputs() + node.outputs())
                        if (
                            node.kind() in KINDS
                            and outside
                            and safe
                            and not escapes(aliases, node.outputs())
                        ):
                            node.moveBefore(loop)
                return False""",
            "did not say so",
        ),
        Mistake(
            "A pass only has to find the node.",
            """
            def hoist(graph):
                return bool(graph.findAllNodes("prim::Loop"))""",
            "still in the loop",
        ),
    ],
)
def passes_3(hoist: Callable[[Any], Any]) -> str:
    because = {
        "input_written": (
            "the loop writes to what the node reads, so every turn computes something else"
        ),
        "result_written": "each turn wrote to a tensor of its own; now all write to the same one",
        "last_two": "the results are equal, but the caller got one and the same tensor as both",
    }
    try:
        verified(hoist, fresh(carried).graph.copy())
    except Wrong as error:
        where = (
            "a node was moved in front of the loop although its input is made inside the loop: "
            "nobody has it there"
        )
        raise Wrong(where if "'order'" in str(error) else str(error)) from None
    for function in (invariant, carried, input_written, result_written, last_two):
        verified(hoist, fresh(function).graph.copy())
        with first_pass(hoist):
            script = fresh(function)
            for turns in (0, 1, 3):
                expected = function(torch.ones(2), torch.ones(2), turns)
                result = script(torch.ones(2), torch.ones(2), turns)
                if not same(result, expected) or _tensors(result) != _tensors(expected):
                    why = because.get(
                        function.__name__, "it has to compute what it computed before"
                    )
                    raise Wrong(
                        f"`{function.__name__}` with {turns} turns is wrong when the executor runs "
                        f"your pass: {why}"
                    )
    left = fresh(invariant).graph.copy()
    hoist(left)
    inside = [
        n.kind() for loop in left.findAllNodes("prim::Loop") for n in loop.blocks()[0].nodes()
    ]
    if still := [kind for kind in inside if kind in KINDS]:
        chain = (
            ": after `exp` is out, what reads it can go as well" if still == ["aten::tanh"] else ""
        )
        raise Wrong(
            f"{' and '.join(still)} of a value made before the loop is still in the loop{chain}"
        )
    if verified(hoist, fresh(carried).graph.copy()).changed:
        raise Wrong("your pass says that it changed a graph in which nothing can be moved")
    if verified(hoist, fresh(another_kind).graph.copy()).changed:
        raise Wrong(
            "a node was moved that is none of the KINDS: of others nobody has said that they "
            "cannot fail"
        )
    return (
        "exp and tanh ran once instead of in every turn, and the functions that would have noticed "
        "are as they were"
    )


def _tensors(result: Any) -> int:
    return len({t.data_ptr() for t in result}) if isinstance(result, tuple) else 1
