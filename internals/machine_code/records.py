"""Arguments of kernels as records: a `NamedTuple`, in which others may be nested, is so many slots,
in the order of its fields.

    class Place(NamedTuple):                  class Move(NamedTuple):
        address: Pointer                          source: Place
        row: int                                  rows: int

    signature_of(Move)                        "*f4 i8 i8"
    flat(Move(Place(4096, 32), 7))            (4096, 32, 7), as `Entry.parallel` wants them
    filled(Move, (4096, 32, 7))               the record again, of numbers or of a writer's values

How the real one differs: a lambda of C++ captures what its loop needs by name, and the compiler
lays it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Annotated, Any, get_type_hints

Pointer = Annotated[int, "an address"]
"""The type of a field that is an address."""
WORDS = {Pointer: "*f4", int: "i8", float: "f8"}


@cache
def signature_of(record: type) -> str:
    """A word for each slot, as `Entry` wants them."""
    return " ".join(WORDS.get(kind) or signature_of(kind) for kind in _kinds(record))


def flat(record: tuple[Any, ...]) -> Iterator[Any]:
    """The values of a record and of those in it, one after the other."""
    for value in record:
        if isinstance(value, tuple):
            yield from flat(value)
        else:
            yield value


def filled(record: type, values: Iterable[Any]) -> Any:
    """A record of the values in its slots."""
    rest = iter(values)
    return record(*(next(rest) if kind in WORDS else filled(kind, rest) for kind in _kinds(record)))


@cache
def _kinds(record: type) -> tuple[Any, ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple(hints[name] for name in record._fields)  # type: ignore[attr-defined]
