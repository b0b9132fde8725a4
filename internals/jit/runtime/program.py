"""Bytecode tied together: the interpreter at full speed (`torch/csrc/jit/interpreter.cpp: runImpl`
of 1.0.1).

Most instructions only carry values from a register to the stack, or from there into a register.
Which registers these are is known before the program runs, so the stack can be omitted:
`LOAD 1, LOAD 2, OP aten::mul, STORE 3` becomes

    registers[3] = mul(registers[1], registers[2])

This is one *step*, the instruction of the talk's `runImpl`: a callback, the registers it reads, and
the registers it writes. `link` replays the instructions once with a stack of register numbers
instead of values, and writes down a step for every operator. The registers, in order:

    0                           always None: copying it clears a register
    1 ...                       those of the bytecode; the arguments are the first of them
    first_constant ...          constants
    first_temporary ...         values that stay on the stack between steps, by their depth

Steps that follow each other form a `Block`; a block ends where the bytecode jumps.

`run_code` is the loop over steps. Read `Interpreter.step` first: it does the same, one instruction
at a time.

How the real one differs: 1.0.1's instructions were such steps; today's interpreter runs the
bytecode as it is, because a `LOAD` costs C++ next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from internals.jit.operators.c_math import wrap

from .errors import raise_at
from .int_overflow import UncheckedInts
from .shortcuts import is_number, shortcut

if TYPE_CHECKING:
    from internals.jit.fuser.compiled_group import CompiledGroup
    from internals.jit.runtime.convolution_group import ConvolutionGroup

    from .code import Code, Operation

    # a group is called like a function
    Function: TypeAlias = Callable[..., Any] | CompiledGroup | ConvolutionGroup

# A step is a plain tuple, (kind, function, a, b, out, pc), which `run_code` unpacks faster than any
# other object; a, b and out are registers. The functions `binary`, `unary`, ... below make them.
#   BINARY    r[out] = function(r[a], r[b])
#   UNARY     r[out] = function(r[a])
#   COPY      r[out] = r[a]; with a = 0, it clears r[out]
#   MOVE      r[out] = r[a], and r[a] is cleared
#   GENERAL   reads the registers a, then clears the registers b, then writes the registers out
#   PARALLEL  copies the registers a to out; all are read before the first is written
BINARY, UNARY, COPY, MOVE, GENERAL, PARALLEL = range(6)
# How a block ends: (kind, ...), as `run_code` unpacks it.
JUMP, BRANCH, LOOP, RETURN, RETURN_SEVERAL = range(5)
LOOK_BACK = 64  # how many steps `redirect` looks through, which keeps tying linear

Step = tuple[Any, ...]


class Block:
    """Steps that run one after the other, and `exit`, which says what block runs next."""

    __slots__ = ("steps", "exit")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.exit: tuple[Any, ...] = ()


class Program(NamedTuple):
    """The first block to run, and the initial registers: all None except for the constants."""

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
            # `pc` is for the handler below: the error is reported at its line of the script.
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
                    for i in b:  # the inputs that are not needed any more
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


def link(code: Code) -> Program:
    """Translate the bytecode of `code` into steps."""
    return Linker(code).program()


def binary(function: Callable[..., Any], a: int, b: int, out: int, pc: int) -> Step:
    """r[out] = function(r[a], r[b])."""
    return BINARY, function, a, b, out, pc


def unary(function: Callable[..., Any], a: int, out: int, pc: int) -> Step:
    """r[out] = function(r[a])."""
    return UNARY, function, a, a, out, pc


def copy(source: int, out: int, pc: int) -> Step:
    """r[out] = r[source]."""
    return COPY, None, source, 0, out, pc


def clear(register: int, pc: int) -> Step:
    """r[register] = None, which is in register 0."""
    return copy(0, register, pc)


def move(source: int, out: int, pc: int) -> Step:
    """r[out] = r[source]; r[source] = None."""
    return MOVE, None, source, 0, out, pc


def general(
    function: Function, read: Sequence[int], freed: Sequence[int], out: Sequence[int], pc: int
) -> Step:
    """The registers `out` = function(the registers `read`); `freed` are cleared in between."""
    return GENERAL, function, read, freed, out, pc


def parallel(sources: Sequence[int], targets: Sequence[int], pc: int) -> Step:
    """The registers `targets` = the registers `sources`, all at once."""
    return PARALLEL, None, sources, None, targets, pc


class Operand(NamedTuple):
    """The register that an entry of the stack lives in.

    `moved`: this entry is the last to read it, so the register is to be cleared. `number`: it is a
    number, so clearing the register would free no memory, and is omitted.
    """

    register: int
    moved: bool
    number: bool

    @property
    def to_clear(self) -> bool:
        """Whether the register is to be cleared once the entry has been read."""
        return self.moved and not self.number


Move = tuple[Operand, Operand]  # an entry of the stack, and the home that its value has to reach


class Join(NamedTuple):
    """The point where two arms of an If meet: both bring their entries above `base` to the
    registers `homes`, and `block` goes on.
    """

    base: int
    homes: tuple[Operand, ...]
    block: Block
    stored: bool  # the homes are those of the STORE that follows, which is skipped


class Turn(NamedTuple):
    """A loop: the entries it keeps start at `base`; its carried values live in `homes`."""

    base: int
    homes: tuple[Operand, ...]
    counter: int
    body: Block
    after: Block


class Linker:
    """The translation of one `Code`: `stack` holds operands where the interpreter has values."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.first_constant = code.register_size + 1
        self.first_temporary = self.first_constant + len(code.constant_table)
        self.size = self.first_temporary
        self.ints = UncheckedInts(code.graph)
        self.stack: list[Operand] = []
        self.entry = self.block = Block()
        # By pc: the joins at an instruction, the block and stack of the second arm that begins
        # there, the loop whose LOOP instruction is there.
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
        """Translate one instruction; returns how many were consumed (2 for LOOP)."""
        op, X, N = self.code.instructions[pc]
        # Loads only note an operand; the first step is made by what pops it.
        if op in ("LOAD", "MOVE"):
            self.push_register(X, op == "MOVE")
        elif op == "LOADC":
            self.stack.append(Operand(self.first_constant + X, moved=False, number=True))
        elif op in ("STORE", "STOREN"):
            n = N if op == "STOREN" else 1
            self.bring(self.pop(n), [self.operand(X + i) for i in range(n)], pc)
        elif op == "DROPR":
            # If the register is still on the stack, it is cleared when the entry is popped.
            if not self.hand_over(X) and not is_number(self.code.values[X - 1]):
                self.put(clear(X, pc))
        elif op == "DROP":
            (dropped,) = self.pop(1)
            if dropped.to_clear:
                self.put(clear(dropped.register, pc))
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
        """The operand of a register of the bytecode, at its last use."""
        return Operand(register, moved=True, number=is_number(self.code.values[register - 1]))

    def temporary(self, depth: int, number: bool = False) -> Operand:
        """The register for what is on the stack at `depth`."""
        register = self.first_temporary + depth
        self.size = max(self.size, register + 1)
        return Operand(register, moved=True, number=number)

    def push_register(self, register: int, move: bool) -> None:
        """LOAD or MOVE: a register that is pushed twice is cleared by the entry popped last."""
        if move and self.hand_over(register):
            move = False
        self.stack.append(self.operand(register)._replace(moved=move))

    def hand_over(self, register: int) -> bool:
        """Let an entry that is on the stack already clear the register; returns whether there is
        one. It is popped later than a new entry would be, or with it.
        """
        for i, entry in enumerate(self.stack):
            if entry.register == register:
                self.stack[i] = entry._replace(moved=True)
                return True
        return False

    def pop(self, n: int) -> list[Operand]:
        """Remove the last `n` entries of the stack; returns them in the order they were pushed."""
        first = len(self.stack) - n
        entries = self.stack[first:]
        del self.stack[first:]
        return entries

    # Steps

    def put(self, step: Step) -> None:
        """Append a step to the current block."""
        self.block.steps.append(step)

    def operation(self, operation: Operation, pc: int) -> None:
        """Append the step of an operator."""
        inputs = self.pop(operation.num_inputs)
        node = self.code.source[pc]
        depth = len(self.stack)
        outputs = [self.temporary(depth + i, is_number(v)) for i, v in enumerate(node.outputs())]
        found = shortcut(node, self.ints.plain)
        function = operation.function
        if found is not None:
            inputs = inputs[: len(found.inputs)]  # `alpha` of add, a constant 1, is not passed
            function = found.function
            # An operand at its last use may be overwritten by the result (reuse.py).
            if found.into_first and inputs[0].moved:
                function = found.into_first
            elif found.into_second and inputs[1].moved:
                function = found.into_second
        out = tuple(o.register for o in outputs)
        freed = tuple({o.register for o in inputs if o.to_clear} - set(out))
        read = tuple(o.register for o in inputs)
        self.stack += outputs
        if len(out) != 1 or len(read) not in (1, 2):
            self.put(general(function, read, freed, out, pc))
            return
        if len(read) == 1:
            self.put(unary(function, read[0], out[0], pc))
        else:
            self.put(binary(function, read[0], read[1], out[0], pc))
        for register in freed:
            self.put(clear(register, pc))

    def bring(
        self, entries: Sequence[Operand], homes: Sequence[Operand], pc: int, also_read: int = -1
    ) -> None:
        """Bring the values of `entries` to the registers `homes`: by letting the step that computes
        a value write there in the first place, or else by copies. `also_read` is a register that
        is read after the copies.

        `a, b = b, a + 1` at the end of an If, where r[1] is a, r[2] is b, r[6] the constant, and
        the results live in r[4] and r[5]: the sum moves, b is copied.

            r[9] = add(r[1], r[6])     ──▶     r[5] = add(r[1], r[6])
                                               r[4] = r[2]

        `a, b = b, a` at the end of a loop's body, where a lives in r[5] and b in r[6]: r[5] = r[6]
        would overwrite what r[6] = r[5] reads next, so one PARALLEL step does both.

            r[5], r[6] = r[6], r[5]
        """
        moves = [(e, h) for e, h in zip(entries, homes) if e.register != h.register]
        kept = {h.register for h in homes}  # these must not be cleared
        self.omit_clear(moves)
        moves = self.redirect_all(moves, kept, also_read)
        targets = {home.register for _, home in moves}
        if any(entry.register in targets for entry, _ in moves):
            self.copy_together(moves, kept, pc)
        else:
            self.copy_in_turn(moves, kept, pc)

    def omit_clear(self, moves: Sequence[Move]) -> None:
        """Remove the last step if it clears a register that is written next."""
        steps = self.block.steps
        if not moves or not steps:
            return
        kind, _, source, _, out, _ = steps[-1]
        clears = kind == COPY and source == 0
        if clears and any(home.register == out for _, home in moves):
            steps.pop()

    def redirect_all(self, moves: Sequence[Move], kept: set[int], also_read: int) -> list[Move]:
        """Let values be computed in their homes where that is safe; returns the other moves."""
        sources = [entry.register for entry, _ in moves] + [also_read]
        remaining = []
        for entry, home in moves:
            # Computing the value in its home is safe if no copy reads the home, and the value is
            # needed in this one place only.
            untouched = (
                home.register not in sources
                and sources.count(entry.register) == 1
                and entry.register not in kept
            )
            if not (untouched and entry.moved and self.redirect(entry, home.register)):
                remaining.append((entry, home))
        return remaining

    def copy_together(self, moves: Sequence[Move], kept: set[int], pc: int) -> None:
        """One step that reads all values before it writes the first."""
        self.put(parallel([e.register for e, _ in moves], [h.register for _, h in moves], pc))
        for entry, _ in moves:
            if entry.to_clear and entry.register not in kept:
                self.put(clear(entry.register, pc))

    def copy_in_turn(self, moves: Sequence[Move], kept: set[int], pc: int) -> None:
        """A step for each value; the last to read a register clears it."""
        for i, (entry, home) in enumerate(moves):
            read_again = any(later.register == entry.register for later, _ in moves[i + 1 :])
            if entry.to_clear and not read_again and entry.register not in kept:
                self.put(move(entry.register, home.register, pc))
            else:
                self.put(copy(entry.register, home.register, pc))

    def redirect(self, entry: Operand, home: int) -> bool:
        """Let the step of this block that computes `entry` write to `home` instead, if no step
        after it reads or writes either register. Returns whether that was possible.
        """
        steps, register = self.block.steps, entry.register
        for i in range(len(steps) - 1, max(-1, len(steps) - 1 - LOOK_BACK), -1):
            kind, function, a, b, out, pc = steps[i]
            several = kind in (GENERAL, PARALLEL)
            reads, writes = (a, out) if several else ((a, b), (out,))
            if register in writes and kind in (BINARY, UNARY, GENERAL):
                if register in reads and not entry.number:
                    return False  # the old value in `register` would never be cleared
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
        """JF: the first arm goes on here, the second begins at `to_else` with the same stack."""
        (condition,) = self.pop(1)
        then, otherwise = Block(), Block()
        self.block.exit = BRANCH, condition.register, then, otherwise
        self.arms[to_else] = otherwise, list(self.stack)
        self.block = then

    def end_arm(self, pc: int, end: int) -> None:
        """End the first arm: its values are brought where those of the second will be, too; the
        second arm begins with the stack from before the If.
        """
        otherwise, stack = self.arms.pop(pc + 1)
        base, count = len(stack), len(self.stack) - len(stack)
        outer = self.joins.setdefault(end, [])
        op, X, N = self.code.instructions[end]
        if outer:  # this If is the last node in the second arm of another, which ends here, too
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
        """The registers of `count` entries of the stack from `base` on."""
        return tuple(self.temporary(base + i) for i in range(count))

    def join(self, pc: int) -> int:
        """End the second arms of all Ifs that meet at `pc`, the inner ones first. Returns the pc to
        go on with.
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
        """Begin a loop with `n` entries beside the counter on the stack.

        The store at the start of the body says in which registers the index and the carried values
        live; they are brought there directly, so the store itself is skipped.
        """
        base = len(self.stack) - (n + 1)
        entries = self.pop(n + 1)  # turns taken (0), trip count, condition, carried values
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
        """End a loop's body: go back to the LOOP at `begin`, or on behind the loop."""
        turn = self.turns.pop(begin)
        condition, *carried = self.stack[turn.base + 2 :]
        self.begin_turn(turn, condition, carried, turn.homes, pc)
        del self.stack[turn.base :]
        self.block = turn.after
        loop = self.code.source[begin]
        for home, output in zip(turn.homes, loop.outputs()):
            if output in self.ints.wrap:  # a sum that was not checked for overflow in the loop
                self.put(unary(wrap, home.register, home.register, pc))
        self.stack += turn.homes

    def begin_turn(
        self,
        turn: Turn,
        condition: Operand,
        entries: Sequence[Operand],
        homes: Sequence[Operand],
        pc: int,
    ) -> None:
        """Bring the carried values to their homes, and end the block with a LOOP."""
        # The condition is read after the carried values are set: save it if one overwrites it.
        if any(h.register == condition.register for h in homes):
            aside = self.temporary(turn.base + 2, True)
            self.put(copy(condition.register, aside.register, pc))
            condition = aside
        self.bring(entries, homes, pc, also_read=condition.register)
        # the two entries below the carried values, which stay on the stack for the whole loop
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
