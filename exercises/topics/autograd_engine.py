"""The last exercise of notebook 07: the engine itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise

GRADIENTS = """
def gradients(node, grad):
    \"\"\"Runs one node: a list of pairs (next node, gradient for it).\"\"\"
    results = node(grad)
    results = results if isinstance(results, tuple) else (results,)
    return [
        (target, g) for (target, _), g in zip(node.next_functions, results) if target is not None
    ]
"""
ENGINE = """
def backward(root):
    missing, waiting = {root.grad_fn: 0}, [root.grad_fn]
    while waiting:
        for target, _ in waiting.pop().next_functions:
            if target is not None:
                if target not in missing:
                    waiting.append(target)
                missing[target] = missing.get(target, 0) + 1
    ready, arrived, result = [root.grad_fn], {root.grad_fn: torch.ones_like(root)}, {}
    while ready:
        node = ready.pop()
        grad = arrived.pop(node)
        if hasattr(node, "variable"):
            result[node.variable] = grad
            continue
        for target, g in gradients(node, grad):
            arrived[target] = arrived[target] + g if target in arrived else g
            missing[target] -= 1
            if missing[target] == 0:
                ready.append(target)
    return result
"""


@exercise(
    level=3,
    title="An engine",
    ask="""
        Write `backward(root)`, an engine: it runs the real nodes behind a tensor with one element,
        and returns a dict from each leaf (`node.variable` of its `AccumulateGrad`) to its gradient.
        First count the edges that lead to each node; then run what is ready. Each node may run
        once; a graph may be thousands of nodes deep. `gradients(node, grad)` runs one node.""",
    given=GRADIENTS,
    start="""
        def backward(root):
            ...""",
    passes=("backward",),
    hints=(
        "Two walks over the graph: one counts, with a list of nodes still to visit; one runs nodes "
        "for which nothing is missing.",
        "In the second walk, for each (target, g): add g to what has arrived at target, count "
        "down, and when nothing is missing any more, target is ready.",
    ),
    solution=ENGINE,
    why=(
        "`GraphTask` in `internals/autograd/engine.py`, and `Engine::evaluate_function` in "
        "PyTorch, are this loop."
    ),
    mistakes=[
        Mistake(
            "Follow each path to its end.",
            """
            def backward(root):
                result = {}
                def follow(node, grad):
                    if hasattr(node, "variable"):
                        result[node.variable] = result.get(node.variable, 0) + grad
                    else:
                        for target, g in gradients(node, grad):
                            follow(target, g)
                follow(root.grad_fn, torch.ones_like(root))
                return result""",
            "times: follow no path",
        ),
        Mistake(
            "A node can run when the first gradient arrives.",
            """
            def backward(root):
                ready, seen = [root.grad_fn], {root.grad_fn}
                arrived, result = {root.grad_fn: torch.ones_like(root)}, {}
                while ready:
                    node = ready.pop(0)
                    grad = arrived[node]
                    if hasattr(node, "variable"):
                        result[node.variable] = grad
                        continue
                    for target, g in gradients(node, grad):
                        arrived[target] = arrived[target] + g if target in arrived else g
                        if target not in seen:
                            seen.add(target)
                            ready.append(target)
                return result""",
            "before all of its gradients had arrived",
        ),
        Mistake(
            "The last gradient to arrive is the gradient.",
            ENGINE.replace("arrived[target] + g if target in arrived else g", "g"),
            "replaced the other",
        ),
        Mistake(
            "Recursion is the natural way to walk a graph.",
            """
            def backward(root):
                missing, arrived, result = {}, {root.grad_fn: torch.ones_like(root)}, {}
                def count(node):
                    for target, _ in node.next_functions:
                        if target is not None:
                            if target not in missing:
                                missing[target] = 0
                                count(target)
                            missing[target] += 1
                count(root.grad_fn)
                ready = [root.grad_fn]
                while ready:
                    node = ready.pop()
                    grad = arrived.pop(node)
                    if hasattr(node, "variable"):
                        result[node.variable] = grad
                        continue
                    for target, g in gradients(node, grad):
                        arrived[target] = arrived[target] + g if target in arrived else g
                        missing[target] -= 1
                        if missing[target] == 0:
                            ready.append(target)
                return result""",
            "deeper than Python's stack",
        ),
    ],
)
def autograd_3(backward: Callable[[Any], dict[Any, Any]]) -> str:
    x, y = (
        torch.tensor([1.0, -2.0], requires_grad=True),
        torch.tensor([0.5, 3.0], requires_grad=True),
    )
    h = x * y
    _compare(backward, (h.tanh() * x + h).sum(), {"x": x, "y": y})
    start = torch.tensor(1.0, requires_grad=True)
    doubled = start
    for _ in range(8):
        doubled = doubled + doubled
    _compare(backward, doubled, {"start": start})
    late = start * 2
    _compare(backward, late * 3 + ((late.exp() + 1).log() * late), {"start": start})
    deep = start
    for _ in range(4000):
        deep = deep + 1
    try:
        _compare(backward, deep, {"start": start})
    except RecursionError:
        raise Wrong(
            "a graph of 4000 nodes is deeper than Python's stack: keep a list of nodes instead of "
            "recursing"
        ) from None
    return "count the edges, run what is ready, add up what arrives: every node once"


def _compare(backward: Callable[[Any], dict[Any, Any]], root: Any, leaves: dict[str, Any]) -> None:
    """Runs the reader's engine over a real graph, in which every node says when it runs; then the
    real engine.
    """
    before: dict[Any, list[Any]] = {root.grad_fn: []}
    waiting = [root.grad_fn]
    while waiting:
        node = waiting.pop()
        for target, _ in node.next_functions:
            if target is not None:
                if target not in before:
                    waiting.append(target)
                before.setdefault(target, []).append(node)
    order: list[Any] = []
    operations = [node for node in before if not hasattr(node, "variable")]
    handles = [
        node.register_prehook(lambda got, node=node: order.append(node)) for node in operations
    ]
    try:
        result = backward(root)
    finally:
        for handle in handles:
            handle.remove()
    if not isinstance(result, dict) or any(leaf not in result for leaf in leaves.values()):
        raise Wrong(
            f"backward has to return a dict with each leaf's gradient, {len(leaves)} here, not "
            f"{result!r}"
        )
    if len(order) > len(set(order)):
        most = max(Counter(order).values())
        raise Wrong(
            f"one node ran {most} times: follow no path further before all paths that meet there "
            "have arrived"
        )
    first = {node: n for n, node in enumerate(order)}
    for node in order:
        if any(first.get(earlier, len(order)) > first[node] for earlier in before[node]):
            raise Wrong(
                f"{node.name()} ran before all of its gradients had arrived: count the edges that "
                "lead to it first"
            )
    for (name, leaf), wanted in zip(
        leaves.items(), torch.autograd.grad(root, list(leaves.values()), retain_graph=True)
    ):
        got = result[leaf]
        if not isinstance(got, torch.Tensor) or got.shape != wanted.shape:
            raise Wrong(f"the gradient of {name} is a tensor like {name}, not {got!r}")
        if not torch.allclose(got, wanted):
            raise Wrong(
                f"the order is right, but {name} got {got.tolist()} instead of {wanted.tolist()}: "
                "where two gradients arrive, one replaced the other instead of being added"
            )
