"""Bytecode tied together: the interpreter at full speed (`torch/csrc/jit/interpreter.cpp: runImpl`
of 1.0.1).

Most instructions only carry values to the stack and from there into a register. Where they are
known beforehand, and they are, nothing need be carried: `LOAD 1, LOAD 2, OP aten::mul, STORE 3` is

    registers[3] = mul(registers[1], registers[2])

one *step*, which is the instruction of the talk's `runImpl`: a callback, the registers it reads,
the registers it writes. `tie` replays the instructions once with a stack of register numbers
instead of values, and writes down a step for every operator. Constants and what stays on the stack
between steps get registers of their own, behind the others. Steps that follow each other form a
`Block`; a block ends where the bytecode jumps.

`run_code` is the loop over steps. `Interpreter.step` does the same one instruction at a time, and
is what to read first.

How the real one differs: 1.0.1's instructions were such steps; today's interpreter runs the
bytecode as it is, because a `LOAD` costs C++ next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from internals.jit.operators.c_math import wrap

from .errors import raise_at
from .int_overflow import PlainInts
from .shortcuts import is_number, shortcut

if TYPE_CHECKING:
    from internals.jit.fuser.compiled_group import CompiledGroup
    from internals.jit.runtime.convolution_group import ConvolutionGroup

    from .code import Code, Operation

# Kinds of steps: (kind, function, a, b, out, pc).
BINARY, UNARY, COPY, MOVE, GENERAL, PARALLEL = range(6)
# How a block ends: (kind, ...).
JUMP, BRANCH, LOOP, RETURN, RETURN_SEVERAL = range(5)
LOOK_BACK = 64  # how far a step is looked for that could write elsewhere


class Block:
    """Steps that run one after the other, and what comes then."""

    __slots__ = ("steps", "exit")

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.exit: tuple[Any, ...] = ()


class Program(NamedTuple):
    """`registers` at the start: empty, but for the constants."""

    entry: Block
    registers: list[Any]


def run_code(code: Code, args: Sequence[Any]) -> Any:
    """Run `code`; returns its output, a tuple for several, None for none. Raises what the script
    raises.
    """
    entry, registers = code.program
    r = registers.copy()
    r[1 : len(args) + 1] = args
    block, pc = entry, 0
    try:
        while True:
            for kind, function, a, b, out, pc in block.steps:  # noqa: B007
                if kind == BINARY:
                    r[out] = function(r[a], r[b])
                elif kind == UNARY:
                    r[out] = function(r[a])
                elif kind == COPY:
                    r[out] = r[a]
                elif kind == MOVE:
                    r[out] = r[a]
                    r[a] = None
                elif kind == GENERAL:
                    results = function(*[r[i] for i in a])
                    for i in b:
                        r[i] = None
                    if len(out) == 1:
                        r[out[0]] = results
                    else:
                        for i, result in zip(out, results or ()):
                            r[i] = result
                else:
                    for i, value in zip(out, [r[i] for i in a]):
                        r[i] = value
            ending = block.exit
            kind = ending[0]
            if kind == LOOP:
                _, counter, limit, condition, index, body, after = ending
                turn = r[counter]
                if turn < r[limit] and r[condition]:
                    r[counter] = turn + 1
                    r[index] = turn
                    block = body
                else:
                    block = after
            elif kind == BRANCH:
                block = ending[2] if r[ending[1]] else ending[3]
            elif kind == JUMP:
                block = ending[1]
            elif kind == RETURN:
                return r[ending[1]]
            else:
                return tuple([r[i] for i in ending[1]]) or None
    except Exception as error:
        raise_at(error, code.source[pc], code.name)


def tie(code: Code) -> Program:
    """The steps of `code`."""
    return Tie(code).program()


class Operand(NamedTuple):
    """Where an entry of the stack is. `moved`: nobody else reads it. `number`: clearing its
    register would free nothing.
    """

    register: int
    moved: bool
    number: bool


class Join(NamedTuple):
    """Where two arms meet: the entries above `base` are brought to the registers `homes`, and
    `block` goes on.
    """

    base: int
    homes: tuple[Operand, ...]
    block: Block
    stored: bool  # the homes are those of the STORE that follows, which is done with that


class Turn(NamedTuple):
    """A loop: the entries it keeps start at `base`; its carried values live in `homes`."""

    base: int
    homes: tuple[Operand, ...]
    counter: int
    body: Block
    after: Block


class Tie:
    def __init__(self, code: Code) -> None:
        self.code = code
        self.first_constant = code.register_size + 1
        self.first_temporary = self.first_constant + len(code.constant_table)
        self.size = self.first_temporary
        self.ints = PlainInts(code.graph)
        self.stack: list[Operand] = []
        self.entry = self.block = Block()
        self.joins: dict[int, list[Join]] = {}
        self.arms: dict[int, tuple[Block, list[Operand]]] = {}
        self.turns: dict[int, Turn] = {}

    def program(self) -> Program:
        code = self.code
        pc = 1 if code.n_inputs else 0  # the arguments are put where the first STORE would put them
        while pc < len(code.instructions):
            pc = self.join(pc)
            pc += self.instruction(pc)
        registers = [None] * self.first_constant + code.constant_table
        return Program(self.entry, registers + [None] * (self.size - len(registers)))

    def instruction(self, pc: int) -> int:
        """Tie one instruction; returns how many are done with that."""
        op, X, N = self.code.instructions[pc]
        if op in ("LOAD", "MOVE"):
            self.push_register(X, op == "MOVE")
        elif op == "LOADC":
            self.stack.append(Operand(self.first_constant + X, False, True))
        elif op in ("STORE", "STOREN"):
            n = N if op == "STOREN" else 1
            self.bring(self.pop(n), [self.operand(X + i) for i in range(n)], pc)
        elif op == "DROPR":
            if not self.hand_over(X) and not is_number(self.code.values[X - 1]):
                self.put(COPY, None, 0, 0, X, pc)
        elif op == "DROP":
            (dropped,) = self.pop(1)
            if dropped.moved and not dropped.number:
                self.put(COPY, None, 0, 0, dropped.register, pc)
        elif op == "JF":
            self.branch(pc, pc + X)
        elif op == "JMP" and X > 0:
            self.end_arm(pc, pc + X)
        elif op == "JMP":
            self.next_turn(pc, pc + X)
        elif op == "LOOP":
            self.first_turn(pc, pc + X, N)
            return 2
        elif op == "RET":
            results = tuple(o.register for o in self.stack)
            self.block.exit = (RETURN, *results) if len(results) == 1 else (RETURN_SEVERAL, results)
        else:
            operation = self.code.operations[pc]
            assert operation is not None
            self.operation(operation, pc)
        return 1

    # Entries of the stack

    def operand(self, register: int) -> Operand:
        return Operand(register, True, is_number(self.code.values[register - 1]))

    def temporary(self, depth: int, number: bool = False) -> Operand:
        """The register for what is on the stack at `depth`."""
        register = self.first_temporary + depth
        self.size = max(self.size, register + 1)
        return Operand(register, True, number)

    def push_register(self, register: int, move: bool) -> None:
        if move and self.hand_over(register):
            move = False
        self.stack.append(self.operand(register)._replace(moved=move))

    def hand_over(self, register: int) -> bool:
        """If the register is on the stack already, the entry used last clears it."""
        for i, entry in enumerate(self.stack):
            if entry.register == register:
                self.stack[i] = entry._replace(moved=True)
                return True
        return False

    def pop(self, n: int) -> list[Operand]:
        first = len(self.stack) - n
        entries = self.stack[first:]
        del self.stack[first:]
        return entries

    # Steps

    def put(
        self,
        kind: int,
        function: Callable[..., Any] | CompiledGroup | ConvolutionGroup | None,
        a: Any,
        b: Any,
        out: Any,
        pc: int,
    ) -> None:
        self.block.steps.append((kind, function, a, b, out, pc))

    def operation(self, operation: Operation, pc: int) -> None:
        inputs = self.pop(operation.num_inputs)
        node = self.code.source[pc]
        depth = len(self.stack)
        outputs = [self.temporary(depth + i, is_number(v)) for i, v in enumerate(node.outputs())]
        found = shortcut(node, self.ints.plain)
        function = operation.function
        if found is not None:
            inputs = inputs[: len(found.inputs)]
            function = found.function
            if found.into_first and inputs[0].moved:
                function = found.into_first
            elif found.into_second and inputs[1].moved:
                function = found.into_second
        out = tuple(o.register for o in outputs)
        freed = tuple({o.register for o in inputs if o.moved and not o.number} - set(out))
        read = tuple(o.register for o in inputs)
        if len(out) == 1 and len(read) in (1, 2):
            self.put(BINARY if len(read) == 2 else UNARY, function, read[0], read[-1], out[0], pc)
            for register in freed:
                self.put(COPY, None, 0, 0, register, pc)
        else:
            self.put(GENERAL, function, read, freed, out, pc)
        self.stack += outputs

    def bring(
        self, entries: Sequence[Operand], homes: Sequence[Operand], pc: int, also_read: int = -1
    ) -> None:
        """Let the values of `entries` be in `homes`: by making them there in the first place, or by
        moves, all at once.
        """
        moves = [(e, h) for e, h in zip(entries, homes) if e.register != h.register]
        steps = self.block.steps
        if (
            moves
            and steps
            and steps[-1][:3] == (COPY, None, 0)
            and any(steps[-1][4] == h.register for _, h in moves)
        ):
            steps.pop()  # cleared just now, and about to be written
        sources = [e.register for e, _ in moves] + [also_read]
        stay = {h.register for h in homes}
        left = []
        for entry, home in moves:
            untouched = (
                home.register not in sources
                and sources.count(entry.register) == 1
                and entry.register not in stay
            )
            if not (untouched and entry.moved and self.redirect(entry, home.register)):
                left.append((entry, home))
        targets = {h.register for _, h in left}
        if any(e.register in targets for e, _ in left):
            self.put(
                PARALLEL,
                None,
                [e.register for e, _ in left],
                None,
                [h.register for _, h in left],
                pc,
            )
            left = [(e, h) for e, h in left if e.moved and not e.number and e.register not in stay]
            for entry, _ in left:
                self.put(COPY, None, 0, 0, entry.register, pc)
            return
        for i, (entry, home) in enumerate(left):
            again = any(e.register == entry.register for e, _ in left[i + 1 :])
            clear = entry.moved and not entry.number and not again and entry.register not in stay
            self.put(MOVE if clear else COPY, None, entry.register, 0, home.register, pc)

    def redirect(self, entry: Operand, home: int) -> bool:
        """Let the step of this block that makes `entry` write `home` instead, if nothing after it
        touches either.
        """
        steps, register = self.block.steps, entry.register
        for i in range(len(steps) - 1, max(-1, len(steps) - 1 - LOOK_BACK), -1):
            kind, function, a, b, out, pc = steps[i]
            several = kind in (GENERAL, PARALLEL)
            reads, writes = (a, out) if several else ((a, b), (out,))
            if register in writes and kind in (BINARY, UNARY, GENERAL):
                if register in reads and not entry.number:
                    return False  # it would have to be cleared in addition
                if several:
                    out = tuple(home if o == register else o for o in out)
                    steps[i] = kind, function, a, tuple(r for r in b if r != home), out, pc
                else:
                    steps[i] = kind, function, a, b, home, pc
                return True
            if register in (*reads, *writes) or home in (*reads, *writes):
                return False
        return False

    # Control flow

    def branch(self, pc: int, to_else: int) -> None:
        (condition,) = self.pop(1)
        then, otherwise = Block(), Block()
        self.block.exit = BRANCH, condition.register, then, otherwise
        self.arms[to_else] = otherwise, list(self.stack)
        self.block = then

    def end_arm(self, pc: int, end: int) -> None:
        """The first arm is done: its values go where those of the second will go; the second begins
        with the stack as it was.
        """
        otherwise, stack = self.arms.pop(pc + 1)
        base, count = len(stack), len(self.stack) - len(stack)
        outer = self.joins.setdefault(end, [])
        op, X, N = self.code.instructions[end]
        if outer:
            same = outer[-1].base == base and len(outer[-1].homes) == count
            homes = outer[-1].homes if same else self.temporaries(base, count)
            join = Join(base, homes, Block(), False)
        elif count and (op == "STORE" and count == 1 or op == "STOREN" and count == N):
            join = Join(base, tuple(self.operand(X + i) for i in range(count)), Block(), True)
        else:
            join = Join(base, self.temporaries(base, count), Block(), False)
        outer.append(join)
        self.bring(self.stack[base:], join.homes, pc)
        self.block.exit = JUMP, join.block
        self.block, self.stack = otherwise, stack

    def temporaries(self, base: int, count: int) -> tuple[Operand, ...]:
        return tuple(self.temporary(base + i) for i in range(count))

    def join(self, pc: int) -> int:
        """The second arm is done as well, and those of other Ifs that end here. Returns where to go
        on.
        """
        for join in reversed(self.joins.pop(pc, [])):
            self.bring(self.stack[join.base :], join.homes, pc)
            self.block.exit = JUMP, join.block
            self.block = join.block
            self.stack[join.base :] = join.homes
            if join.stored:
                del self.stack[join.base :]
                pc += 1
        return pc

    def first_turn(self, pc: int, end: int, n: int) -> None:
        """Begin a loop. The STORE at the start of its body says where the carried values live; it
        needs not be done itself.
        """
        base = len(self.stack) - (n + 1)
        entries = self.pop(n + 1)
        counter, limit = self.temporary(base, True), self.temporary(base + 1, True)
        index = self.code.instructions[pc + 1].X
        homes = tuple(self.operand(index + 1 + i) for i in range(n - 2))
        turn = self.turns[pc] = Turn(base, homes, index, Block(), Block())
        self.begin_turn(
            turn, entries[2], [*entries[:2], *entries[3:]], [counter, limit, *homes], pc
        )
        self.block = turn.body
        self.stack += [counter, limit]

    def next_turn(self, pc: int, begin: int) -> None:
        turn = self.turns.pop(begin)
        condition, *carried = self.stack[turn.base + 2 :]
        self.begin_turn(turn, condition, carried, turn.homes, pc)
        del self.stack[turn.base :]
        self.block = turn.after
        loop = self.code.source[begin]
        for home, output in zip(turn.homes, loop.outputs()):
            if output in self.ints.wrap:
                self.put(UNARY, wrap, home.register, home.register, home.register, pc)
        self.stack += turn.homes

    def begin_turn(
        self,
        turn: Turn,
        condition: Operand,
        entries: Sequence[Operand],
        homes: Sequence[Operand],
        pc: int,
    ) -> None:
        if any(h.register == condition.register for h in homes):
            aside = self.temporary(turn.base + 2, True)
            self.put(COPY, None, condition.register, 0, aside.register, pc)
            condition = aside
        self.bring(entries, homes, pc, also_read=condition.register)
        counter, limit = (self.first_temporary + turn.base + i for i in range(2))
        self.block.exit = (
            LOOP,
            counter,
            limit,
            condition.register,
            turn.counter,
            turn.body,
            turn.after,
        )
