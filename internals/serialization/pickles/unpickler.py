"""The stack machine that runs a pickle, without its dangerous instructions
(`torch/_weights_only_unpickler.py`, `torch/csrc/jit/serialization/unpickler.cpp`).

With Python's `pickle.load`, a file can import any module and call any function with any arguments:
to open a file is to run it. This machine has the same stack and memo, but two instructions differ.
GLOBAL, "push the class of this name", asks `find_global`, which has a list of names and imports
nothing; REDUCE, "call it", calls only objects from that list. The other instructions can only build
numbers, strings and containers.

A malicious file may still try to underflow the stack, to claim a string of four gigabytes, to build
a list that contains itself, or to describe 2**100 objects in three hundred bytes. So nothing here
recurses, copies shared structure, or trusts a length, and the number of objects is limited by the
length of the pickle. Every error is an `ArchiveError` with the byte where it happened.

How the real one differs: PyTorch has two such machines. The one in C++ checks little: a pickle that
it has not written itself can crash it.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from ..errors import ArchiveError
from .pickle_keys import KeyCheck

FindGlobal = Callable[[str, str], Any]
PROTOCOLS = range(2, 6)
CONTAINER = 64  # bytes of memory that an empty container takes


class Constructor:
    """The replacement of a global. REDUCE calls it, NEWOBJ calls `new`, BUILD calls `set_state`;
    each is refused unless it is overridden.
    """

    name = "a global"
    hashes = False  # whether the items of its arguments become keys
    nbytes = CONTAINER  # about the memory that its result takes

    def __call__(self, *args: Any) -> Any:
        raise ArchiveError(f"{self.name} cannot be called")

    def new(self, *args: Any) -> Any:
        """A new object without its state."""
        raise ArchiveError(f"no object of {self.name} can be made this way (NEWOBJ)")

    def set_state(self, obj: Any, state: Any) -> None:
        """Sets the state of `obj`, which is a result of this constructor."""
        raise ArchiveError(f"an object made by {self.name} has no state to set (BUILD)")

    def __repr__(self) -> str:
        return f"<{self.name} in a pickle>"


def unpickle(
    data: bytes,
    *,
    find_global: FindGlobal,
    persistent_load: Callable[[Any], Any],
    archive: str = "",
    record: str = "",
) -> Any:
    """Returns the object that the pickle `data` builds. Bytes after its end are ignored.

    `find_global(module, name)` returns the `Constructor` (or the value, such as a dtype) for that
    name, or raises ArchiveError; `persistent_load(id)` returns the object for a persistent id.
    Raises ArchiveError for anything that is wrong.
    """
    return Machine(data, find_global, persistent_load, archive, record).run()


class Machine:
    """Runs one pickle that begins at `start`; afterwards `at` is the offset of its end."""

    def __init__(
        self,
        data: bytes,
        find_global: FindGlobal,
        persistent_load: Callable[[Any], Any],
        archive: str = "",
        record: str = "",
        start: int = 0,
    ) -> None:
        self.data, self.find_global, self.persistent_load = data, find_global, persistent_load
        self.archive, self.record = archive, record
        self.at = self.here = start  # `here` is the byte of the current instruction
        self.stack: list[Any] = []
        # MARK starts a new stack, so that "everything above the mark" is simply `stack`.
        self.below: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        # id of an object -> the object (so that the id stays its own), and its constructor
        self.makers: dict[int, tuple[Any, Constructor]] = {}
        self.is_outside = False  # in `persistent_load`, whose errors are passed on unchanged
        self.check_key = KeyCheck()
        length = len(data) - start
        # An honest pickle needs less: a container takes several bytes there, with its memo.
        self.memory_left = 12 * length + (4 << 20)
        self.arguments_left = 2 * length + 50_000

    def run(self) -> Any:
        """Returns the object. Raises ArchiveError, with the byte of the instruction."""
        data, operations = self.data, OPERATIONS
        try:
            if data[self.at : self.at + 1] != b"\x80":
                found = data[self.at] if self.at < len(data) else "the end of the data"
                raise ArchiveError(
                    f"Expected PROTO opcode at the start of pickle archive, found {found}"
                )
            while True:
                self.here = self.at
                code = data[self.at]
                self.at += 1
                if code == 0x2E:  # STOP
                    break
                operations[code](self)
            if len(self.stack) != 1 or self.below:
                raise ArchiveError(
                    f"STOP with {len(self.stack)} objects on the stack and {len(self.below)} open "
                    "marks"
                )
            return self.stack[0]
        except ArchiveError as error:
            if error.archive or error.record or self.is_outside:
                raise
            raise self._located(error.message) from error.__cause__
        except IndexError:
            if self.is_outside:
                raise
            if self.here >= len(data):
                raise self._located("the data ends before its STOP") from None
            raise self._located(f"{self._opcode()} needs more than is on the stack") from None
        except FAILURES as error:
            if self.is_outside:
                raise
            what = f"cannot be carried out: {type(error).__name__}: {error}"
            raise self._located(f"{self._opcode()} {what[:500]}") from error

    # The instructions that take more than a line; the others are in TABLE

    def protocol(self) -> None:
        (version,) = self.take(1)
        if version not in PROTOCOLS:
            raise ArchiveError(f"Only Pickle protocol 2 is supported, found protocol = {version}")

    # Containers

    def mark(self) -> None:
        self.count()
        self.below.append(self.stack)
        self.stack = []

    def empty_list(self) -> None:
        self.count()
        self.stack.append([])

    def empty_dict(self) -> None:
        self.count()
        self.stack.append({})

    def empty_set(self) -> None:
        self.count()
        self.stack.append(set())

    def tuple_of_marked(self) -> None:
        self.count()
        items = tuple(self.above_mark())
        self.stack.append(items)

    def append(self) -> None:
        item = self.stack.pop()
        self.top(list).append(item)

    def appends(self) -> None:
        items = self.above_mark()
        self.top(list).extend(items)

    def set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.enter(self.top(*DICTS), key, value)

    def set_items(self) -> None:
        items = self.above_mark()
        target = self.top(*DICTS)
        if len(items) % 2:
            raise ArchiveError(
                "a dict is to be filled with keys and values, but the number of objects is odd"
            )
        for i in range(0, len(items), 2):
            self.enter(target, items[i], items[i + 1])

    # The memo

    def put(self) -> None:
        self.memo[self.take(1)[0]] = self.stack[-1]

    def long_put(self) -> None:
        self.memo[int.from_bytes(self.take(4), "little")] = self.stack[-1]

    # The instructions with which a file could run code in Python's machine

    def global_(self) -> None:
        """Pushes the entry of the allow-list with this name; two lines, module and name, follow."""
        self.stack.append(self.find_global(self.line(), self.line()))

    def reduce(self) -> None:
        """Replaces a constructor and its arguments by the result of the call."""
        args, function = self.stack.pop(), self.stack.pop()
        self.stack.append(self.construct(function, args, lambda: function(*args)))

    def new_object(self) -> None:
        args, cls = self.stack.pop(), self.stack.pop()
        self.stack.append(self.construct(cls, args, lambda: cls.new(*args)))

    def build(self) -> None:
        """Sets the state of the object on top of the stack, by the constructor that created it."""
        state, obj = self.stack.pop(), self.stack[-1]
        _, maker = self.makers.get(id(obj), (None, None))
        if maker is None:
            raise ArchiveError(f"BUILD of a {type(obj).__name__}, which has no state")
        self.pay(state)
        maker.set_state(obj, state)

    def persistent_id(self) -> None:
        name = self.stack.pop()
        self.is_outside = True
        try:
            value = self.persistent_load(name)
        except ArchiveError:
            self.is_outside = False
            raise
        self.is_outside = False
        self.stack.append(value)

    def unknown(self) -> None:
        raise ArchiveError(
            f"{self._opcode()} is no instruction that a file may contain: save it with pickle "
            "protocol 2"
        )

    # Helpers

    def take(self, n: int) -> bytes:
        """The next `n` bytes; the length is checked before anything is allocated."""
        end = self.at + n
        if end > len(self.data):
            there = len(self.data) - self.at
            raise ArchiveError(
                f"{self._opcode()} is followed by {n} bytes, but only {there} are there"
            )
        self.at = end
        return self.data[end - n : end]

    def line(self) -> str:
        """The text up to the next line break."""
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise ArchiveError(f"{self._opcode()} is followed by a name, but that has no end")
        start, self.at = self.at, end + 1
        return str(self.data[start:end], "utf-8")

    def above_mark(self) -> list[Any]:
        """Pops everything above the topmost mark, and the mark, whose memory is free again."""
        if not self.below:
            raise ArchiveError(f"{self._opcode()} without a MARK before it")
        items, self.stack = self.stack, self.below.pop()
        self.memory_left += CONTAINER
        return items

    def tuple_of(self, n: int) -> None:
        self.count()
        if len(self.stack) < n:
            raise IndexError
        self.stack[-n:] = [tuple(self.stack[-n:])]

    def top(self, *types: type) -> Any:
        """The top of the stack. Its type must be one of `types`, not a subclass: a method of a
        subclass would be called.
        """
        target = self.stack[-1]
        if type(target) not in types:
            found = type(target).__name__
            raise ArchiveError(
                f"{self._opcode()} puts items into a {types[0].__name__}, but found a {found}"
            )
        return target

    def enter(self, target: Any, key: int | str, value: object) -> None:
        """`target[key] = value`, if the key may be hashed."""
        self.check_key(key)
        target[key] = value

    def fetch(self, index: int) -> None:
        try:
            self.stack.append(self.memo[index])
        except KeyError:
            raise ArchiveError(
                f"{self._opcode()} fetches number {index} of the memo, which was never stored"
            ) from None

    def construct(self, cls: Any, args: Any, make: Callable[[], Any]) -> Any:
        """The result of `make`, which calls the constructor `cls`, after all checks."""
        if not isinstance(cls, Constructor):
            raise ArchiveError(
                f"{self._opcode()} calls a {type(cls).__name__}, which is no constructor"
            )
        if type(args) is not tuple:
            raise ArchiveError(
                f"{self._opcode()} with arguments that are no tuple but a {type(args).__name__}"
            )
        self.count(cls.nbytes)
        self.pay(*args)
        if cls.hashes:
            for arg in args:
                for key in arg:
                    self.check_key(key)
        result = make()
        if type(cls).set_state is not Constructor.set_state:
            self.makers[id(result)] = result, cls
        return result

    def count(self, nbytes: int = CONTAINER) -> None:
        """Counts one more object of `nbytes`. A malicious pickle needs one byte for an empty list,
        which takes 64 in memory; an honest one is longer.
        """
        self.memory_left -= nbytes
        if self.memory_left < 0:
            raise ArchiveError("more objects than a pickle of this length can be made of")

    def pay(self, *args: Any) -> None:
        """Limits the total length of arguments: a constructor may copy them, and a file may pass
        the same long one again and again.
        """
        for arg in args:
            if type(arg) in SIZED:
                self.arguments_left -= len(arg)
        if self.arguments_left < 0:
            raise ArchiveError(
                "the arguments of the constructors are longer than the pickle that they are in"
            )

    def _opcode(self) -> str:
        code = self.data[self.here] if self.here < len(self.data) else 0x2E
        return f"opcode {OPCODE_NAMES.get(code, f'0x{code:02x}')}"

    def _located(self, message: str) -> ArchiveError:
        return ArchiveError(
            f"at byte {self.here}: {message}", archive=self.archive, record=self.record
        )


DICTS = (dict, OrderedDict, Counter)
FAILURES = (
    TypeError,
    ValueError,
    KeyError,
    AttributeError,
    OverflowError,
    MemoryError,
    RuntimeError,
)
SIZED = frozenset((str, bytes, bytearray, tuple, list, dict, set, OrderedDict, Counter))

# Every instruction that is allowed: its name in Python's `pickle`, its byte, and what it does.
TABLE: dict[str, tuple[int, Callable[[Machine], None]]] = {
    "PROTO": (0x80, Machine.protocol),
    "NONE": (0x4E, lambda m: m.stack.append(None)),
    "NEWTRUE": (0x88, lambda m: m.stack.append(True)),
    "NEWFALSE": (0x89, lambda m: m.stack.append(False)),
    "BININT1": (0x4B, lambda m: m.stack.append(m.take(1)[0])),
    "BININT2": (0x4D, lambda m: m.stack.append(int.from_bytes(m.take(2), "little"))),
    "BININT": (0x4A, lambda m: m.stack.append(int.from_bytes(m.take(4), "little", signed=True))),
    "LONG1": (
        0x8A,
        lambda m: m.stack.append(int.from_bytes(m.take(m.take(1)[0]), "little", signed=True)),
    ),
    "BINFLOAT": (0x47, lambda m: m.stack.append(struct.unpack(">d", m.take(8))[0])),
    "BINUNICODE": (
        0x58,
        lambda m: m.stack.append(
            str(m.take(int.from_bytes(m.take(4), "little")), "utf-8", "surrogatepass")
        ),
    ),
    "SHORT_BINSTRING": (0x55, lambda m: m.stack.append(str(m.take(m.take(1)[0]), "utf-8"))),
    "MARK": (0x28, Machine.mark),
    "EMPTY_TUPLE": (0x29, lambda m: m.stack.append(())),
    "EMPTY_LIST": (0x5D, Machine.empty_list),
    "EMPTY_DICT": (0x7D, Machine.empty_dict),
    "EMPTY_SET": (0x8F, Machine.empty_set),
    "TUPLE": (0x74, Machine.tuple_of_marked),
    "TUPLE1": (0x85, lambda m: m.tuple_of(1)),
    "TUPLE2": (0x86, lambda m: m.tuple_of(2)),
    "TUPLE3": (0x87, lambda m: m.tuple_of(3)),
    "APPEND": (0x61, Machine.append),
    "APPENDS": (0x65, Machine.appends),
    "SETITEM": (0x73, Machine.set_item),
    "SETITEMS": (0x75, Machine.set_items),
    "BINGET": (0x68, lambda m: m.fetch(m.take(1)[0])),
    "LONG_BINGET": (0x6A, lambda m: m.fetch(int.from_bytes(m.take(4), "little"))),
    "BINPUT": (0x71, Machine.put),
    "LONG_BINPUT": (0x72, Machine.long_put),
    "GLOBAL": (0x63, Machine.global_),
    "REDUCE": (0x52, Machine.reduce),
    "NEWOBJ": (0x81, Machine.new_object),
    "BUILD": (0x62, Machine.build),
    "BINPERSID": (0x51, Machine.persistent_id),
}
OPCODE_NAMES = {code: name for name, (code, _) in TABLE.items()} | {0x2E: "STOP"}
# indexed by the byte, which is faster than a dict
OPERATIONS: list[Callable[[Machine], None]] = [Machine.unknown] * 256
for _code, _operation in TABLE.values():
    OPERATIONS[_code] = _operation
