"""Exercises of notebook 15, a track: instructions, until the interpreter runs loops, branches and
operators by yours.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, table

EVENS = {
    "LOOP 1": [0, 3, True, 0],
    "LOOP 2": [1, 3, True, 0],
    "LOOP 3": [2, 3, True, 0],
    "LOOP 4": [3, 3, True, 2],
    "JF jumps": 1,
    "RET": [2],
}


@exercise(
    level=1,
    title="Be the machine",
    ask="""
        First step: read. Run `evens(3)` in your head, with the listing before you. What is on the
        stack when `LOOP` is reached for the first, second, third and fourth time, and when `RET`
        is? A list, bottom first. And how often does `JF` jump? (Falling through to the next
        instruction is no jump.) Afterwards `viz.step(evens, 3)` shows it.""",
    given="""
        @torch.jit.script
        def evens(n: int) -> int:
            total = 0
            for i in range(n):
                if i % 2 == 0:
                    total = total + i
            return total""",
    start=blank(EVENS),
    passes=("answer", "evens"),
    hints=(
        "Section 5: *turns taken, turns allowed, go on?*, and what is carried. Is `i` carried?",
        "`LOOP` is reached once before each turn, and once more when none is left. `JF` jumps "
        "where the condition is false.",
    ),
    solution=table(EVENS),
    why=(
        "Whoever can predict the stack can write the instruction: it is nothing but what it does "
        "to stack, registers and pc."
    ),
    mistakes=[
        Mistake(
            "The first time is number one.",
            table(
                EVENS,
                **{"LOOP 1": [1, 3, True, 0], "LOOP 2": [2, 3, True, 0], "LOOP 3": [3, 3, True, 0]},
            ),
            "were *taken*",
        ),
        Mistake(
            "The machine counts down what is left.",
            table(
                EVENS,
                **{"LOOP 2": [1, 2, True, 0], "LOOP 3": [2, 1, True, 0], "LOOP 4": [3, 0, True, 2]},
            ),
            "stays as it is",
        ),
        Mistake(
            "`i` is carried from turn to turn.",
            table(EVENS, **{"LOOP 1": [0, 3, True, 0, 0]}),
            "LOOP itself pushes i",
        ),
        Mistake(
            "The top of the stack is written first.",
            table(EVENS, **{"LOOP 1": [0, True, 3, 0]}),
            "bottom first",
        ),
        Mistake(
            "The loop is left with its condition false.",
            table(EVENS, **{"LOOP 4": [3, 3, False, 2]}),
            "always True",
        ),
        Mistake("JF jumps into the branch.", table(EVENS, **{"JF jumps": 2}), "falls through"),
        Mistake(
            "LOOP leaves its numbers behind.",
            table(EVENS, RET=[3, 3, 2]),
            "takes its two numbers off",
        ),
    ],
)
def build_instruction_1(answer: dict[str, Any], evens: Any) -> str:
    from internals.jit.runtime.interpreter import record

    code = getattr(evens, "bytecode", None)
    if code is None:
        raise Wrong("`evens` is the script above; leave it as it is")
    steps = list(record(code, 3))
    loops = [list(s.stack) for s in steps if s.instruction.op == "LOOP"]
    jumps = sum(a.instruction.op == "JF" and b.pc != a.pc + 1 for a, b in zip(steps, steps[1:]))
    truth: dict[str, Any] = {f"LOOP {n}": stack for n, stack in enumerate(loops, 1)} | {
        "JF jumps": jumps,
        "RET": list(steps[-1].stack),
    }

    def because(key: str, said: Any) -> str:
        right = truth[key]
        what = f"{key}: not {said!r}"
        if key == "JF jumps":
            return (
                f"{what}. JF falls through into the branch when the condition is true, and jumps "
                "over it when it is not"
            )
        if not isinstance(said, list):
            return f"{key}: a list of what is on the stack, bottom first"
        if key == "RET":
            return (
                f"{what}. When the loop is over, LOOP takes its two numbers off and leaves what "
                "was carried"
            )
        if said[::-1] == right or said == [right[0], right[2], right[1], right[3]]:
            return (
                f"{what}. The list is bottom first: the two numbers of the loop are below its "
                "condition"
            )
        if len(said) > len(right):
            return (
                f"{what}. LOOP itself pushes i at the beginning of a turn; nothing carries it to "
                "the next"
            )
        if said[:1] == [right[0] + 1]:
            return (
                f"{what}. The first number is how many turns were *taken*: none, when LOOP is "
                "reached first"
            )
        if len(said) == 4 and said[1] != right[1]:
            return (
                f"{what}. How many turns are allowed stays as it is; what is counted is the turns "
                "taken"
            )
        if len(said) == 4 and said[2] != right[2]:
            return (
                f"{what}. The condition of a `for` is always True; it ends because the turns are "
                "used up"
            )
        return f"{what}. Turns taken, turns allowed, go on?, and the total so far"

    if isinstance(answer, dict):
        answer = {
            key: list(said) if isinstance(said, tuple) else said for key, said in answer.items()
        }
    compare(answer, truth, because, "a list or a number")
    return "two numbers at the bottom, which nobody but LOOP touches"


@exercise(
    level=2,
    title="Three instructions as functions",
    ask="""
        Second step: an instruction is what it does. Write what `MOVE x`, `STOREN x n` and `JF x` do
        to a stack (a list, its last element is the top) and to the registers (a list, number 0 is
        not used). Change both in place; return the pc of the instruction that comes next.""",
    start="""
        def move(stack, registers, pc, x):
            ...

        def store_several(stack, registers, pc, x, n):
            ...

        def jump_if_false(stack, registers, pc, x):
            ...""",
    passes=("move", "store_several", "jump_if_false"),
    hints=(
        "`OPCODES` in section 1 says in words what each does; section 5 says what the X of a jump "
        "counts.",
        "`STOREN`: which of the values was pushed first, and which register is it for? `JF` pops "
        "whether it jumps or not.",
    ),
    solution="""
        def move(stack, registers, pc, x):
            stack.append(registers[x])
            registers[x] = None
            return pc + 1

        def store_several(stack, registers, pc, x, n):
            registers[x : x + n] = stack[len(stack) - n :]
            del stack[len(stack) - n :]
            return pc + 1

        def jump_if_false(stack, registers, pc, x):
            return pc + 1 if stack.pop() else pc + x""",
    why=(
        "The talk's `pc + 1 + callback(stack)` is the same idea: an instruction returns where to "
        "go."
    ),
    mistakes=[
        Mistake(
            "MOVE copies.",
            """
            def move(stack, registers, pc, x):
                stack.append(registers[x])
                return pc + 1

            def store_several(stack, registers, pc, x, n):
                registers[x : x + n] = stack[len(stack) - n :]
                del stack[len(stack) - n :]
                return pc + 1

            def jump_if_false(stack, registers, pc, x):
                return pc + 1 if stack.pop() else pc + x""",
            "that is LOAD",
        ),
        Mistake(
            "The top goes into the first register.",
            """
            def move(stack, registers, pc, x):
                stack.append(registers[x])
                registers[x] = None
                return pc + 1

            def store_several(stack, registers, pc, x, n):
                for i in range(n):
                    registers[x + i] = stack.pop()
                return pc + 1

            def jump_if_false(stack, registers, pc, x):
                return pc + 1 if stack.pop() else pc + x""",
            "the wrong way round",
        ),
        Mistake(
            "What is stored is still on the stack.",
            """
            def move(stack, registers, pc, x):
                stack.append(registers[x])
                registers[x] = None
                return pc + 1

            def store_several(stack, registers, pc, x, n):
                registers[x : x + n] = stack[len(stack) - n :]
                return pc + 1

            def jump_if_false(stack, registers, pc, x):
                return pc + 1 if stack.pop() else pc + x""",
            "takes its values off",
        ),
        Mistake(
            "A jump says where to go.",
            """
            def move(stack, registers, pc, x):
                stack.append(registers[x])
                registers[x] = None
                return pc + 1

            def store_several(stack, registers, pc, x, n):
                registers[x : x + n] = stack[len(stack) - n :]
                del stack[len(stack) - n :]
                return pc + 1

            def jump_if_false(stack, registers, pc, x):
                return pc + 1 if stack.pop() else x""",
            "a distance",
        ),
        Mistake(
            "A test only looks.",
            """
            def move(stack, registers, pc, x):
                stack.append(registers[x])
                registers[x] = None
                return pc + 1

            def store_several(stack, registers, pc, x, n):
                registers[x : x + n] = stack[len(stack) - n :]
                del stack[len(stack) - n :]
                return pc + 1

            def jump_if_false(stack, registers, pc, x):
                return pc + 1 if stack[-1] else pc + x""",
            "pops the condition",
        ),
        Mistake(
            "It jumps if the condition holds.",
            """
            def move(stack, registers, pc, x):
                stack.append(registers[x])
                registers[x] = None
                return pc + 1

            def store_several(stack, registers, pc, x, n):
                registers[x : x + n] = stack[len(stack) - n :]
                del stack[len(stack) - n :]
                return pc + 1

            def jump_if_false(stack, registers, pc, x):
                return pc + x if stack.pop() else pc + 1""",
            "jump if *false*",
        ),
    ],
)
def build_instruction_2(
    move: Callable[..., Any], store_several: Callable[..., Any], jump_if_false: Callable[..., Any]
) -> str:
    written = {"MOVE": move, "STOREN": store_several, "JF": jump_if_false}
    cases: list[tuple[str, list[Any], list[Any], tuple[int, ...]]] = [
        ("MOVE", ["a"], [None, "b", "c"], (2,)),
        ("MOVE", [], [None, "b"], (1,)),
        ("STOREN", ["a", "b", "c"], [None, 1, 2, 3, 4], (2, 2)),
        ("STOREN", ["a", "b", "c"], [None] * 4, (1, 3)),
        ("STOREN", ["a", "b"], [None, None], (1, 1)),
        ("JF", ["a", False], [None, True], (9,)),
        ("JF", ["a", True], [None, False], (9,)),
        ("JF", [False], [None], (-3,)),
    ]
    for name, stack, registers, operands in cases:
        pc, before = (
            4,
            f"{name} {' '.join(map(str, operands))} on stack {stack} with registers "
            f"{registers[1:]} at pc 4",
        )
        mine, yours = (list(stack), list(registers)), (list(stack), list(registers))
        following = _real(name, *mine, pc, operands)
        told = written[name](*yours, pc, *operands)
        if (told, *yours) == (following, *mine) and not isinstance(told, bool):
            continue
        if told is None:
            raise Wrong(
                f"{name} has to return the pc of the next instruction, here {following}; yours "
                "returns None"
            )
        if name != "JF" and isinstance(told, int) and pc + told == following and yours == mine:
            raise Wrong(
                f"{name} returned how far it goes, {told}; return where it goes on: {following}"
            )
        if name == "MOVE" and yours == (mine[0], registers):
            raise Wrong(f"{before}: the register still has its value; that is LOAD. MOVE clears it")
        if name == "STOREN" and yours[1] == mine[1]:
            raise Wrong(
                f"{before}: STOREN takes its values off the stack, and {yours[0]} is left instead "
                f"of {mine[0]}"
            )
        if name == "STOREN" and sorted(map(str, yours[1])) == sorted(map(str, mine[1])):
            raise Wrong(
                f"{before}: the values are in the registers the wrong way round; what was pushed "
                "first comes first"
            )
        if name == "JF" and yours[0] == stack:
            raise Wrong(f"{before}: JF pops the condition, whether it jumps or not")
        if name == "JF" and told == operands[0]:
            raise Wrong(f"{before}: X is a distance, not a place; the next pc is {following}")
        if name == "JF" and told == pc + (operands[0] if stack[-1] else 1):
            raise Wrong(f"{before}: JF is jump if *false*; the next pc is {following}, not {told}")
        want = f"pc {following}, stack {mine[0]}, registers {mine[1][1:]}"
        raise Wrong(
            f"{before}: then it should be {want}, and it is pc {told!r}, stack {yours[0]}, "
            f"registers {yours[1][1:]}"
        )
    return f"{len(cases)} states changed as the real interpreter's own methods change them"


def _real(
    name: str, stack: list[Any], registers: list[Any], pc: int, operands: tuple[int, ...]
) -> int:
    """The interpreter's own method on a stack and registers, changed in place; the pc that comes
    next.
    """
    from internals.jit.runtime.code import Instruction
    from internals.jit.runtime.interpreter import METHODS, Interpreter

    machine = object.__new__(Interpreter)
    machine.stack = stack
    frame: Any = SimpleNamespace(registers=registers, pc=pc, code=None)
    return pc + METHODS[name](machine, frame, Instruction(name, *operands))


from exercises.topics.build_instruction_in_interpreter import build_instruction_3  # the last step  # noqa: E402

__all__ = ["build_instruction_1", "build_instruction_2", "build_instruction_3"]
