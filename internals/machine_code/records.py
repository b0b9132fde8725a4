"""The arguments of kernels: words for their types, and records. A record is a `NamedTuple`, in
which others may be nested; each of its numbers takes a slot, in the order of the fields.

    class Place(NamedTuple):                  class Move(NamedTuple):
        address: Pointer                          source: Place
        row: int                                  rows: int

    signature_of(Move)                        "*f4 i8 i8"
    flat(Move(Place(4096, 32), 7))            (4096, 32, 7), as `Entry.parallel` wants them
    filled(Move, (4096, 32, 7))               the record again, of numbers or of a writer's values

A kernel with annotated arguments, such as `def fill(begin: int, end: int, out: Values, move:
Move)`, has a signature by these: "*T *f4 i8 i8".

How the real one differs: a C++ lambda captures the variables of its loop by name, and the compiler
decides where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Annotated, Any, TypeAlias, get_type_hints

Pointer = Annotated[int, "*f4"]
"""The type of a field that is an address."""
Values = Annotated[Any, "*T"]
"""A pointer to elements of the dtype that T is bound to."""
Elements = Annotated[Any, "*"]
"""A pointer to elements of a dtype that the caller's signature says."""
Element: TypeAlias = Any
"""One of them: a number of a dtype that a template is bound to."""
Indices = Annotated[Any, "*i8"]
"""A pointer to numbers of int64."""
WORDS = {
    Pointer: "*f4", Values: "*T", Elements: "*", Indices: "*i8", int: "i8", float: "f8",
}  # fmt: skip


def signature_of(record: type | Callable[..., Any]) -> str:
    """The words of all slots, as `Entry` wants them: of a record, or of a kernel's arguments after
    `begin` and `end`; "" if these are not annotated.
    """
    return " ".join(WORDS.get(kind) or signature_of(kind) for kind in kinds(record).values())


def flat(record: Iterable[Any]) -> Iterator[Any]:
    """The numbers of a record, or of arguments, with those of nested records in their places."""
    for value in record:
        if isinstance(value, tuple):
            yield from flat(value)
        else:
            yield value


def filled(record: type, values: Iterable[Any]) -> Any:
    """The record whose slots have these values, the inverse of `flat`."""
    rest = iter(values)
    values = (next(rest) if k in WORDS else filled(k, rest) for k in kinds(record).values())
    return record(*values)


@cache
def kinds(record: type | Callable[..., Any]) -> dict[str, Any]:
    """The type of each field of a record, or of each argument of a kernel after the first two; {}
    for a kernel with an argument that is not annotated."""
    hints = get_type_hints(record, include_extras=True)
    fields = getattr(record, "_fields", None)
    if fields is None:
        code = record.__code__  # type: ignore[union-attr]
        fields = code.co_varnames[2 : code.co_argcount]
        if not all(name in hints for name in fields):
            return {}
    return {name: hints[name] for name in fields}
