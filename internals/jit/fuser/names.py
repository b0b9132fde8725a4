"""Names for the values of a group in the text of its kernel: the value `%4` becomes n4, `%x.1`
becomes x_1.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence

from internals.jit.ir import Value

RESERVED = {"begin", "end", "i", "j", "row", "first", "last", "cuda", "n"}


class Names:
    """Gives each value a unique name. `taken` are names that already mean something in the
    kernel, such as functions.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = RESERVED | set(taken) | set(dir(builtins)) | set(keyword.kwlist)
        self.of: dict[Value, str] = {}

    def value(self, v: Value) -> str:
        """The name of a value: the same each time."""
        found = self.of.get(v)
        if found is None:
            found = self.of[v] = self.fresh(_identifier(v.debugName()))
        return found

    def temporary(self) -> str:
        """A name for a value that the graph does not have: the result of a step inside an
        operator.
        """
        return self.fresh("t1")

    def fresh(self, wanted: str) -> str:
        """`wanted`, with another number at the end if it is taken."""
        name, number = wanted, 2  # x, x2, x3, ...
        while name in self.taken:
            name, number = f"{wanted.rstrip('0123456789')}{number}", number + 1
        self.taken.add(name)
        return name


def pointer_names(
    outside: Sequence[str], inside: Sequence[Value], prefix: str, names: Names
) -> list[str]:
    """Names for the arrays of a group's arguments or outputs: as the values are called outside the
    group. Where that is only a number, `prefix` and the value's number inside: a0, out3.
    """
    return [names.fresh(_pointer(name, v, prefix)) for name, v in zip(outside, inside)]


def _pointer(name: str, v: Value, prefix: str) -> str:
    """The name of one array, before it is made unique."""
    name = re.sub(r"\.\d+$", "", name.lstrip("%"))  # %x.1 is a later value of x
    return (
        _identifier(name) if not name.isdigit() else prefix + _identifier(v.debugName()).lstrip("n")
    )


def _identifier(name: str) -> str:
    """A value's name as a Python identifier: "%4" gives "n4", "%x.1" gives "x_1"."""
    name = name.lstrip("%")
    return f"n{name}" if name.isdigit() else re.sub(r"\W", "_", name)
