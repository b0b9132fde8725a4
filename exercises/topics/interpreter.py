"""Exercises of notebook 15: who clears a register, how much a run holds, and a compiler for graphs
without blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, fresh, table

TOUCHED = {
    "x": ["LOAD", "MOVE"],
    "y": ["LOAD", "LOAD", "DROPR"],
    "n": ["MOVE"],
    "i": ["DROPR"],
    "a": ["LOAD", "MOVE"],
    "b": [],
}


@exercise(
    level=1,
    title="Who clears the register?",
    ask="""
        For each of these values of `f`: what happens to its register *after* it was stored? A list
        of the instructions `"LOAD"`, `"MOVE"` and `"DROPR"` that name the register, in the order in
        which they stand in the code; an empty list for a value that has no register at all. Decide
        first, then look at `viz.bytecode(f)`.""",
    given="""
        @torch.jit.script
        def f(x, y, n: int):
            a = x * y
            b = a + x
            c = b.exp()
            for i in range(n):
                c = c * y
            return c - a""",
    start=blank(TOUCHED),
    passes=("answer", "f"),
    hints=(
        "Section 4: the last reader takes the value out. Which two kinds of values have no reader "
        "who could?",
        "`y` is read in each turn of a loop, so no turn is the last. And `b` is read once, at "
        "once: does it have to wait?",
    ),
    solution=table(TOUCHED),
    why=(
        "`MOVE` is why a chain of a thousand operators holds two tensors. `DROPR` does it for "
        "values without a last reader."
    ),
    mistakes=[
        Mistake(
            "A register is cleared when the function returns, as in Python.",
            table(TOUCHED, x=["LOAD", "LOAD"], a=["LOAD", "LOAD"], n=["LOAD"]),
            "the last reader takes it out",
        ),
        Mistake(
            "The reader in the loop is the last one.",
            table(TOUCHED, y=["LOAD", "MOVE"]),
            "the next turn",
        ),
        Mistake("What nobody reads needs no instruction.", table(TOUCHED, i=[]), "nobody reads it"),
        Mistake("Every value has a register.", table(TOUCHED, b=["MOVE"]), "stays on the stack"),
        Mistake(
            "Whoever reads a value takes it.",
            table(TOUCHED, x=["MOVE", "MOVE"], a=["MOVE", "MOVE"]),
            "would be gone when the second",
        ),
    ],
)
def interpreter_1(answer: dict[str, list[str]], f: Any) -> str:
    code = getattr(f, "bytecode", None)
    if code is None:
        raise Wrong("`f` is the script above; leave it as it is")
    truth: dict[str, list[str]] = {name: [] for name in TOUCHED}
    for instruction in code.instructions:
        if instruction.op in ("LOAD", "MOVE", "DROPR"):
            name = code.register_names[instruction.X - 1].partition(".")[0]
            if name in truth:
                truth[name].append(instruction.op)

    def because(name: str, said: Any) -> str:
        right = truth[name]
        if not isinstance(said, list) or not all(
            name in ("LOAD", "MOVE", "DROPR") for name in said
        ):
            return f"{name}: a list of 'LOAD', 'MOVE' and 'DROPR', or an empty one, not {said!r}"
        what = f"{name}: not {said}"
        if not right:
            return (
                f"{what}. It is made where its only reader looks for it: it stays on the stack and "
                "has no register"
            )
        if right == ["DROPR"]:
            return (
                f"{what}. It is stored in every turn and nobody reads it, so an instruction must "
                "clear it"
            )
        if right[-1] == "DROPR" and said[-1:] == ["MOVE"]:
            return (
                f"{what}. A reader in a loop cannot take it out, because the next turn wants it as "
                "well"
            )
        if said.count("MOVE") > 1:
            return (
                f"{what}. If the first reader took it out, it would be gone when the second comes"
            )
        if right[-1] == "MOVE" and said[-1:] != ["MOVE"]:
            return (
                f"{what}. Nothing waits for the end of the function: the last reader takes it out"
            )
        return f"{what}. One instruction for each place that reads it, in the order of the code"

    if isinstance(answer, dict):
        answer = {
            name: list(said) if isinstance(said, tuple) else said for name, said in answer.items()
        }
    compare(answer, truth, because, "a list")
    return (
        "LOAD while others will read it, MOVE for the last reader, DROPR where nobody can be the "
        "last"
    )


def chained(x):  # type: ignore[no-untyped-def]
    return x.exp().tanh().sin().cos()


def kept(x):  # type: ignore[no-untyped-def]
    a = x.exp()
    b = a.tanh()
    c = b.sin()
    return a + b + c


def both(x):  # type: ignore[no-untyped-def]
    return x.exp() * x.tanh()


def square(x):  # type: ignore[no-untyped-def]
    return x * x


def looped(x, n: int):  # type: ignore[no-untyped-def]
    y = x
    for i in range(n):
        y = y * x + i
    return y


@exercise(
    level=2,
    title="The most that is held at once",
    ask="""
        Write `most_tensors(code, *args)`: run the bytecode on these arguments, and return how many
        *different* tensors the machine held at most before any of its instructions, in registers
        and on the stack together. Numbers do not count; a tensor that is in two places counts once.
        `code` calls no other script.""",
    given="from internals.jit.runtime.interpreter import Interpreter, record",
    start="""
        def most_tensors(code, *args):
            ...""",
    passes=("most_tensors",),
    hints=(
        "Section 5: `record` gives the state before every instruction. It has `registers`, a dict, "
        "and `stack`, a list.",
        "Two tensors are the same if they are one object: put `id(v)` of those that are a "
        "`torch.Tensor` into a set.",
    ),
    solution="""
        def most_tensors(code, *args):
            most = 0
            for step in record(code, *args):
                held = [*step.registers.values(), *step.stack]
                most = max(most, len({id(v) for v in held if isinstance(v, torch.Tensor)}))
            return most""",
    why=(
        "The first cell measured it with the allocator. Here you have seen it in the machine, and "
        "need no memory to be large."
    ),
    mistakes=[
        Mistake(
            "Values are in registers.",
            """
            def most_tensors(code, *args):
                return max(
                    len({id(v) for v in s.registers.values() if isinstance(v, torch.Tensor)})
                    for s in record(code, *args)
                )""",
            "what is on the stack",
        ),
        Mistake(
            "Two places are two tensors.",
            """
            def most_tensors(code, *args):
                return max(
                    sum(isinstance(v, torch.Tensor) for v in [*s.registers.values(), *s.stack])
                    for s in record(code, *args)
                )""",
            "is in two places",
        ),
        Mistake(
            "Whatever the machine holds is a tensor.",
            """
            def most_tensors(code, *args):
                return max(
                    len({id(v) for v in [*s.registers.values(), *s.stack]})
                    for s in record(code, *args)
                )""",
            "numbers",
        ),
        Mistake(
            "Registers are counted when the code is made.",
            """
            def most_tensors(code, *args):
                return code.register_size""",
            "register_size",
        ),
        Mistake(
            "All tensors of the run are held to its end.",
            """
            def most_tensors(code, *args):
                seen = [v for s in record(code, *args) for v in [*s.registers.values(), *s.stack]]
                return len({id(v) for v in seen if isinstance(v, torch.Tensor)})""",
            "never at the same time",
        ),
    ],
)
def interpreter_2(most_tensors: Callable[..., Any]) -> str:
    from internals.jit.runtime.interpreter import record

    def tensors(values: list[Any]) -> list[int]:
        return [id(v) for v in values if isinstance(v, torch.Tensor)]

    one = torch.ones(2)
    cases: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (chained, (one,)),
        (both, (one,)),
        (square, (one,)),
    ]
    cases += [(looped, (one, 3)), (looped, (one, 0)), (kept, (one,))]
    told, truth = [], []
    beliefs: dict[str, list[int]] = {
        "register_size says how many registers there are, not what is in them": [],
        "what is on the stack is held as well": [],
        "a tensor that is in two places, as x is for x * x, is one tensor": [],
        "numbers and flags of the loop are no tensors": [],
        "these are all of the run, but they were never at the same time in the machine": [],
    }
    for function, args in cases:
        code = fresh(function).bytecode
        states = [([*s.registers.values()], list(s.stack)) for s in record(code, *args)]
        truth.append(max(len(set(tensors(r + s))) for r, s in states))
        told.append(most_tensors(code, *args))
        others = [
            code.register_size,
            max(len(set(tensors(r))) for r, _ in states),
            max(len(tensors(r + s)) for r, s in states),
            max(len(set(map(id, r + s))) for r, s in states),
            len({i for r, s in states for i in tensors(r + s)}),
        ]
        for believed, other in zip(beliefs.values(), others):
            believed.append(other)
    for (function, _), mine, yours in zip(cases, truth, told):
        if mine != yours or isinstance(yours, bool):
            why = next(
                (text for text, believed in beliefs.items() if believed == told),
                "look before each instruction",
            )
            raise Wrong(f"`{function.__name__}` holds {mine} at most, not {yours!r}: {why}")
    return f"{', '.join(map(str, truth))}: however long the chain, no more than its links need"


# The last one has a file of its own.
from exercises.topics.interpreter_compiler import interpreter_3  # noqa: E402

__all__ = ["interpreter_1", "interpreter_2", "interpreter_3"]
