"""The table of operators, by name (`Dispatcher.h`: `operatorLookupTable_`).

Most operators are only declared at first, by a line of text each; the lines are read when the first
operator is looked up. A handle is made when its operator is looked up; a loop over the table makes
those of all.

How the real one differs: every operator is registered when the library is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dispatcher import OperatorHandle


class Operators(Mapping[str, "OperatorHandle"]):
    """Handles by full name, "aten::add.Tensor". `version` changes when one is added or removed."""

    def __init__(self) -> None:
        self.version = 0
        self._handles: dict[str, OperatorHandle] = {}
        # "aten::add" → the names of its overloads in order (a dict as an ordered set)
        self._names: dict[str, dict[str, None]] = {}
        self._lines: dict[str, str] = {}
        self._read: Callable[[], dict[str, str]] | None = None

    def declare(
        self, read: Callable[[], dict[str, str]], make: Callable[[str], OperatorHandle]
    ) -> None:
        """Sets how operators are found: `read` returns the lines by name, when they are first
        needed; `make` makes a handle from a line.
        """
        self._read, self._make = read, make

    @property
    def lines(self) -> dict[str, str]:
        """The declarations by name."""
        self._read_declarations()
        return self._lines

    def _read_declarations(self) -> None:
        """Reads them once, when an operator is looked up for the first time."""
        if self._read is not None:
            self._lines, self._read = self._read(), None
            for name in self._lines:
                self._names.setdefault(name.partition(".")[0], {})[name] = None

    @property
    def made(self) -> list[str]:
        """The names of the operators that have a handle by now."""
        return list(self._handles)

    def overloads(self, base: str) -> list[OperatorHandle]:
        """The operators of a common name such as "aten::add"."""
        return [self[name] for name in self.names(base)]

    def names(self, base: str) -> list[str]:
        """The full names of the operators of a common name, such as "aten::add.Tensor"."""
        self._read_declarations()
        return list(self._names.get(base, ()))

    def add(self, handle: OperatorHandle) -> None:
        """Adds an operator whose handle is already made."""
        self._handles[handle.name] = handle
        self._names.setdefault(handle.name.partition(".")[0], {})[handle.name] = None
        self.version += 1

    def remove(self, name: str) -> None:
        """Removes an operator that was added; does nothing if there is none."""
        if self._handles.pop(name, None) is not None:
            del self._names[name.partition(".")[0]][name]
            self.version += 1

    def __getitem__(self, name: str) -> OperatorHandle:
        handle = self._handles.get(name)
        if handle is None:  # two threads may make one: the first stays
            handle = self._handles.setdefault(name, self._make(self.lines[name]))
        return handle

    def __contains__(self, name: object) -> bool:
        return name in self._handles or name in self.lines

    def __iter__(self) -> Iterator[str]:
        yield from self.lines
        yield from [name for name in self._handles if name not in self._lines]

    def __len__(self) -> int:
        return len(self.lines.keys() | self._handles.keys())
