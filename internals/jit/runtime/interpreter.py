"""The interpreter: runs bytecode, one instruction after the other
(`torch/csrc/jit/runtime/interpreter.cpp`).

The talk shows its core, `runImpl`: while there are instructions, load the inputs, call, store the
outputs, go to the next. Here that is `step`, which runs one instruction, and which you can call
yourself:

    it = Interpreter(fn.bytecode, x, y)
    it.step()                      # then look at it.frames[-1].pc, its registers, it.stack
    it.run()                       # the rest

The method of an instruction returns the distance to the next one: 1, or the distance of a jump. A
call of another script pushes a frame with registers of its own; all frames share one stack, so
arguments and results need not be copied.

`record` yields the state before every step. Ordinary runs use `program.py`, which runs the same
instructions tied together, several times faster.

How the real one differs: `runImpl` is one C++ `switch`, with a `goto` from each instruction to the
next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .code import Code, Instruction
from .errors import CodeFrame, frames_of, raise_at


class Frame:
    """An active call of a script: its code, the number of its current instruction (`pc`), its
    registers. Register 0 is not used.
    """

    __slots__ = ("code", "pc", "registers")

    def __init__(self, code: Code) -> None:
        self.code, self.pc = code, 0
        self.registers: list[Any] = [None] * (code.register_size + 1)


class Interpreter:
    """Runs `code` on `args`. `stack` holds the arguments first and the results last."""

    def __init__(self, code: Code, *args: Any) -> None:
        if len(args) != code.n_inputs:
            raise RuntimeError(f"expected {code.n_inputs} inputs, but got only {len(args)}")
        self.stack: list[Any] = list(args)
        self.frames = [Frame(code)]
        self.n_outputs = code.n_outputs

    def run(self) -> Any:
        """Run to the end. Returns the output, a tuple for several, None for none."""
        while self.step():
            pass
        return self.result()

    def step(self) -> bool:
        """Run one instruction; returns False if it was the last. An error is raised as the
        script's, with its line in the script.
        """
        frame = self.frames[-1]
        instruction = frame.code.instructions[frame.pc]
        try:
            frame.pc += METHODS.get(instruction.op, Interpreter.operation)(self, frame, instruction)
        except Exception as error:
            raise_at(error, frame.code.source[frame.pc], frame.code.name, self.callers())
        return bool(self.frames)

    def result(self) -> Any:
        """The output of the script. Raises RuntimeError while it is running."""
        if self.frames:
            raise RuntimeError(
                f"the script is still running: it is at instruction {self.frames[-1].pc}"
            )
        return self.stack[0] if self.n_outputs == 1 else tuple(self.stack) or None

    def callers(self) -> list[CodeFrame]:
        """The current lines of all frames but the innermost, the outermost first."""
        return [at for f in self.frames[:-1] for at in frames_of(f.code.source[f.pc], f.code.name)]

    # One method for each instruction that moves values or jumps

    def load(self, frame: Frame, instruction: Instruction) -> int:
        self.stack.append(frame.registers[instruction.X])
        return 1

    def move(self, frame: Frame, instruction: Instruction) -> int:
        self.stack.append(frame.registers[instruction.X])
        frame.registers[instruction.X] = None
        return 1

    def load_constant(self, frame: Frame, instruction: Instruction) -> int:
        self.stack.append(frame.code.constant_table[instruction.X])
        return 1

    def store(self, frame: Frame, instruction: Instruction) -> int:
        frame.registers[instruction.X] = self.stack.pop()
        return 1

    def store_several(self, frame: Frame, instruction: Instruction) -> int:
        frame.registers[instruction.X : instruction.X + instruction.N] = self.pop(instruction.N)
        return 1

    def drop(self, frame: Frame, instruction: Instruction) -> int:
        self.stack.pop()
        return 1

    def clear(self, frame: Frame, instruction: Instruction) -> int:
        frame.registers[instruction.X] = None
        return 1

    def jump(self, frame: Frame, instruction: Instruction) -> int:
        return instruction.X

    def jump_if_false(self, frame: Frame, instruction: Instruction) -> int:
        return 1 if self.stack.pop() else instruction.X

    def loop(self, frame: Frame, instruction: Instruction) -> int:
        """Begin the next turn, or leave the loop.

        The stack has the turns taken, the trip count, the condition, and the carried values. The
        body pops the index and the carried values, so the turns and the count stay below.
        """
        turns, limit, go_on, *carried = self.pop(instruction.N + 1)
        if turns < limit and go_on:
            self.stack += [turns + 1, limit, turns, *carried]
            return 1
        self.stack += carried
        return instruction.X

    def call(self, frame: Frame, instruction: Instruction) -> int:
        """Enter the other script, whose first instruction pops the arguments off the stack."""
        operation = frame.code.operations[frame.pc]
        assert operation is not None
        arguments = self.stack[len(self.stack) - operation.num_inputs :]
        callee = frame.code.function_table[instruction.X].executor.code_for(*arguments)
        self.frames.append(Frame(callee))
        return 0  # this frame stays at its CALL until the other returns

    def ret(self, frame: Frame, instruction: Instruction) -> int:
        """Return to the caller, behind its CALL; the results are on the stack."""
        self.frames.pop()
        if self.frames:
            self.frames[-1].pc += 1
        return 0

    # One method for all instructions that compute

    def operation(self, frame: Frame, instruction: Instruction) -> int:
        """Pop the inputs, call the function, push the outputs."""
        operation = frame.code.operations[frame.pc]
        assert operation is not None
        outputs = operation.function(*self.pop(operation.num_inputs))
        if operation.num_outputs == 1:
            self.stack.append(outputs)
        elif operation.num_outputs:
            self.stack.extend(outputs)
        return 1

    def pop(self, n: int) -> list[Any]:
        """Remove the last `n` values from the stack; returns them in the order they were pushed."""
        first = len(self.stack) - n
        values = self.stack[first:]
        del self.stack[first:]
        return values


METHODS: dict[str, Callable[[Interpreter, Frame, Instruction], int]] = {
    "LOAD": Interpreter.load,
    "MOVE": Interpreter.move,
    "LOADC": Interpreter.load_constant,
    "STORE": Interpreter.store,
    "STOREN": Interpreter.store_several,
    "DROP": Interpreter.drop,
    "DROPR": Interpreter.clear,
    "JMP": Interpreter.jump,
    "JF": Interpreter.jump_if_false,
    "LOOP": Interpreter.loop,
    "CALL": Interpreter.call,
    "RET": Interpreter.ret,
}


class Step(NamedTuple):
    """The state before an instruction. `depth` is the number of active frames; `registers` has the
    contents of the registers, by the names of their values.
    """

    depth: int
    code: Code
    pc: int
    instruction: Instruction
    registers: dict[str, Any]
    stack: list[Any]


def record(code: Code, *args: Any) -> Iterator[Step]:
    """Run `code`, and yield the state before every instruction; the last one, before the final RET,
    has the results on its stack.

    Empty registers are omitted.
    """
    interpreter = Interpreter(code, *args)
    more = True
    while more:
        frame = interpreter.frames[-1]
        named = zip(frame.code.register_names, frame.registers[1:])
        registers = {name: value for name, value in named if value is not None}
        instruction = frame.code.instructions[frame.pc]
        yield Step(
            len(interpreter.frames),
            frame.code,
            frame.pc,
            instruction,
            registers,
            list(interpreter.stack),
        )
        more = interpreter.step()
