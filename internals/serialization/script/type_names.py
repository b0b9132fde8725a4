"""Gives each type in an archive a unique name
(`torch/csrc/jit/serialization/type_name_uniquer.cpp`).

In a program, `names.take_name` ensures that names are unique. But an archive may contain types from
several sources: two loaded files can each have a `__torch__.Net`. The second one gets a mangled
name, `__torch__.___torch_mangle_0.Net`, in this archive.

How the real one differs: interfaces and enums have names, too.
"""

from __future__ import annotations

from internals.jit.ir import (
    ClassType,
    DictType,
    FunctionType,
    FutureType,
    ListType,
    OptionalType,
    TupleType,
    Type,
)

MANGLE = "___torch_mangle_"


def qualified_name_of(type: Type) -> str | None:
    """The name of a class, a named tuple or a function; other types have none."""
    if isinstance(type, ClassType):
        return type.qualified_name
    if isinstance(type, TupleType):
        return type.qualified_name
    return str(type.function.qualified_name) if isinstance(type, FunctionType) else None


class TypeNames:
    """The names of the types in one archive."""

    def __init__(self) -> None:
        self.names: dict[Type, str] = {}
        self.used: set[str] = set()
        self.next_number = 0

    def of(self, type: Type) -> str:
        """The name of a class, named tuple or function: its own if that is free, else a mangled
        one.
        """
        name = self.names.get(type)
        if name is None:
            name = qualified_name_of(type)
            assert name is not None
            while name in self.used:
                name = self.mangle(name)
            self.names[type] = name
            self.used.add(name)
        return name

    def mangle(self, name: str) -> str:
        """The name with the next number before its last part: `__torch__.___torch_mangle_0.Net`."""
        *atoms, last = name.split(".")
        atoms = [atom for atom in atoms if not atom.startswith(MANGLE)]
        self.next_number += 1
        return ".".join((*atoms, f"{MANGLE}{self.next_number - 1}", last))

    def spell(self, type: Type) -> str:
        """A type as an annotation, with the names of this archive."""
        if qualified_name_of(type) is not None:
            return self.of(type)
        if isinstance(type, DictType):
            return f"Dict[{self.spell(type.key)}, {self.spell(type.value)}]"
        if isinstance(type, TupleType) and type.elements:
            return f"Tuple[{', '.join(map(self.spell, type.elements))}]"
        if isinstance(type, (OptionalType, ListType, FutureType)):
            return f"{type.kind().removesuffix('Type')}[{self.spell(type.element)}]"
        return type.annotation_str
