"""Shows the objects of a pickle as a tree, without creating them: an unpickler that only records.

Unpickling runs a program, and that program may call `os.system("...")`. Here every instruction has
a harmless meaning: a *global* is recorded as two names, a call as a function's name and its
arguments. So you can read what a malicious file would do, and nothing happens. Numbers and strings
are themselves, containers are `Items` and `Pairs`; the rest are `Global`, `Call` and `Persistent`.

Mirrors `pickletools.dis` and `torch/utils/show_pickle.py`.

How the real one differs: `show_pickle` derives from Python's unpickler and replaces only the
classes; `pickletools` lists instructions, and builds no tree.
"""

from __future__ import annotations

import io
import pickletools
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

OPCODES_AT_MOST = 5_000_000
# all that `pickletools.genops` raises for broken instructions
DECODING_ERRORS = (
    ValueError,
    struct.error,
    OverflowError,
    EOFError,
    MemoryError,
    IndexError,
    KeyError,
)


@dataclass(frozen=True)
class Global:
    """A name that the pickle would import."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False)
class Call:
    """A call that the pickle would make. `state` would be set on the result (`__setstate__`), and
    `items` and `pairs` added to it, as to a list or a dict.
    """

    function: Any
    arguments: list[Any]
    state: Any = None
    items: list[Any] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(eq=False)
class Persistent:
    """An object outside of the pickle, identified by `id`: a storage, in files of PyTorch."""

    id: Any


@dataclass(eq=False)
class Items:
    """A "list", "tuple", "set" or "frozenset"."""

    kind: str
    items: list[Any]


@dataclass(eq=False)
class Pairs:
    """A dict, as pairs: its keys may be unhashable here."""

    pairs: list[tuple[Any, Any]]


@dataclass
class Described:
    """The content of one pickle, which takes the bytes from `start` to `end`. `problem` is the
    reason why it cannot be read, "" if it can; `globals` are all that occur in it.
    """

    root: Any = None
    protocol: int = 0
    opcodes: int = 0
    start: int = 0
    end: int = 0
    globals: list[Global] = field(default_factory=list)
    problem: str = ""


def describe(data: Any, start: int = 0) -> Described:
    """Reads the pickle that begins at `start` of some bytes or of a mapped file. Errors become
    `problem`, and the tree has what was read before.
    """
    found = Described(start=start, end=start)
    file = data if hasattr(data, "readline") else io.BytesIO(data)
    file.seek(start)
    machine = Machine(found)
    try:
        for opcode, argument, position in pickletools.genops(file):
            found.opcodes += 1
            if found.opcodes > OPCODES_AT_MOST:
                found.problem = (
                    f"more than {OPCODES_AT_MOST:,} instructions; the rest was not looked at"
                )
                break
            machine.step(opcode.name, argument, position or 0)
    except DECODING_ERRORS as error:
        found.problem = found.problem or f"cannot be read on: {error}"
    found.end = file.tell()
    if found.problem and found.root is None:
        found.root = Items("list", [value for value in machine.stack if value is not MARK])
    return found


MARK = object()


class Machine:
    """The stack and the memo of an unpickler. A method named like an instruction performs it; those
    that only push a value are in `PUSHED`.
    """

    def __init__(self, found: Described) -> None:
        self.found, self.stack, self.memo = found, [], {}  # type: Described, list[Any], dict[int, Any]

    def step(self, name: str, argument: Any, position: int) -> None:
        """Performs one instruction. After one that fails, only globals are still collected: they
        are what matters about a malicious file.
        """
        if name in ("GLOBAL", "INST"):
            module, _, attribute = argument.partition(" ")
            self.note(Global(module, attribute))
        if self.found.problem:
            return
        try:
            if name in LITERALS:
                self.stack.append(argument)
            elif name in PUSHED:
                self.push(PUSHED[name](self, argument))
            elif name not in NOTHING_TO_DO:
                getattr(self, name)(argument)
        except (IndexError, KeyError, AttributeError, TypeError, ValueError):
            self.found.problem = (
                f"instruction {name} at byte {position} does not find what it needs"
            )

    def note(self, found: Global) -> Global:
        """Adds a global to the list, once, and returns it."""
        if found not in self.found.globals:
            self.found.globals.append(found)
        return found

    def above_mark(self) -> list[Any]:
        """Pops the values above the topmost mark, and the mark; IndexError if there is none."""
        at = (
            max(i for i, value in enumerate(self.stack) if value is MARK)
            if MARK in self.stack
            else -1
        )
        if at < 0:
            raise IndexError
        taken, self.stack[at:] = self.stack[at + 1 :], []
        return taken

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is MARK:
            raise IndexError
        return value

    def push(self, value: object) -> None:
        self.stack.append(value)

    def PROTO(self, version: int) -> None:
        self.found.protocol = version

    def STOP(self, _: object) -> None:
        self.found.root = self.pop()

    def POP(self, _: object) -> None:
        self.stack.pop()

    def POP_MARK(self, _: object) -> None:
        self.above_mark()

    def PUT(self, number: int) -> None:
        self.memo[int(number)] = self.stack[-1]

    def MEMOIZE(self, _: object) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    BINPUT = LONG_BINPUT = PUT

    def take(self, count: int) -> list[Any]:
        """Pops `count` values, in the order in which they were pushed."""
        return [self.pop() for _ in range(count)][::-1]

    def APPEND(self, _: object) -> None:
        value = self.pop()
        self.stack[-1].items.append(value)

    def APPENDS(self, _: object) -> None:
        values = self.above_mark()
        self.stack[-1].items.extend(values)

    ADDITEMS = APPENDS

    def SETITEM(self, _: object) -> None:
        pair = self.take(2)
        self.stack[-1].pairs.append((pair[0], pair[1]))

    def SETITEMS(self, _: object) -> None:
        values = self.above_mark()
        self.stack[-1].pairs.extend(paired(values))

    def GLOBAL(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self.push(Global(module, name))

    def STACK_GLOBAL(self, _: object) -> None:
        module, name = self.take(2)
        words = [word if isinstance(word, str) else "?" for word in (module, name)]
        self.push(self.note(Global(*words)))

    def INST(self, argument: str) -> None:
        arguments = self.above_mark()
        module, _, name = argument.partition(" ")
        self.push(Call(Global(module, name), arguments))

    def OBJ(self, _: object) -> None:
        function, *arguments = self.above_mark()
        self.push(Call(function, arguments))

    def REDUCE(self, _: object) -> None:
        function, arguments = self.take(2)
        self.push(Call(function, arguments.items if isinstance(arguments, Items) else [arguments]))

    NEWOBJ = REDUCE

    def NEWOBJ_EX(self, _: object) -> None:
        function, arguments, keywords = self.take(3)
        self.push(Call(function, [*arguments.items, keywords]))

    def BUILD(self, _: object) -> None:
        state = self.pop()
        if isinstance(self.stack[-1], Call):
            self.stack[-1].state = state
        else:
            self.push(Call(Global("object", "__setstate__"), [self.pop(), state]))


LITERALS = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING "
    "SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 UNICODE SHORT_BINUNICODE "
    "BINUNICODE BINUNICODE8".split()
)
NOTHING_TO_DO = frozenset({"FRAME", "READONLY_BUFFER"})
# instructions that only push one value: the value, from the machine and the argument
PUSHED: dict[str, Callable[[Machine, Any], Any]] = {
    "MARK": lambda m, _: MARK,
    "DUP": lambda m, _: m.stack[-1],
    "NONE": lambda m, _: None,
    "NEWTRUE": lambda m, _: True,
    "NEWFALSE": lambda m, _: False,
    "GET": lambda m, number: m.memo[int(number)],
    "BINGET": lambda m, number: m.memo[number],
    "LONG_BINGET": lambda m, number: m.memo[number],
    "EMPTY_LIST": lambda m, _: Items("list", []),
    "EMPTY_TUPLE": lambda m, _: Items("tuple", []),
    "EMPTY_SET": lambda m, _: Items("set", []),
    "EMPTY_DICT": lambda m, _: Pairs([]),
    "LIST": lambda m, _: Items("list", m.above_mark()),
    "TUPLE": lambda m, _: Items("tuple", m.above_mark()),
    "FROZENSET": lambda m, _: Items("frozenset", m.above_mark()),
    "DICT": lambda m, _: Pairs(paired(m.above_mark())),
    "TUPLE1": lambda m, _: Items("tuple", m.take(1)),
    "TUPLE2": lambda m, _: Items("tuple", m.take(2)),
    "TUPLE3": lambda m, _: Items("tuple", m.take(3)),
    "EXT1": lambda m, code: m.note(Global("copyreg", f"extension {code}")),
    "EXT2": lambda m, code: m.note(Global("copyreg", f"extension {code}")),
    "EXT4": lambda m, code: m.note(Global("copyreg", f"extension {code}")),
    "PERSID": lambda m, name: Persistent(name),
    "BINPERSID": lambda m, _: Persistent(m.pop()),
    "NEXT_BUFFER": lambda m, _: Persistent("a buffer beside the pickle"),
}


def paired(values: list[Any]) -> list[tuple[Any, Any]]:
    """[k0, v0, k1, v1] as [(k0, v0), (k1, v1)]; ValueError for an odd number of values."""
    return list(zip(values[::2], values[1::2], strict=True))
