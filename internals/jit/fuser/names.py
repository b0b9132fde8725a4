"""Names for the values of a group in the text of its kernel: `%4` is n4, `%x.1` is x_1 and its
memory `x_1_data`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence

from internals.jit.ir import Value

RESERVED = {"begin", "end", "i", "j", "row", "first", "last", "cuda", "n"}


class Names:
    """Gives each value a name that nothing else has. `taken` are names with a meaning in
    kernels.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = RESERVED | set(taken) | set(dir(builtins)) | set(keyword.kwlist)
        self.of: dict[Value, str] = {}

    def value(self, v: Value) -> str:
        found = self.of.get(v)
        if found is None:
            found = self.of[v] = self.fresh(_identifier(v.debugName()))
        return found

    def temporary(self) -> str:
        """A value that the graph has no name for: a step inside an operator."""
        return self.fresh("t1")

    def fresh(self, wanted: str) -> str:
        """`wanted`, with another number at the end if it is taken."""
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted.rstrip('0123456789')}{number}", number + 1
        self.taken.add(name)
        return name


def pointer_names(
    outside: Sequence[str], inside: Sequence[Value], prefix: str, names: Names
) -> list[str]:
    """What arrays are called: as outside the group; where that is a number only, by the value's
    number inside.
    """
    return [names.fresh(_pointer(name, v, prefix)) for name, v in zip(outside, inside)]


def _pointer(name: str, v: Value, prefix: str) -> str:
    name = re.sub(r"\.\d+$", "", name.lstrip("%"))
    return (
        _identifier(name) if not name.isdigit() else prefix + _identifier(v.debugName()).lstrip("n")
    )


def _identifier(name: str) -> str:
    name = name.lstrip("%")
    return f"n{name}" if name.isdigit() else re.sub(r"\W", "_", name)
