"""Exercises of notebook 14, a track: common subexpression elimination, until the executor runs
yours instead of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import same, verified

REPEATS = """
graph(%x : Tensor, %y : Tensor, %c : bool):
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %single : float = prim::Constant[value=1.]()
  %uno : int = prim::Constant[value=1]()
  %a : Tensor = aten::sub(%x, %y, %one)
  %b : Tensor = aten::sub(%y, %x, %one)
  %d : Tensor = aten::sub(%x, %y, %one)
  %e : Tensor = aten::mul(%x, %y)
  %f : Tensor = aten::sub(%x, %y, %one)
  %g : Tensor = aten::mul(%x, %x)
  %h : Tensor = aten::exp(%x)
  %i : Tensor = aten::neg(%x)
  %j : Tensor = prim::If(%c)
    block0():
      -> (%a)
    block1():
      -> (%b)
  %k : Tensor = prim::If(%c)
    block0():
      -> (%e)
    block1():
      -> (%b)
  %l : Tensor = aten::exp(%x)
  return (%d, %f, %g, %h, %i, %j, %k, %l)
"""


@exercise(
    level=2,
    title="Find what is computed twice",
    ask="""
        First step: find, do not change. Write `repeats(graph)`: a list of pairs `(first, later)` of
        nodes of the graph's own block, in the order of `later`. `later` computes what `first` has
        computed: same kind, same inputs in the same order, same attributes, same types of outputs.
        `first` is the first node that did. Nodes with blocks are equal to no other.""",
    start="""
        def repeats(graph):
            ...""",
    passes=("repeats",),
    hints=(
        "A dict from *what a node computes* to the first node that computed it. What must be in "
        "such a key?",
        "`node.kind()`, `v.unique()` of its inputs, `v.type()` of its outputs, and of its "
        "attributes `(name, node.attribute(name)) for name in node.attributeNames()`, all as "
        "tuples. `node.blocks()` is empty for most.",
    ),
    solution="""
        def repeats(graph):
            seen, found = {}, []
            for node in graph.nodes():
                if node.blocks():
                    continue
                inputs = tuple(v.unique() for v in node.inputs())
                types = tuple(v.type() for v in node.outputs())
                attributes = tuple(
                    (name, node.attribute(name)) for name in sorted(node.attributeNames())
                )
                first = seen.setdefault((node.kind(), inputs, types, attributes), node)
                if first is not node:
                    found.append((first, node))
            return found""",
    why=(
        "This key is `node_key` of `internals/jit/passes/node_equality.py`, which also looks at "
        "tensors among the attributes."
    ),
    mistakes=[
        Mistake(
            "The value of a constant says what it is.",
            """
            def repeats(graph):
                seen, found = {}, []
                for node in graph.nodes():
                    inputs = tuple(v.unique() for v in node.inputs())
                    attributes = tuple(
                        (name, node.attribute(name)) for name in sorted(node.attributeNames())
                    )
                    first = seen.setdefault((node.kind(), inputs, attributes), node)
                    if first is not node and not node.blocks():
                        found.append((first, node))
                return found""",
            "1, 1.0 and True",
        ),
        Mistake(
            "The order of inputs does not matter.",
            """
            def repeats(graph):
                seen, found = {}, []
                for node in graph.nodes():
                    inputs = frozenset(v.unique() for v in node.inputs())
                    types = tuple(v.type() for v in node.outputs())
                    attributes = tuple(
                        (name, node.attribute(name)) for name in sorted(node.attributeNames())
                    )
                    first = seen.setdefault((node.kind(), inputs, types, attributes), node)
                    if first is not node and not node.blocks():
                        found.append((first, node))
                return found""",
            "x - y is not y - x",
        ),
        Mistake(
            "Kind and inputs say it all.",
            """
            def repeats(graph):
                seen, found = {}, []
                for node in graph.nodes():
                    inputs = tuple(v.unique() for v in node.inputs())
                    types = tuple(v.type() for v in node.outputs())
                    first = seen.setdefault((node.kind(), inputs, types), node)
                    if first is not node:
                        found.append((first, node))
                return found""",
            "inside their blocks",
        ),
        Mistake(
            "A node repeats the one before it.",
            """
            def repeats(graph):
                seen, found = {}, []
                for node in graph.nodes():
                    inputs = tuple(v.unique() for v in node.inputs())
                    types = tuple(v.type() for v in node.outputs())
                    attributes = tuple(
                        (name, node.attribute(name)) for name in sorted(node.attributeNames())
                    )
                    key = node.kind(), inputs, types, attributes
                    if key in seen and not node.blocks():
                        found.append((seen[key], node))
                    seen[key] = node
                return found""",
            "the first that computed it",
        ),
    ],
)
def build_pass_1(repeats: Callable[[Any], Any]) -> str:
    from internals.jit import parse_ir
    from internals.jit.passes.node_equality import node_key

    graph = parse_ir(REPEATS)
    text, truth = str(graph), []
    firsts: dict[Any, Any] = {}
    for node in graph.nodes():
        key = node_key(node)
        if key is not None and firsts.setdefault(key, node) is not node:
            truth.append((firsts[key], node))
    found = repeats(graph)
    if str(graph) != text:
        raise Wrong("your function changed the graph; this step only looks")
    nodes = set(graph.nodes())
    if not isinstance(found, list) or not all(
        isinstance(p, (tuple, list)) and len(p) == 2 and nodes.issuperset(p) for p in found
    ):
        raise Wrong("repeats returns a list of pairs, each of two nodes of the graph")
    found = [tuple(pair) for pair in found]
    for first, later in found:
        one, two = (str(node).strip() for node in (first, later))
        if (first, later) in truth:
            continue
        if node_key(later) is not None and node_key(first) == node_key(later):
            raise Wrong(
                "the first that computed it is not this, or stands on the wrong side of the pair: "
                f"{one} and {two}"
            )
        if first.blocks() or later.blocks():
            raise Wrong(
                "two Ifs of the same condition are not the same: they differ in what stands inside "
                "their blocks"
            )
        if first.kind() == "prim::Constant":
            raise Wrong(
                "1, 1.0 and True are equal in Python, and no two of them are the same constant: "
                f"{one} and {two}"
            )
        if sorted(v.unique() for v in first.inputs()) == sorted(v.unique() for v in later.inputs()):
            raise Wrong(f"the order of inputs counts, x - y is not y - x: {one} and {two}")
        raise Wrong(f"these do not compute the same: {one} and {two}")
    for pair in truth:
        if pair not in found:
            raise Wrong(f"this pair is missing: {' and '.join(str(node).strip() for node in pair)}")
    if found != truth:
        raise Wrong("all pairs are right, but not in the order of their later nodes, each once")
    return f"{len(found)} pairs, and none of those that only look alike"


STRAIGHT = [
    """
graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::mul(%x, %y)
  %c : Tensor = aten::exp(%a)
  %d : Tensor = aten::exp(%b)
  %e : Tensor = aten::mul(%c, %d)
  return (%e)
""",
    """
graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::mul(%x, %y)
  %c : Tensor = aten::mul(%b, %b)
  %d : Tensor = aten::mul(%x, %y)
  %e : Tensor = aten::mul(%c, %d)
  return (%e)
""",
    """
graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::mul(%y, %x)
  %c : Tensor = aten::mul(%a, %b)
  return (%c)
""",
]


@exercise(
    level=2,
    title="Merge them",
    ask="""
        Second step: rewrite. Write the pass `merge(graph)` for graphs without blocks and without
        writes: whatever an earlier node has computed already is taken from there, and the later
        node is destroyed. Merging two nodes may make the next two equal; one call must find those
        too. Return whether the graph was changed. `node_key(node)` is the key of step 1.""",
    given="from internals.jit.passes.node_equality import node_key",
    start="""
        def merge(graph):
            ...""",
    passes=("merge",),
    hints=(
        "Walk once, from the top, and act at once: then the inputs of the nodes behind are the "
        "merged ones when you get there.",
        "`later.output().replaceAllUsesWith(first.output())`, and then, when nobody uses it any "
        "more, `later.destroy()`. Walk over `list(graph.nodes())`.",
    ),
    solution="""
        def merge(graph):
            seen, changed = {}, False
            for node in list(graph.nodes()):
                first = seen.setdefault(node_key(node), node)
                if first is not node:
                    node.replaceAllUsesWith(first)
                    node.destroy()
                    changed = True
            return changed""",
    why=(
        "`Node.replaceAllUsesWith` does it for all outputs of a node. The order of one walk does "
        "the work of a repetition."
    ),
    mistakes=[
        Mistake(
            "First find all, then change.",
            """
            def merge(graph):
                seen, found = {}, []
                for node in graph.nodes():
                    first = seen.setdefault(node_key(node), node)
                    if first is not node:
                        found.append((first, node))
                for first, node in found:
                    node.replaceAllUsesWith(first)
                    node.destroy()
                return bool(found)""",
            "became equal",
        ),
        Mistake(
            "A node can go while somebody uses it.",
            """
            def merge(graph):
                seen, changed = {}, False
                for node in list(graph.nodes()):
                    first = seen.setdefault(node_key(node), node)
                    if first is not node:
                        node.destroy()
                        changed = True
                return changed""",
            "first give its users",
        ),
        Mistake(
            "Which of the two stays does not matter.",
            """
            def merge(graph):
                seen, changed = {}, False
                for node in list(graph.nodes()):
                    key = node_key(node)
                    if key in seen:
                        seen[key].replaceAllUsesWith(node)
                        seen[key].destroy()
                        changed = True
                    seen[key] = node
                return changed""",
            "the earlier one has to stay",
        ),
        Mistake(
            "The dead will be swept by somebody.",
            """
            def merge(graph):
                seen, changed = {}, False
                for node in list(graph.nodes()):
                    first = seen.setdefault(node_key(node), node)
                    if first is not node:
                        node.replaceAllUsesWith(first)
                        changed = True
                return changed""",
            "nobody uses it",
        ),
        Mistake(
            "A pass need not say anything.",
            """
            def merge(graph):
                seen = {}
                for node in list(graph.nodes()):
                    first = seen.setdefault(node_key(node), node)
                    if first is not node:
                        node.replaceAllUsesWith(first)
                        node.destroy()
                return False""",
            "has to return True",
        ),
    ],
)
def build_pass_2(merge: Callable[[Any], Any]) -> str:
    from internals.jit import ScriptFunction, parse_ir, run_pass

    removed = 0
    for text in STRAIGHT:
        before, graph, wanted = parse_ir(text), parse_ir(text), parse_ir(text)
        run_pass("cse", wanted)
        try:
            verified(merge, graph)
        except Wrong as error:
            if "'order'" in str(error):
                raise Wrong(
                    f"the earlier one has to stay, whoever stands between the two needs it: {error}"
                ) from None
            raise
        except RuntimeError as error:
            why = str(error).partition("\n")[0]
            if "is still used by" in why:
                raise Wrong(
                    f"{why}: first give its users the other's output, then destroy it"
                ) from None
            raise
        x, y = torch.tensor([0.5, 2.0]), torch.tensor([3.0, -1.0])
        if not same(ScriptFunction("merged", graph)(x, y), ScriptFunction("f", before)(x, y)):
            raise Wrong(f"the graph computes something else now: {_one_line(graph)}")
        dead = [str(n).strip() for n in graph.nodes() if not n.hasUses()]
        if dead:
            raise Wrong(
                f"{dead[0]} is still there and nobody uses it: destroy what you have replaced"
            )
        more = len(list(graph.nodes())) - len(list(wanted.nodes()))
        if more > 0 and str(graph) == str(before):
            raise Wrong(
                f"the graph is as it was, although something is computed twice: {_one_line(graph)}"
            )
        if more > 0:
            raise Wrong(
                "two nodes became equal when their inputs were merged, and are still two: "
                f"{_one_line(graph)}"
            )
        if verified(merge, graph).changed:
            raise Wrong(
                "called again, when nothing is left to merge, your pass says that it changed the "
                "graph"
            )
        removed += len(list(before.nodes())) - len(list(graph.nodes()))
    return (
        f"{removed} nodes fewer in {len(STRAIGHT)} graphs, the same results, and the verifier is "
        "content"
    )


def _one_line(graph: Any) -> str:
    return "; ".join(str(node).strip() for node in graph.nodes())


# The last step has a file of its own.
from exercises.topics.build_pass_in_executor import build_pass_3  # noqa: E402

__all__ = ["build_pass_1", "build_pass_2", "build_pass_3"]
