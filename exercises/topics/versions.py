"""Exercises of notebook 09: what a write does to backward, repairing a block, and a guard for what
is kept.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from internals import nn
from internals.autograd.graph import saved_tensors_hooks

ANSWER_1 = """
answer = {
    "y = x.sqrt(); y.mul_(2)": "refused",
    "y = x.sin(); y.mul_(2)": "right",
    "h = x * 1; y = h.sin(); h.mul_(2)": "refused",
    "y = x.exp(); y.detach().add_(1)": "refused",
    "y = x.exp(); y.data.add_(1)": "wrong",
    "y = x.exp(); y.clone().add_(1)": "right",
    "y = x.relu(); y.add_(0)": "refused",
    "h = x * 1; y = h * 3; h.zero_()": "right",
}"""


@exercise(
    level=1,
    title="Refused, right or wrong?",
    ask="""
        Eight programs. After each comes `y.sum().backward()`. Is it `"refused"`, or is the gradient
        in `x.grad` `"right"` (what one would measure by nudging `x` and running the program again),
        or silently `"wrong"`?""",
    given="x = torch.tensor([0.5, 1.5], requires_grad=True)",
    start="""
        answer = {
            "y = x.sqrt(); y.mul_(2)": ...,
            "y = x.sin(); y.mul_(2)": ...,
            "h = x * 1; y = h.sin(); h.mul_(2)": ...,
            "y = x.exp(); y.detach().add_(1)": ...,
            "y = x.exp(); y.data.add_(1)": ...,
            "y = x.exp(); y.clone().add_(1)": ...,
            "y = x.relu(); y.add_(0)": ...,
            "h = x * 1; y = h * 3; h.zero_()": ...,
        }""",
    hints=(
        "Two questions each time: who keeps the tensor that is overwritten, and is the write "
        "counted where the node looks?",
        "sqrt, exp and relu keep their result, sin its input, a product with a number nothing. "
        "Sections 2 and 3.",
    ),
    solution=ANSWER_1,
    why=(
        "What you write is of no importance: ask who has kept what you overwrite, and through "
        "which counter you go."
    ),
    mistakes=[
        Mistake(
            "To multiply by 2 is harmless: the derivative just doubles.",
            ANSWER_1.replace('sqrt(); y.mul_(2)": "refused"', 'sqrt(); y.mul_(2)": "right"'),
            "sqrt keeps its result",
        ),
        Mistake(
            "In-place operations and gradients do not go together.",
            ANSWER_1.replace(
                '"y = x.sin(); y.mul_(2)": "right"', '"y = x.sin(); y.mul_(2)": "refused"'
            ),
            "nobody keeps the result of sin",
        ),
        Mistake(
            "What is overwritten after use does no harm.",
            ANSWER_1.replace('h.sin(); h.mul_(2)": "refused"', 'h.sin(); h.mul_(2)": "right"'),
            "sin keeps its input",
        ),
        Mistake(
            "A detached tensor has nothing to do with autograd.",
            ANSWER_1.replace('detach().add_(1)": "refused"', 'detach().add_(1)": "wrong"'),
            "shares memory and counter",
        ),
        Mistake(
            ".data and detach() are the same.",
            ANSWER_1.replace('data.add_(1)": "wrong"', 'data.add_(1)": "refused"'),
            "fresh counter",
        ),
        Mistake(
            "Adding 0 changes nothing.",
            ANSWER_1.replace('add_(0)": "refused"', 'add_(0)": "right"'),
            "counts writes",
        ),
    ],
)
def versions_1(answer: dict[str, str]) -> str:
    because = {
        "y = x.sqrt(); y.mul_(2)": "sqrt keeps its result, y, and y was overwritten",
        "y = x.sin(); y.mul_(2)": (
            "nobody keeps the result of sin: its formula mentions the input alone"
        ),
        "h = x * 1; y = h.sin(); h.mul_(2)": "sin keeps its input, h, until backward",
        "y = x.exp(); y.detach().add_(1)": (
            "what detach() gives shares memory and counter with y, which exp keeps"
        ),
        "y = x.exp(); y.data.add_(1)": (
            ".data has the memory of y and a fresh counter, so that the write is not seen"
        ),
        "y = x.exp(); y.clone().add_(1)": "a clone has memory and a counter of its own",
        "y = x.relu(); y.add_(0)": "the counter counts writes, and does not look at values",
        "h = x * 1; y = h * 3; h.zero_()": "for the derivative of h * 3 nobody needs h",
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong("the answer is the dict above, with a word for each of its eight programs")
    for program, reason in because.items():
        if answer[program] not in ("refused", "right", "wrong"):
            raise Wrong(
                f"`{program}` is 'refused', 'right' or 'wrong'; {answer[program]!r} is none of them"
            )
        truth = _outcome(program)
        if answer[program] != truth:
            raise Wrong(f"`{program}` is {truth}: {reason}")
    return "who keeps it, and which counter: then the outcome is clear beforehand"


def _outcome(program: str) -> str:
    def run(x: Any) -> Any:
        names = {"x": x, "torch": torch}
        exec(program, names)
        return names["y"]

    at = torch.tensor([0.5, 1.5], dtype=torch.float64)
    measured = (run(at + 1e-6) - run(at - 1e-6)) / 2e-6
    x = at.clone().requires_grad_()
    y = run(x)
    try:
        y.sum().backward()
    except RuntimeError:
        return "refused"
    return "right" if torch.allclose(x.grad, measured, atol=1e-6) else "wrong"


BLOCK = """
def block(x, weight):
    a = (x * weight).sigmoid()
    a = a + x
    b = a.sin()
    b += 1
    c = b.exp()
    c = c + weight
    return c
"""


@exercise(
    level=2,
    title="Repair a block, no more than needed",
    ask="""
        This was written to save memory:

        ```python
        def block(x, weight):
            a = (x * weight).sigmoid()
            a += x
            b = a.sin()
            b += 1
            c = b.exp()
            c += weight
            return c
        ```

        Backward refuses. Write `block` so that it works, with the same result, and allocates no
        more tensors than it must: a write that does no harm stays in place.""",
    start="""
        def block(x, weight):
            ...""",
    passes=("block",),
    hints=(
        "Three writes: to the result of a sigmoid, of a sine and of an exponential. Which of these "
        "operations keep their result?",
        "A write to what is kept becomes `a = a + x`: the kept tensor stays as it was.",
    ),
    solution=BLOCK,
    why=(
        "Section 9: what decides about memory in training is what the formulas mention, not the "
        "number of underscores."
    ),
    mistakes=[
        Mistake(
            "The first refusal is the only one.",
            BLOCK.replace("c = c + weight", "c += weight"),
            "output 0 of Exp",
        ),
        Mistake(
            "Only the last write matters.",
            BLOCK.replace("a = a + x", "a += x"),
            "output 0 of Sigmoid",
        ),
        Mistake(
            "No in-place operation may stay.",
            BLOCK.replace("b += 1", "b = b + 1"),
            "harmless",
        ),
        Mistake(
            ".data makes the error go away.",
            BLOCK.replace("a = a + x", "a.data.add_(x)"),
            "gradient is wrong",
        ),
        Mistake(
            "detach() takes the tensor out of autograd, and the error with it.",
            BLOCK.replace("a = a + x", "a = a.detach() + x"),
            "cut",
        ),
    ],
)
def versions_2(block: Callable[[Any, Any], Any]) -> str:
    x = torch.linspace(-1.0, 1.0, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    weight = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    wanted = _repaired(x, weight)
    result = block(x, weight)
    if (
        not isinstance(result, torch.Tensor)
        or result.shape != wanted.shape
        or not torch.allclose(result, wanted)
    ):
        raise Wrong(f"the result is another one: {result!r}")
    try:
        got = torch.autograd.grad(result.sum(), (x, weight), allow_unused=True)
    except RuntimeError as error:
        victim = str(error).partition("which is ")[2].partition(", is at")[0]
        raise Wrong(
            f"backward still refuses: somebody keeps a tensor, {victim.strip()}, and it was "
            "overwritten"
        ) from None
    for name, slope, right in zip(
        ("x", "weight"), got, torch.autograd.grad(wanted.sum(), (x, weight))
    ):
        if slope is None or torch.allclose(
            slope, torch.autograd.grad(_cut(x, weight).sum(), (x,))[0]
        ):
            raise Wrong(
                f"the way to {name} was cut: a part of its gradient is missing, and no error says "
                "so"
            )
        if not torch.allclose(slope, right):
            raise Wrong(
                f"nothing is refused, but the gradient is wrong for {name}: a write went around "
                "the counter"
            )
    used, needed = (_allocations(f, x.detach(), weight) for f in (block, _repaired))
    if used > needed:
        raise Wrong(
            f"it works, but {used} tensors are allocated where {needed} do: one of the three "
            "writes was harmless"
        )
    return f"{needed} tensors, and the one write that hurts nobody stays in place"


def _repaired(x: Any, weight: Any) -> Any:
    shifted = ((x * weight).sigmoid() + x).sin()
    return shifted.add_(1).exp() + weight


def _cut(x: Any, weight: Any) -> Any:
    return ((x * weight).sigmoid().detach() + x).sin().add_(1).exp() + weight


def _allocations(f: Callable[[Any, Any], Any], x: Any, weight: Any) -> int:
    before = torch.cpu.memory_stats()["allocation.all.allocated"]
    result = f(x, weight)
    after: int = torch.cpu.memory_stats()["allocation.all.allocated"]
    del result
    return after - before


GUARD = """
def pack(t):
    return t.detach(), t._version

def unpack(kept):
    t, version = kept
    if t._version != version:
        raise RuntimeError(
            f"{tuple(t.shape)} is at version {t._version}; expected version {version}"
        )
    return t
"""


@exercise(
    level=3,
    title="A guard of your own",
    ask="""
        With saved-tensor hooks the nodes keep whatever `pack(t)` returns, get back what
        `unpack(kept)` returns, and no longer check versions: that is now your business. Write both.
        `unpack` returns the tensor, or raises a RuntimeError that names the version it has and the
        version that was expected. Nothing may be copied, every counted write must be noticed
        (through views and detached tensors, too), and a graph that is dropped must be gone at
        once.""",
    start="""
        def pack(t):
            ...

        def unpack(kept):
            ...""",
    passes=("pack", "unpack"),
    hints=(
        "What does a `SavedVariable` hold, besides the tensor (section 1)? And why is there a "
        "`SavedOutput` for results?",
        "A node that keeps its own result keeps itself: result, grad_fn, result. Which alias has "
        "t's memory and counter, and no history?",
    ),
    solution=GUARD,
    why=(
        "`save` and `save_output` in `internals/autograd/saved_variable.py` are this, and "
        "`SavedVariable::unpack` in PyTorch."
    ),
    mistakes=[
        Mistake(
            "A copy is safe.",
            """
            def pack(t):
                return t.clone(), t._version

            def unpack(kept):
                return kept[0]""",
            "copied",
        ),
        Mistake(
            "Keep the tensor itself.",
            GUARD.replace("t.detach(), t._version", "t, t._version"),
            "keeps itself alive",
        ),
        Mistake(
            ".data is a tensor without history.",
            GUARD.replace("t.detach(), t._version", "t.data, t._version").replace(
                "t._version != version", "t._version > version"
            ),
            "fresh counter",
        ),
        Mistake(
            "What is overwritten has other values.",
            """
            def pack(t):
                return t.detach(), t.sum().item()

            def unpack(kept):
                t, total = kept
                if t.sum().item() != total:
                    raise RuntimeError("is at another version than the expected version")
                return t""",
            "same sum",
        ),
        Mistake(
            "The version is read when it is needed.",
            """
            def pack(t):
                return t.detach()

            def unpack(t):
                version = t._version
                if t._version != version:
                    raise RuntimeError(f"is at version {t._version}; expected version {version}")
                return t""",
            "was not noticed",
        ),
    ],
)
def versions_3(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> str:
    _trains_the_same(pack, unpack)
    with saved_tensors_hooks(pack, unpack):
        y = torch.ones(3, requires_grad=True).exp()
    node = weakref.ref(y.grad_fn)
    del y
    if node() is not None:
        gc.collect()
        raise Wrong(
            "a node keeps itself alive by keeping its result, with its history: the graph is gone, "
            "and its memory is not"
        )
    x = torch.ones(1024, requires_grad=True)
    before = torch.cpu.memory_stats()["allocated_bytes.all.current"]
    with saved_tensors_hooks(pack, unpack):
        y = x.exp()
    more = torch.cpu.memory_stats()["allocated_bytes.all.current"] - before - y.nbytes
    if more > 0:
        raise Wrong(
            f"{more} bytes were copied: an alias of the same memory is enough, if its version is "
            "watched"
        )
    del y
    writes: dict[str, Callable[[Any], Any]] = {
        "y.add_(1)": lambda y: y.add_(1),
        "y[0] = 7.0": lambda y: y.__setitem__(0, 7.0),
        "y.detach().mul_(2)": lambda y: y.detach().mul_(2),
        "y[1:].zero_()": lambda y: y[1:].zero_(),
        "y.copy_(y.flip(0))": lambda y: y.copy_(y.flip(0)),
        "y.add_(0)": lambda y: y.add_(0),
    }
    for text, write in writes.items():
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with saved_tensors_hooks(pack, unpack):
            y = x.exp()
        write(y)
        try:
            y.sum().backward()
        except RuntimeError as error:
            if "version" not in str(error):
                raise Wrong(
                    "the message has to name both versions, the one it has and the one expected: "
                    f"{error}"
                ) from None
        else:
            if "copy_" in text:
                raise Wrong(
                    f"{text} was not noticed: the tensor has the same sum as before, and yet other "
                    "values"
                )
            if "add_(0)" in text:
                raise Wrong(
                    f"{text} was not noticed: count writes, as the others do, and do not compare "
                    "values"
                )
            raise Wrong(f"{text} was not noticed: {_why(pack)}")
    return "an alias and a number: that is all it takes to be sure"


def _why(pack: Callable[[Any], Any]) -> str:
    t = torch.ones(2)
    kept = pack(t)
    t.add_(1)
    parts = kept if isinstance(kept, (tuple, list)) else [kept]
    if any(isinstance(part, torch.Tensor) and part._version == 0 for part in parts):
        return (
            "what you keep has a fresh counter, as .data gives it; there is an alias that shares "
            "the counter of t"
        )
    return (
        "the version has to be written down when the tensor is packed, and compared when it is "
        "unpacked"
    )


def _trains_the_same(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Softmax(1))
        x = torch.randn(5, 3)
    model(x)[:, 0].log().sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    with saved_tensors_hooks(pack, unpack):
        loss = model(x)[:, 0].log().sum()
    try:
        loss.backward()
    except RuntimeError as error:
        raise Wrong(f"a model in which nothing is overwritten was refused: {error}") from None
    if not all(torch.allclose(p.grad, right) for p, right in zip(model.parameters(), wanted)):
        raise Wrong(
            "a model has other gradients with your hooks than without: unpack has to return what "
            "pack was given"
        )
