"""Exercises of notebook 18: what becomes of a model when it is exported, who is let in, and
recordings kept by their guards.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, same, table

ARCHIVES = Path(__file__).resolve().parents[2] / "tests" / "archives" / "pt2"

BECAME = {
    "the branch `if x.size(1) > 3`": "nothing",
    "the argument scale, 2.0": "a constant",
    "the weight of head": "an input",
    "the batch size of x, 3": "a symbol",
    "the width of x, 4": "a guard",
    "the counter's new value, in small_core.pt2": "an output",
    "torch.cond, in choice.pt2": "an operator",
}


@exercise(
    level=1,
    title="What has become of it?",
    ask="""
        `Small` of section 1 was exported as `small.pt2`. What has become of each of these in the
        archive? Each of the words is used once: `"nothing"`, `"a constant"`, `"an input"`,
        `"an output"`, `"an operator"`, `"a symbol"`, and `"a guard"`, a number that is only checked
        at the door.""",
    start=blank(BECAME),
    hints=(
        "Sections 1, 3, 4 and 5, in this order. What did export know when it came to the `if`: a "
        "number or a symbol?",
        "The exporter was given a `Dim` for one of the two sizes. In the core program nothing is "
        "written to, so the counter must get out in another way.",
    ),
    solution=table(BECAME),
    why=(
        "What remains is a flat function of its state. Everything that Python decided is in none "
        "of its nodes."
    ),
    mistakes=[
        Mistake(
            "Control flow is in the graph, as in a script.",
            table(
                BECAME,
                **{
                    "the branch `if x.size(1) > 3`": "an operator",
                    "torch.cond, in choice.pt2": "nothing",
                },
            ),
            "taken once and for all",
        ),
        Mistake(
            "Parameters are constants of a trace.",
            table(
                BECAME,
                **{"the weight of head": "a constant", "the argument scale, 2.0": "an input"},
            ),
            "its default became",
        ),
        Mistake(
            "A trace freezes the batch size.",
            table(BECAME, **{"the batch size of x, 3": "a guard", "the width of x, 4": "a symbol"}),
            "was given a Dim",
        ),
        Mistake(
            "A buffer is part of the module.",
            table(BECAME, **{"the counter's new value, in small_core.pt2": "nothing"}),
            "copies it back",
        ),
        Mistake(
            "Weights are fetched by operators.",
            table(
                BECAME,
                **{"the weight of head": "an operator", "torch.cond, in choice.pt2": "an input"},
            ),
            "lifted",
        ),
    ],
)
def export_1(answer: dict[str, str]) -> str:
    truth = dict(zip(BECAME, _seen_in_archives()))
    because = dict(
        zip(
            BECAME,
            (
                "the size was the number 4, so the branch was taken once and for all",
                "nobody gave it, so its default became a number in the graph",
                "state is lifted: the graph is a function of its parameters",
                "the exporter was given a Dim for it, and tracked it through all sizes",
                "nobody said that it may vary; a call with another is refused",
                "the core program writes to nothing: the value comes out, and the signature says "
                "who copies it back",
                "a choice that depends on data has to be meant, and is an operator that takes two "
                "graphs",
            ),
        )
    )
    compare(
        answer, truth, lambda key, said: f"{key} has not become {said!r}: {because[key]}", "a word"
    )
    return "a flat graph, a signature, symbols and guards: that is an exported program"


@functools.cache
def _seen_in_archives() -> list[str]:
    """What the archives have of each key, looked up in them."""
    from internals import export

    small, core, choice = (
        export.load(ARCHIVES / f"{name}.pt2") for name in ("small", "small_core", "choice")
    )
    batch, width = small.sizes_of("x")
    constants = [node.output().toIValue() for node in small.graph.findAllNodes("prim::Constant")]
    try:
        small(torch.ones(3, int(width) + 1))
        refused = False
    except AssertionError:
        refused = True
    return [
        "an operator" if small.graph.findNode("prim::If") else "nothing",
        "a constant"
        if 2.0 in constants and "scale" not in small.graph_signature.user_inputs
        else "an input",
        "an input" if "head.weight" in small.graph_signature.parameters else "a constant",
        "a symbol" if isinstance(batch, str) else "a guard",
        "a guard" if isinstance(width, int) and refused else "a symbol",
        "an output" if "calls" in core.graph_signature.buffers_to_mutate.values() else "nothing",
        "an operator" if choice.graph.findNode("prim::If") else "nothing",
    ]


@exercise(
    level=2,
    title="Who is let in?",
    ask="""
        Write `let_in(program, name)`: for each dimension of the input called `name`, the smallest
        and the largest size with which the exported program lets a tensor in, as a list of pairs. A
        size that was a number when the program was exported must be that number.
        `let_in(program, "x")` of section 4 is `[(2, 64), (4, 4)]`.""",
    given="from internals import export",
    start="""
        def let_in(program, name):
            ...""",
    passes=("let_in",),
    hints=(
        "Two things that section 4 prints, one for the sizes of a value, and one for the ranges.",
        "`program.sizes_of(name)` gives ints and texts. A text need not be one symbol: "
        "`range_constraints` also has formulas, such as `'s17 + 1'`, with ranges of their own.",
    ),
    solution="""
        def let_in(program, name):
            ranges = program.range_constraints
            return [
                (size, size) if isinstance(size, int) else tuple(ranges[size])
                for size in program.sizes_of(name)
            ]""",
    why=(
        "The exporter derived the range of `2*s66` from that of `s66`, so a guard only has to "
        "compare."
    ),
    mistakes=[
        Mistake(
            "The range of a formula is that of its symbol.",
            """
            def let_in(program, name):
                found = []
                for size in program.sizes_of(name):
                    if isinstance(size, int):
                        found.append((size, size))
                    else:
                        symbol = next(
                            word for word in size.replace("*", " ").split() if word.startswith("s")
                        )
                        found.append(tuple(program.range_constraints[symbol]))
                return found""",
            "a formula of its symbol",
        ),
        Mistake(
            "The largest size is not let in, as in Python's range.",
            """
            def let_in(program, name):
                ranges = program.range_constraints
                sizes = program.sizes_of(name)
                return [
                    (s, s) if isinstance(s, int) else (ranges[s].lower, ranges[s].upper - 1)
                    for s in sizes
                ]""",
            "both ends are included",
        ),
        Mistake(
            "Only sizes that vary are checked.",
            """
            def let_in(program, name):
                ranges = program.range_constraints
                return [
                    tuple(ranges[size])
                    for size in program.sizes_of(name)
                    if not isinstance(size, int)
                ]""",
            "has to be that number",
        ),
        Mistake(
            "What is no symbol is not checked.",
            """
            def let_in(program, name):
                ranges = program.range_constraints
                return [
                    (0, None) if isinstance(s, int) else tuple(ranges[s])
                    for s in program.sizes_of(name)
                ]""",
            "cannot be anything else",
        ),
    ],
)
def export_2(let_in: Callable[[Any, str], Any]) -> str:
    from internals import export

    seen = 0
    for archive in ("small", "formulas", "tied_dynamic", "choice"):
        program = export.load(ARCHIVES / f"{archive}.pt2")
        for name in program.graph_signature.user_inputs:
            if archive == "formulas" and name == "n":
                continue  # an int
            sizes, ranges = program.sizes_of(name), program.range_constraints
            truth = [
                (size, size) if isinstance(size, int) else tuple(ranges[size]) for size in sizes
            ]
            told = let_in(program, name)
            said = f"{name} of {archive}.pt2, of sizes {sizes}: {truth}, not {told!r}"
            seen += len(truth)
            if (
                isinstance(told, (list, tuple))
                and [tuple(p) if isinstance(p, (list, tuple)) else p for p in told] == truth
            ):
                continue
            if not isinstance(told, (list, tuple)) or not all(
                isinstance(p, (list, tuple)) and len(p) == 2 for p in told
            ):
                raise Wrong(f"let_in returns a list of pairs, not {told!r}")
            if len(told) < len(truth):
                raise Wrong(
                    f"{said}. A pair for each dimension: what was a number has to be that number, "
                    "which is also checked"
                )
            for size, right, pair in zip(sizes, truth, told):
                if isinstance(size, int) and tuple(pair) != right:
                    raise Wrong(f"{said}. A size that was {size} cannot be anything else")
                if tuple(pair) == (right[0], (right[1] or 0) - 1):
                    raise Wrong(
                        f"{said}. With {right[1]} a tensor is let in: both ends are included"
                    )
                if isinstance(size, str) and tuple(pair) != right and not size.isalnum():
                    raise Wrong(
                        f"{said}. {size} is a formula of its symbol, and has a range of its own"
                    )
            raise Wrong(f"{said}. Look a size that is a text up in `range_constraints`")
    _check_the_door()
    return (
        f"{seen} dimensions of four programs, and real calls at the ends of the ranges went as you "
        "said"
    )


def _check_the_door() -> None:
    """The ranges are what the program does: it is called at both ends and beyond."""
    from internals import export

    program = export.load(ARCHIVES / "small.pt2")
    batch = str(program.sizes_of("x")[0])
    low, high = (int(end or 0) for end in program.range_constraints[batch])
    for size, inside in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
        try:
            with torch.no_grad():
                program(torch.ones(size, 4))
            let = True
        except AssertionError:
            let = False
        if let != inside:
            raise AssertionError(f"small.pt2 and its ranges disagree about {size}")


def by_length(x, n):  # type: ignore[no-untyped-def]
    return x * n if x.size(0) > 3 else x - n


def by_dtype(x, y):  # type: ignore[no-untyped-def]
    return x + y if x.dtype == torch.float64 else x - y


def by_kind(x, n):  # type: ignore[no-untyped-def]
    return x * n


def by_number(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * 2
    return x


RECORDED = """
class Compiled:
    def __init__(self, function):
        self.function, self.recordings = function, {}

    def __call__(self, *args):
        tensors = tuple(a for a in args if isinstance(a, torch.Tensor))
        guards = tuple(
            (tuple(a.shape), a.dtype) if isinstance(a, torch.Tensor) else (type(a), a) for a in args
        )
        if guards not in self.recordings:
            def recorded(*given):
                rest = iter(given)
                return self.function(
                    *(next(rest) if isinstance(a, torch.Tensor) else a for a in args)
                )

            self.recordings[guards] = torch.jit.trace(recorded, tensors, check_trace=False)
        return self.recordings[guards](*tensors)
""".strip()


@exercise(
    level=3,
    title="A tracer that is never wrong",
    ask="""
        Write the class `Compiled`: `Compiled(function)` is called like `function`, with tensors and
        numbers, and gives the same. It records with this project's real tracer,
        `torch.jit.trace(f, tensors, check_trace=False)`, for which `f` may take tensors only, and
        runs the recording. A recording may be used again only where it holds: same sizes and dtypes
        of tensors, same numbers (2 and 2.0 are two). Where it does hold, `function` must not run
        again. (What depends on the values *in* tensors no guard can see, and is not asked for.)""",
    start="""
        class Compiled:
            def __init__(self, function):
                self.function, self.recordings = function, {}

            def __call__(self, *args):
                ...""",
    passes=("Compiled",),
    hints=(
        "Section 7 has this class over a recorder of its own. A dict from guards to recordings; "
        "what is a key made of?",
        "Inside `__call__` define a function of the tensors, which calls `self.function` with the "
        "numbers in their places, and trace that one.",
    ),
    solution=RECORDED,
    why="""
        This is why tracing is safe now: not a better tracer, but guards. Dynamo makes the second
        recording of a size with a symbol, so that the third size finds one that fits.""",
    mistakes=[
        Mistake(
            "A trace holds for all sizes.",
            RECORDED.replace("(tuple(a.shape), a.dtype)", "a.dtype"),
            "of another size",
        ),
        Mistake(
            "Sizes are what matters.",
            RECORDED.replace("(tuple(a.shape), a.dtype)", "tuple(a.shape)"),
            "of another dtype",
        ),
        Mistake(
            "Numbers are inputs like others.",
            RECORDED.replace("else (type(a), a)", "else None"),
            "with another number",
        ),
        Mistake(
            "What is equal is the same.",
            RECORDED.replace("else (type(a), a)", "else a"),
            "2 == 2.0",
        ),
        Mistake(
            "Record each time, then it is right.",
            RECORDED.replace("if guards not in self.recordings:", "if True:"),
            "ran again",
        ),
        Mistake(
            "A recording is for one argument.",
            RECORDED.replace("(tuple(a.shape), a.dtype)", "tuple(a.flatten().tolist())"),
            "values in it",
        ),
        Mistake(
            "The last recording is enough.",
            RECORDED.replace(
                "            def recorded",
                "            self.recordings.clear()\n\n            def recorded",
            ),
            "was thrown away",
        ),
        Mistake(
            "To call the function is to be right.",
            RECORDED.replace(
                "if guards not in self.recordings:",
                "if True:\n            return self.function(*args)",
            ),
            "recorded nothing",
        ),
    ],
)
def export_3(Compiled: Callable[..., Any]) -> str:
    three, five = torch.tensor([1.0, -2.0, 4.0]), torch.arange(5.0)
    double = three.double()
    calls: list[tuple[Callable[..., Any], list[tuple[str, tuple[Any, ...]]]]] = [
        (
            by_length,
            [
                ("first", (three, 2)),
                ("same", (three, 2)),
                ("size", (five, 2)),
                ("again", (three, 2)),
                ("values", (three + 1, 2)),
            ],
        ),
        (
            by_dtype,
            [("first", (three, three)), ("dtype", (double, double)), ("again", (three, three))],
        ),
        (
            by_number,
            [
                ("first", (three, 2)),
                ("number", (three, 5)),
                ("again", (three, 2)),
                ("number", (three, 0)),
            ],
        ),
        (
            by_kind,
            [
                ("first", (torch.arange(3), 2)),
                ("kind", (torch.arange(3), 2.0)),
                ("again", (torch.arange(3), 2)),
            ],
        ),
    ]
    because = {
        "size": (
            "for a tensor of another size its recording does not hold: x.size(0) > 3 was decided "
            "while recording"
        ),
        "dtype": "for a tensor of another dtype its recording does not hold",
        "kind": (
            "2 == 2.0, and a dict takes the one for the other; an int times a float is another "
            "operator"
        ),
        "number": "with another number its recording does not hold: the loop was recorded unrolled",
    }
    kept = {
        "same": "the call before was the same; look for a recording first",
        "again": "that of the first call was thrown away",
        "values": "the values in it are not what a recording relies on",
    }
    recorded = 0
    with warnings.catch_warnings():
        # the tracer warns of what was decided; here guards see to that
        warnings.simplefilter("ignore")
        for function, cases in calls:
            runs: list[Any] = []

            def watched(*args: Any, function: Any = function, runs: list[Any] = runs) -> Any:
                runs.append(torch.jit.is_tracing())
                return function(*args)

            compiled = Compiled(watched)
            for what, arguments in cases:
                before = len(runs)
                result, expected = compiled(*arguments), function(*arguments)
                shown = f"`{function.__name__}`, {what} call"
                if not same(result, expected):
                    raise Wrong(
                        f"{shown}: {result}, not {expected}; "
                        f"{because.get(what, 'that is not what the function gives')}"
                    )
                new = runs[before:]
                if new and not any(new):
                    raise Wrong(
                        f"{shown}: right, but the function just ran, and the tracer recorded "
                        "nothing"
                    )
                if what in kept and new:
                    raise Wrong(
                        f"`{function.__name__}` ran again although a recording holds: {kept[what]}"
                    )
                recorded += bool(new)
    return (
        f"{recorded} recordings for {sum(len(cases) for _, cases in calls)} calls, and no result "
        "is wrong"
    )
