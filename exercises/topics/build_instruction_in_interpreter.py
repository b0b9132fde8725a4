"""The last step of the track in `build_instruction.py`: the reader's instructions in the real
interpreter's table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import fresh, same


def power(x, n: int):  # type: ignore[no-untyped-def]
    y = x
    for i in range(n):
        y = y * x + i
    return y


def collatz(n: int):  # type: ignore[no-untyped-def]
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def nested(n: int):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            total += i * j + 1
    return total


def several(x):  # type: ignore[no-untyped-def]
    largest, where = torch.max(x, 0)
    found = [1, 2, 3]
    found.reverse()
    return largest * found[0] + where


SOLUTION = """
def loop(machine, frame, instruction):
    turns, limit, go_on, *carried = machine.pop(instruction.N + 1)
    if turns < limit and go_on:
        machine.stack += [turns + 1, limit, turns, *carried]
        return 1
    machine.stack += carried
    return instruction.X

def jump_if_false(machine, frame, instruction):
    return 1 if machine.stack.pop() else instruction.X

def operation(machine, frame, instruction):
    what = frame.code.operations[frame.pc]
    results = what.function(*machine.pop(what.num_inputs))
    if what.num_outputs == 1:
        machine.stack.append(results)
    elif what.num_outputs > 1:
        machine.stack.extend(results)
    return 1
""".strip()


@exercise(
    level=3,
    title="Yours in the interpreter",
    ask="""
        Last step: the real table. The interpreter's `METHODS` has a function for each instruction,
        of `(machine, frame, instruction)`, which returns how far to go: 1, or a distance. Write
        those of `LOOP`, `JF` and `OP`. You have `machine.stack`, `machine.pop(n)` (the last n
        values as a list, the first pushed first), `instruction.X` and `.N`. A `LOOP` finds `N + 1`
        values: those of step 1, with any number of carried ones. An `OP` has its entry of the
        operator table in `frame.code.operations[frame.pc]`: `function`, `num_inputs`,
        `num_outputs`; several results come as a tuple. The checker enters yours, and the real
        interpreter runs loops, branches and a `while` with them.""",
    start="""
        def loop(machine, frame, instruction):
            ...

        def jump_if_false(machine, frame, instruction):
            ...

        def operation(machine, frame, instruction):
            ...""",
    passes=("loop", "jump_if_false", "operation"),
    hints=(
        "Section 5, below the stacks of `power`: *if both tests pass, it adds one, pushes the "
        "number of this turn where the condition was, and goes to the body*. And otherwise?",
        "Begin with `turns, limit, go_on, *carried = machine.pop(instruction.N + 1)`. For an `OP` "
        "there are three cases: one result, several, none.",
    ),
    solution=SOLUTION,
    why=(
        "These are `Interpreter.loop`, `.jump_if_false` and `.operation`. In C++ each is a `case` "
        "of one large `switch`."
    ),
    mistakes=[
        Mistake("Somebody counts the turns.", SOLUTION.replace("turns + 1", "turns"), "adds one"),
        Mistake(
            "The first turn has number 1.",
            SOLUTION.replace("[turns + 1, limit, turns,", "[turns + 1, limit, turns + 1,"),
            "number of this turn",
        ),
        Mistake("A loop runs as often as it may.", SOLUTION.replace(" and go_on", ""), "condition"),
        Mistake(
            "What is on the stack stays there.",
            SOLUTION.replace(
                "machine.stack += carried\n", "machine.stack += [turns, limit, *carried]\n"
            ),
            "two numbers",
        ),
        Mistake(
            "X is where to go.",
            SOLUTION.replace("    return instruction.X", "    return instruction.X - 1"),
            "too short",
        ),
        Mistake(
            "Every operator has one result.",
            SOLUTION.replace(
                "    if what.num_outputs == 1:\n        machine.stack.append(results)\n"
                "    elif what.num_outputs > 1:\n        machine.stack.extend(results)\n",
                "    machine.stack.append(results)\n",
            ),
            "num_outputs",
        ),
        Mistake(
            "The condition can stay.",
            SOLUTION.replace("machine.stack.pop() else", "machine.stack[-1] else"),
            "pops",
        ),
    ],
)
def build_instruction_3(
    loop: Callable[..., Any], jump_if_false: Callable[..., Any], operation: Callable[..., Any]
) -> str:
    from internals.jit.runtime.interpreter import Interpreter

    ran = {"LOOP": 0, "JF": 0, "OP": 0}
    written = {"LOOP": loop, "JF": jump_if_false, "OP": operation}
    x = torch.tensor([[2.0, 3.0], [0.5, 4.0]])
    cases: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
        (power, [(x, 2), (x, 0), (x, -1)]),
        (several, [(x,)]),
        (collatz, [(6,), (1,)]),
        (nested, [(5,), (0,)]),
    ]
    with _entered({name: _watched(name, function, ran) for name, function in written.items()}):
        for function, calls in cases:
            code = fresh(function).bytecode
            for arguments in calls:
                machine = Interpreter(code, *arguments)
                try:
                    result = machine.run()
                except Exception as error:
                    raise (error.__cause__ or error) from None
                expected = function(*arguments)
                if not same(result, expected):
                    raise Wrong(
                        f"`{function.__name__}{arguments[-1:]}` is {expected}, and with your "
                        f"instructions {result}"
                    )
    return (
        "the real interpreter ran "
        + ", ".join(f"{count} {name}" for name, count in ran.items())
        + " of yours"
    )


@contextmanager
def _entered(methods: dict[str, Callable[..., int]]) -> Iterator[None]:
    """Inside, the interpreter's table has these; behind it, what it had."""
    from internals.jit.runtime.interpreter import METHODS

    before = dict(METHODS)
    METHODS.update(methods)
    try:
        yield
    finally:
        METHODS.clear()
        METHODS.update(before)


def _watched(name: str, function: Callable[..., Any], ran: dict[str, int]) -> Callable[..., int]:
    """The reader's function, which is told at once when it does something else than the instruction
    should.
    """

    def run(machine: Any, frame: Any, instruction: Any) -> int:
        ran[name] += 1
        before = list(machine.stack)
        far = function(machine, frame, instruction)
        after = list(machine.stack)
        if name == "LOOP":
            _check_loop(before, after, far, instruction)
        elif name == "JF":
            _check_jump(before, after, far, instruction)
        else:
            what = frame.code.operations[frame.pc]
            depth = len(before) - what.num_inputs + what.num_outputs
            if len(after) != depth:
                said = (
                    f"{what.name} takes {what.num_inputs} values and has num_outputs "
                    f"{what.num_outputs}"
                )
                raise Wrong(
                    f"{said}: the stack had {len(before)}, and should have {depth} now, not "
                    f"{len(after)}"
                )
            if far != 1:
                raise Wrong(f"behind an OP comes the next instruction: it returns 1, not {far!r}")
        return int(far)

    return run


def _check_loop(before: list[Any], after: list[Any], far: Any, instruction: Any) -> None:
    turns, limit, go_on, *carried = before[len(before) - instruction.N - 1 :]
    below = before[: len(before) - instruction.N - 1]
    more = turns < limit and go_on
    right = below + ([turns + 1, limit, turns, *carried] if more else carried)
    at = f"LOOP with {turns} turns taken, {limit} allowed and condition {go_on}"
    if same(after, right):
        if far == (1 if more else instruction.X):
            return
        where = "goes to the next instruction, 1" if more else f"jumps X ahead, {instruction.X}"
        short = (
            "; yours is too short"
            if not more and isinstance(far, int) and far < instruction.X
            else ""
        )
        raise Wrong(f"{at} {where}, not {far!r}{short}")
    if len(after) == len(right) and more:
        first, i = after[len(below)], after[len(below) + 2]
        if first == turns and i == turns:
            raise Wrong(f"{at}: nobody but LOOP counts the turns, it adds one to the turns taken")
        if first == turns + 1 and i == turns + 1:
            raise Wrong(f"{at}: the number of this turn, its i, is {turns}: 0 in the first")
    if not more and same(after, below + [turns, limit, *carried]):
        raise Wrong(
            f"{at} is over: it takes its two numbers off the stack and leaves only what was carried"
        )
    if not more and len(after) == len(before):
        over = "the condition says stop" if turns < limit else "no turns are left"
        raise Wrong(f"{at} should be left, {over}; yours begins another turn")
    raise Wrong(
        f"{at}: the stack should be {right[len(below) :]} above what was there, not "
        f"{after[len(below) :]}"
    )


def _check_jump(before: list[Any], after: list[Any], far: Any, instruction: Any) -> None:
    *rest, condition = before
    if not same(after, rest):
        raise Wrong(
            "JF pops the condition, whether it jumps or not, and leaves the rest of the stack alone"
        )
    right = 1 if condition else instruction.X
    if far != right:
        raise Wrong(
            f"JF {instruction.X} of a condition that is {condition} returns {right}, not {far!r}"
        )
