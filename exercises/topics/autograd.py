"""Exercises of notebook 07: the order of backward, hooks, and an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from internals.autograd.engine import GraphTask
from internals.autograd.graph import get_gradient_edge

FORWARD = """
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
a = x * w
b = a.exp()
c = w * 3
d = c + a
e = b * d
"""
ANSWER_1 = """
answer = {
    "order of the five nodes": "e d c b a",
    "edges that lead to a": 2,
    "edges that lead to w": 2,
    "tensors that d keeps": 0,
    "what b keeps": "b",
}"""


@exercise(
    level=1,
    title="Backward, before it runs",
    ask="""
        Five operations, and soon `e.backward()`. Say in which order the engine will run the nodes
        of `a`, `b`, `c`, `d`, `e` (five letters, the first to run first), how many edges lead to
        the node of `a` and to the `AccumulateGrad` of `w`, how many tensors the node of `d` keeps,
        and which of the seven tensors the node of `b` keeps (its name).""",
    given=FORWARD,
    start="""
        answer = {
            "order of the five nodes": ...,
            "edges that lead to a": ...,
            "edges that lead to w": ...,
            "tensors that d keeps": ...,
            "what b keeps": ...,
        }""",
    hints=(
        "Section 5: a node may run when all its edges have delivered; of those that may, the "
        "latest made goes first.",
        "After `e` both `b` and `d` have all they will get. Which of them was made later?",
    ),
    solution=ANSWER_1,
    why="`viz.autograd_steps(e=e, x=x, w=w)` shows it, click by click.",
    mistakes=[
        Mistake(
            "Backward does what forward did, in the same order.",
            ANSWER_1.replace("e d c b a", "a b c d e"),
            "from the result back",
        ),
        Mistake(
            "Ready nodes stand in a queue: first come, first served.",
            ANSWER_1.replace("e d c b a", "e b d c a"),
            "the latest made",
        ),
        Mistake(
            "A node follows its path to the end before the next path begins.",
            ANSWER_1.replace("e d c b a", "e d c a b"),
            "still waits for a gradient",
        ),
        Mistake(
            "`a` was computed once, so one edge leads to it.",
            ANSWER_1.replace('to a": 2', 'to a": 1'),
            "one edge for each use",
        ),
        Mistake(
            "A node keeps its inputs.",
            ANSWER_1.replace('"what b keeps": "b"', '"what b keeps": "a"'),
            "derivative of exp is exp",
        ),
        Mistake(
            "Every node has to keep what it was computed from.",
            ANSWER_1.replace('d keeps": 0', 'd keeps": 2'),
            "passed on as it is",
        ),
    ],
)
def autograd_1(answer: dict[str, Any]) -> str:
    names: dict[str, Any] = {"torch": torch}
    exec(FORWARD, names)
    tensors = {name: names[name] for name in "xwabcde"}
    node = {name: get_gradient_edge(t).node for name, t in tensors.items()}
    task = GraphTask([(node["e"], 0)], [torch.tensor(1.0)], keep_graph=True)
    edges = dict(task.dependencies)
    with torch.no_grad():
        ran = [next(name for name in node if node[name] is n) for n in iter(task.step, None)]
    order = [name for name in ran if name in "abcde"]
    asked = (
        "order of the five nodes",
        "edges that lead to a",
        "edges that lead to w",
        "tensors that d keeps",
        "what b keeps",
    )
    if not isinstance(answer, dict) or answer.keys() != set(asked):
        raise Wrong("the answer is the dict above, with its five keys")
    if not isinstance(answer[asked[0]], (str, list, tuple)):
        raise Wrong(f"the order is five letters, not {answer[asked[0]]!r}")
    said = [letter for letter in "".join(map(str, answer[asked[0]])) if letter.isalpha()]
    if sorted(said) != sorted(order):
        raise Wrong(f"the order names each of a, b, c, d, e once; yours is {' '.join(said)}")
    if said[0] != "e":
        raise Wrong(
            "backward goes from the result back: only e has a gradient to begin with, and "
            "the others wait for it"
        )
    if said.index("a") < max(said.index("b"), said.index("d")):
        raise Wrong(
            "a was used by b and by d: when only one of them has run, a still waits for a "
            "gradient, and must not run"
        )
    if said.index("c") < said.index("d"):
        raise Wrong("c was used by d, so its gradient comes from there: d runs before c")
    if said != order:
        raise Wrong(
            "several nodes may be ready at a time, and the latest made goes first: not "
            f"{' '.join(said)}"
        )
    for name, question in (("a", asked[1]), ("w", asked[2])):
        if answer[question] != edges[node[name]]:
            raise Wrong(
                f"not {answer[question]!r} edges lead to {name}: there is one edge for each use in "
                "the forward computation"
            )
    kept = {
        n: [
            s
            for s in node[n].saved_names
            if isinstance(getattr(node[n], f"_saved_{s}"), torch.Tensor)
        ]
        for n in "bd"
    }
    if answer[asked[3]] != len(kept["d"]):
        raise Wrong(
            f"d does not keep {answer[asked[3]]!r}: the gradient of a sum is passed on as it is, "
            "whatever was added"
        )
    memory = getattr(node["b"], f"_saved_{kept['b'][0]}").data_ptr()
    truth = next(name for name, t in tensors.items() if t.data_ptr() == memory)
    if answer[asked[4]] != truth:
        raise Wrong(
            f"b does not keep {answer[asked[4]]!r}: the derivative of exp is exp, and that is "
            "computed already"
        )
    return "wait for every edge, then the latest first: each node runs once"


@exercise(
    level=2,
    title="A limit for the gradient",
    ask="""
        Write `limit_gradient(t, limit)`: from now on the gradient that flows back through `t` (a
        leaf or not) is clamped to `[-limit, limit]`, element by element, after everything that
        arrives at `t` has been added up. It returns a handle whose `remove()` ends that. Values of
        `t` and gradients that belong to others stay as they are.""",
    start="""
        def limit_gradient(t, limit):
            ...""",
    passes=("limit_gradient",),
    hints=(
        "The last bet of section 6 registers a hook: it is called with the gradient of one tensor, "
        "once, and may replace it.",
        "What a hook returns replaces the gradient. What it writes in place may be the gradient of "
        "another tensor, too.",
    ),
    solution="""
        def limit_gradient(t, limit):
            return t.register_hook(lambda grad: grad.clamp(-limit, limit))""",
    why=(
        "`torch.nn.utils.clip_grad_value_` does it for leaves, after backward; a hook reaches any "
        "tensor, on the way."
    ),
    mistakes=[
        Mistake(
            "In place saves memory.",
            """
            def limit_gradient(t, limit):
                return t.register_hook(lambda grad: grad.clamp_(-limit, limit))""",
            "wrote into a gradient",
        ),
        Mistake(
            "To compute the new gradient is enough.",
            """
            def limit_gradient(t, limit):
                def hook(grad):
                    grad.clamp(-limit, limit)
                return t.register_hook(hook)""",
            "returned nothing",
        ),
        Mistake(
            "A tensor is clamped, so its gradient is.",
            """
            def limit_gradient(t, limit):
                with torch.no_grad():
                    t.clamp_(-limit, limit)
                return t.register_hook(lambda grad: grad)""",
            "values of t",
        ),
        Mistake(
            "A hook of the node sees the gradient of its result.",
            """
            def limit_gradient(t, limit):
                return t.grad_fn.register_hook(
                    lambda gave, got: (gave[0].clamp(-limit, limit), *gave[1:])
                )""",
            "behind the formula",
        ),
        Mistake(
            "The hook stays for good.",
            """
            def limit_gradient(t, limit):
                t.register_hook(lambda grad: grad.clamp(-limit, limit))""",
            "handle",
        ),
    ],
)
def autograd_2(limit_gradient: Callable[[Any, float], Any]) -> str:
    x = torch.tensor([1.0, 2.0, -3.0], requires_grad=True)
    y = x * 10
    handle = limit_gradient(y, 0.5)
    if not hasattr(handle, "remove"):
        raise Wrong(
            f"limit_gradient returned {handle!r}: register_hook gives a handle with remove(); pass "
            "it on"
        )
    if y.tolist() != [10.0, 20.0, -30.0]:
        raise Wrong(
            "the values of t have changed: the gradient is to be limited, and not what forward "
            "computed"
        )
    (y * torch.tensor([0.1, 2.0, -7.0])).sum().backward()
    if x.grad.tolist() == [1.0, 20.0, -70.0]:
        raise Wrong(
            "the gradient passed unchanged: the hook returned nothing, or nothing new, so the old "
            "gradient went on"
        )
    if x.grad.tolist() == [0.5, 0.5, -0.5]:
        raise Wrong(
            "you clamped behind the formula: a hook of the node gets what the node gave, which is "
            "for y's inputs"
        )
    if not torch.allclose(x.grad, torch.tensor([1.0, 5.0, -5.0])):
        raise Wrong(
            "y's gradient (0.1, 2, -7) limited to 0.5 is (0.1, 0.5, -0.5), times 10 for x; x got "
            f"{x.grad.tolist()}"
        )
    p, q = (torch.zeros(2, requires_grad=True) for _ in range(2))
    ours = torch.tensor([4.0, -4.0])
    handle = limit_gradient(p, 1.0)
    (p + q).backward(ours)
    if ours.tolist() != [4.0, -4.0] or q.grad.tolist() != [4.0, -4.0]:
        raise Wrong(
            "the hook wrote into a gradient that others use as well: + had passed the same tensor "
            "on to both sides"
        )
    if p.grad.tolist() != [1.0, -1.0]:
        raise Wrong(
            f"a leaf's gradient (4, -4) limited to 1 is (1, -1); p.grad is {p.grad.tolist()}"
        )
    p.grad = None
    (p * 0.75 + p * 0.75).sum().backward()
    if p.grad.tolist() != [1.0, 1.0]:
        raise Wrong(
            "0.75 arrives from each of two uses, 1.5 in all: limit what has been added up, not "
            "each part"
        )
    handle.remove()
    p.grad = None
    (p * 3).sum().backward()
    if p.grad.tolist() != [3.0, 3.0]:
        raise Wrong(
            "after handle.remove() the gradient is still limited: is it the handle of your hook?"
        )
    return "a hook of a tensor sees the whole gradient, and what it returns goes on"


from exercises.topics.autograd_engine import autograd_3  # the last one has a file of its own  # noqa: E402

__all__ = ["autograd_1", "autograd_2", "autograd_3"]
