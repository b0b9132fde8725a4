"""Exercises of notebook 11: what a trace freezes, a function that can be traced, and a recorder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics._tape import Tape, check_lines, played, run_recorded
from internals.nn import functional as F

ANSWER_1 = """
answer = {
    "x * x.shape[0]": "right",
    "x * len(x)": "warned",
    "sum(x[i] for i in range(x.size(0)))": "silent",
    "x[: x.size(0) // 2]": "right",
    "x + 1 if x.sum() > 0 else x - 1": "warned",
    "torch.where(x.sum() > 0, x + 1, x - 1)": "right",
    "x.sum(0) if x.dim() == 2 else x": "silent",
    "torch.cat([x] * x.size(0))": "silent",
    "x * x.max().item()": "warned",
}"""


@exercise(
    level=1,
    title="Frozen?",
    ask="""
        Each function is traced with `torch.ones(2, 3)`. Its trace is called with other numbers,
        sizes and another number of dimensions. Is it `"right"`, or wrong after a warning
        (`"warned"`), or without one (`"silent"`)?""",
    start="""
        answer = {
            "x * x.shape[0]": ...,
            "x * len(x)": ...,
            "sum(x[i] for i in range(x.size(0)))": ...,
            "x[: x.size(0) // 2]": ...,
            "x + 1 if x.sum() > 0 else x - 1": ...,
            "torch.where(x.sum() > 0, x + 1, x - 1)": ...,
            "x.sum(0) if x.dim() == 2 else x": ...,
            "torch.cat([x] * x.size(0))": ...,
            "x * x.max().item()": ...,
        }""",
    hints=(
        "A trace breaks at the moment when a tensor becomes a Python value. And while a trace is "
        "recorded, a size is a tensor.",
        "Who asks for the value: an operator (then it stays in the graph), int, bool or item (then "
        "there is a warning), or `__index__` (then there is none)?",
    ),
    solution=ANSWER_1,
    why=(
        "The silent ones are the reason to give `check_inputs` that differ in size and in sign "
        "(`check_trace`)."
    ),
    mistakes=[
        Mistake(
            "Sizes are numbers, so they are frozen.",
            ANSWER_1.replace('x.shape[0]": "right"', 'x.shape[0]": "silent"'),
            "a size is a tensor",
        ),
        Mistake(
            "len(x) is the same as x.size(0).",
            ANSWER_1.replace('len(x)": "warned"', 'len(x)": "right"'),
            "insists on an int",
        ),
        Mistake(
            "A loop is recorded as a loop.",
            ANSWER_1.replace('range(x.size(0)))": "silent"', 'range(x.size(0)))": "right"'),
            "two rounds",
        ),
        Mistake(
            "Everything that freezes is warned about.",
            ANSWER_1.replace(
                'x.size(0))": "silent",\n    "x * x.max', 'x.size(0))": "warned",\n    "x * x.max'
            ),
            "asks for an index",
        ),
        Mistake(
            "A choice cannot be traced.",
            ANSWER_1.replace('x - 1)": "right"', 'x - 1)": "warned"'),
            "an operator like any other",
        ),
        Mistake(
            "The number of dimensions is data as well.",
            ANSWER_1.replace('else x": "silent"', 'else x": "right"'),
            "never was a tensor",
        ),
    ],
)
def tracing_1(answer: dict[str, str]) -> str:
    because = {
        "x * x.shape[0]": "while a trace is recorded a size is a tensor, and stays in the graph",
        "x * len(x)": "len insists on an int, so a tensor was converted, with a warning",
        "sum(x[i] for i in range(x.size(0)))": (
            "range asks for an index, without a warning, and two rounds were unrolled"
        ),
        "x[: x.size(0) // 2]": "the arithmetic of sizes is recorded, as that of tensors",
        "x + 1 if x.sum() > 0 else x - 1": (
            "`if` asks the tensor for a bool, with a warning, and one branch was recorded"
        ),
        "torch.where(x.sum() > 0, x + 1, x - 1)": (
            "torch.where is an operator like any other, and computes both"
        ),
        "x.sum(0) if x.dim() == 2 else x": (
            "x.dim() is a plain number even in a trace; it never was a tensor, so nobody warns"
        ),
        "torch.cat([x] * x.size(0))": "to repeat a list Python asks for an index, and nobody warns",
        "x * x.max().item()": (
            "item() makes a number of a tensor, with a warning, and 1 was recorded"
        ),
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong("the answer is the dict above, with a word for each of its nine functions")
    for expression, reason in because.items():
        if answer[expression] not in ("right", "warned", "silent"):
            raise Wrong(
                f"`{expression}` is 'right', 'warned' or 'silent'; {answer[expression]!r} is none "
                "of them"
            )
        truth = _fate(eval(f"lambda x: {expression}", {"torch": torch, "__name__": "__main__"}))
        if answer[expression] != truth:
            raise Wrong(f"`{expression}` is {truth}: {reason}")
    return "an operator stays, a Python value freezes, and not every door has a guard"


def _fate(function: Callable[[Any], Any]) -> str:
    traced, caught = _traced(function, torch.ones(2, 3))
    others = (torch.arange(-12.0, 3.0).reshape(5, 3), torch.tensor([-1.0, -2.0, -3.0, 5.0]))
    if all(_equal(traced(x), function(x)) for x in others):
        return "right"
    return "warned" if caught else "silent"


def _traced(function: Callable[[Any], Any], example: Any) -> tuple[Any, list[str]]:
    """The trace, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traced = torch.jit.trace(function, example, check_trace=False)
    return traced, [
        str(w.message) for w in caught if issubclass(w.category, torch.jit.TracerWarning)
    ]


def _equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and torch.allclose(a, b)


CHOSEN = """
def chosen(x):
    return torch.where(x.mean() > 1.0, x * 2 / x.size(0), x + 1)
"""


@exercise(
    level=2,
    title="A choice that survives the trace",
    ask="""
        Traced, this freezes twice:

        ```python
        def my_function(x):
            if x.mean() > 1.0:
                return x * 2 / len(x)
            return x + 1
        ```

        Write `chosen(x)`, which returns the same, and whose trace (it will be made with
        `torch.ones(2, 2)`) is right for every matrix, without a single warning.""",
    start="""
        def chosen(x):
            ...""",
    passes=("chosen",),
    hints=(
        "Which operator makes a choice without asking Python? And which way to ask for the number "
        "of rows stays in the graph?",
        "`torch.where(condition, a, b)` with a condition that is a tensor; `x.size(0)`. Or a "
        "scripted function, called by yours.",
    ),
    solution=CHOSEN,
    why=(
        "`torch.where` computes both sides. If that is too much, or one of them may fail, script "
        "the choice."
    ),
    mistakes=[
        Mistake(
            "The function is right as it is.",
            """
            def chosen(x):
                if x.mean() > 1.0:
                    return x * 2 / x.size(0)
                return x + 1""",
            "asked for a bool",
        ),
        Mistake(
            "len(x) is a size.",
            CHOSEN.replace("x.size(0)", "len(x)"),
            "len insists",
        ),
        Mistake(
            "A number can be computed with.",
            """
            def chosen(x):
                large = float(x.mean() > 1.0)
                return large * x * 2 / x.size(0) + (1 - large) * (x + 1)""",
            "asked for a float",
        ),
        Mistake(
            "torch.where takes what to choose if not, first.",
            """
            def chosen(x):
                return torch.where(x.mean() > 1.0, x + 1, x * 2 / x.size(0))""",
            "without a trace",
        ),
        Mistake(
            "Each element decides for itself.",
            CHOSEN.replace("x.mean()", "x"),
            "one decision",
        ),
        Mistake(
            "Warnings can be switched off.",
            """
            def chosen(x):
                import warnings
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if x.mean() > 1.0:
                        return x * 2 / x.size(0)
                    return x + 1""",
            "nobody told you",
        ),
    ],
)
def tracing_2(chosen: Callable[[Any], Any]) -> str:
    ones = torch.ones(2, 2)
    inputs = [
        ones,
        ones * 3,
        torch.ones(5, 2) * 4,
        torch.tensor([[9.0, -8.0], [0.5, 1.0]]),
        torch.tensor([[3.0]]),
    ]
    inputs.append(ones * 1.5)
    for x in inputs:
        wanted = x * 2 / len(x) if x.mean() > 1.0 else x + 1
        got = chosen(x)
        if not isinstance(got, torch.Tensor) or not _equal(got, wanted):
            if isinstance(got, torch.Tensor) and x is inputs[3]:
                raise Wrong(
                    "for numbers above and below 1 the result is another one: the mean makes one "
                    "decision for all"
                )
            raise Wrong(
                f"already without a trace chosen({x.tolist()}) is {got!r}, not {wanted.tolist()}"
            )
    traced, caught = _traced(chosen, ones)
    for text in caught:
        if "Using len" in text:
            raise Wrong(
                "len insists on a real int, so the number of rows is frozen: x.size(0) stays in "
                "the graph"
            )
        for kind in ("boolean", "integer", "float", "number", "index"):
            if f"Python {kind}" in text:
                word = {"boolean": "a bool", "integer": "an int", "float": "a float"}.get(
                    kind, f"a {kind}"
                )
                raise Wrong(
                    f"somebody asked for {word}: at this place a tensor became a Python value, and "
                    "the trace is frozen"
                )
        raise Wrong(f"the trace warns: {text.partition('. ')[0]}")
    for x in inputs:
        wanted = x * 2 / len(x) if x.mean() > 1.0 else x + 1
        if not _equal(traced(x), wanted):
            raise Wrong(
                f"nobody told you, but the trace is frozen: for {x.tolist()} it gives "
                f"{traced(x).tolist()}"
            )
    return "the choice is an operator now, and the size is asked for in each call"


TAPE = """
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import dispatcher, exclude_keys

class Tape:
    def __init__(self, *inputs):
        self.lines, self.names, self.kept = [], {}, []
        for t in inputs:
            self.enter(t)

    def enter(self, t):
        \"\"\"Gives a tensor the next name, and keeps it alive, so that its id stays its own.\"\"\"
        self.kept.append(t)
        self.names[id(t)] = f"%{len(self.kept) - 1}"
        return self.names[id(t)]
"""
RECORD = """
def record(tape, op, keys, *args):
    def named(a):
        if isinstance(a, (list, tuple)):
            return [named(each) for each in a]
        return tape.names.get(id(a), a)

    values = [named(a) for a in args]
    with exclude_keys(DispatchKey.Tracer):
        result = dispatcher.redispatch(op, keys, *args)
    tape.lines.append((op, values, tape.enter(result)))
    return result
"""


@exercise(
    level=3,
    title="The scribe",
    ask="""
        Write `record(tape, op, keys, *args)`, a kernel for the `Tracer` key. It runs the operator
        on the keys below, returns its result (a tensor), and appends `(op, values, name)` to
        `tape.lines`. In `values` every tensor that the tape knows is replaced by its name, also
        inside lists; everything else stays as it is. The result is entered under a new name. What
        an operator calls inside is not written down.""",
    given=TAPE,
    start="""
        def record(tape, op, keys, *args):
            ...""",
    passes=("record",),
    hints=(
        "`record` in internals/jit/tracing/recorder.py does it: names for the arguments, run, "
        "names for the results. In this order.",
        "`tape.names.get(id(a), a)` is the name of a known tensor, or the thing itself. And where "
        "the real one says `state.paused()`, `exclude_keys(DispatchKey.Tracer)` will do.",
    ),
    solution=RECORD,
    why=(
        "With `prim::Constant` for what stays as it is, and types, this is "
        "`internals/jit/tracing/recorder.py`."
    ),
    mistakes=[
        Mistake(
            "What runs is what is written down.",
            RECORD.replace("exclude_keys(DispatchKey.Tracer)", "torch.no_grad()"),
            "what it is made of",
        ),
        Mistake(
            "The arguments are the arguments.",
            RECORD.replace("[named(a) for a in args]", "list(args)"),
            "the example's tensors",
        ),
        Mistake(
            "Names can be looked up when all is done.",
            RECORD.replace(
                "(op, values, tape.enter(result))", "(op, [named(a) for a in args], name)"
            ).replace("    tape.lines", "    name = tape.enter(result)\n    tape.lines"),
            "its own result",
        ),
        Mistake(
            "Arguments are tensors or numbers.",
            RECORD.replace(
                "        if isinstance(a, (list, tuple)):\n"
                "            return [named(each) for each in a]\n",
                "",
            ),
            "inside the list",
        ),
        Mistake(
            "The scribe only writes.",
            RECORD.replace("    return result\n", ""),
            "returned None",
        ),
        Mistake(
            "To run an operator is to call it.",
            RECORD.replace(
                "    with exclude_keys(DispatchKey.Tracer):\n        result = "
                "dispatcher.redispatch(op, keys, *args)",
                "    result = op(*args)",
            ),
            "enters at the top",
        ),
    ],
)
def tracing_3(record: Callable[..., Any]) -> str:
    table = torch.tensor([10.0, 20.0, 30.0])
    weight = torch.arange(6.0).reshape(2, 3)

    def in_place(x: Any) -> Any:
        y = x.clone()
        y.add_(1)
        return y * y

    functions: list[tuple[str, Callable[[Any], Any]]] = [
        ("(x * 2 + table).relu()", lambda x: (x * 2 + table).relu()),
        ("torch.cat([x, x.tanh()]) * x.sum()", lambda x: torch.cat([x, x.tanh()]) * x.sum()),
        ("y = x.clone(); y.add_(1); y * y", in_place),
        ("F.linear(x, weight).relu()", lambda x: F.linear(x, weight).relu()),
    ]
    lines = 0
    for text, function in functions:
        example, other = torch.tensor([[1.0, -2.0, 3.0]]), torch.tensor([[-4.0, 5.0, 60.0]])
        tape, wanted = Tape(example), _traced(function, example)[0]
        run_recorded(record, tape, function, example)
        check_lines(
            text, tape, [n.kind() for n in wanted.graph.nodes() if n.kind().startswith("aten::")]
        )
        result = played(text, tape, other)
        if not _equal(result, function(other)):
            frozen = _equal(result, function(example))
            wanted_result = function(other).tolist()
            raise Wrong(
                f"{text}: the tape, played to other numbers, gives the result for the example: the "
                "example's tensors are in it, where names should be"
                if frozen
                else f"{text}: played to other numbers the tape gives {result.tolist()} instead of "
                f"{wanted_result}; is every tensor named, also inside the list that cat gets?"
            )
        lines += len(tape.lines)
    return (
        f"{lines} lines on tape, the same operators as in the real trace, and right for other "
        "inputs"
    )
