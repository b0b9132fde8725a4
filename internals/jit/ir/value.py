"""A value of a graph, and the places that use it (`torch/csrc/jit/ir/ir.h`, `struct Value` and
`struct Use`).

A value is defined once, by an output of a node (the inputs of a graph or block are outputs of its
`prim::Param` node), and used any number of times. Both directions are stored: `value.node()` is the
node that makes it, `value.uses()` are the inputs that read it. So a pass rewrites a graph without
searching it: `a.replaceAllUsesWith(b)`.

Each value has a number, its `unique`. For the reader it may have a name as well, which is unique in
the graph: the latest value to be given a name gets it, and an older owner becomes `name.1`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from .constants import constant_of
from .tensor_type import TensorType
from .types import Type

if TYPE_CHECKING:
    from .node import Node


class Use(NamedTuple):
    """One place where a value is used: input number `offset` of `user`."""

    user: Node
    offset: int


class Value:
    """A value of a graph, made by `Node.addOutput`, `Graph.addInput` and `Block.addInput`, never
    directly.
    """

    __slots__ = ("_node", "_offset", "_unique", "_name", "_type", "_uses", "__weakref__")

    def __init__(self, node: Node, offset: int) -> None:
        self._node, self._offset = node, offset
        self._unique = node.graph._next_unique()
        self._name: str | None = None
        self._type: Type = TensorType.get()
        self._uses: list[Use] = []

    def node(self) -> Node:
        return self._node

    def offset(self) -> int:
        return self._offset

    def unique(self) -> int:
        return self._unique

    def uses(self) -> list[Use]:
        return list(self._uses)

    def hasUses(self) -> bool:
        return bool(self._uses)

    def type(self) -> Type:
        return self._type

    def setType(self, type: Type) -> Value:
        """Change the type; returns the value. Its node and its users will look up their overloads
        again, as these depend on the types.
        """
        self._type = type
        self._node._forget_operator()
        for use in self._uses:
            use.user._forget_operator()
        return self

    def inferTypeFrom(self, tensor: Any) -> None:
        self.setType(TensorType.create_from_tensor(tensor))

    def requires_grad(self) -> bool:
        return isinstance(self._type, TensorType) and bool(self._type.requires_grad())

    def debugName(self) -> str:
        """The text that the graph prints after the `%`: the name, or else the number."""
        return self._name if self._name is not None else str(self._unique)

    def hasDebugName(self) -> bool:
        return self._name is not None

    def setDebugName(self, name: str) -> Value:
        """Give the value a name; "" takes it away. Another value of that name is renamed, `x` to
        `x.1`, the next to `x.3`.

        Raises RuntimeError for a name that is not usable: numbers are for values without names.
        """
        if name and not is_valid_name(name):
            raise RuntimeError(f"Invalid name: '{name}'")
        names = self._node.graph._names
        if self._name is not None:
            del names[self._name]
            self._name = None
        if not name:
            return self
        older = names.get(name)
        if older is not None:  # it moves to a name with a suffix, which frees this one
            older.setDebugName(_next_free(name, names, self._node.graph._suffixes))
        names[name] = self
        self._name = name
        return self

    def copyMetadata(self, other: Value) -> Value:
        """Take type and name of `other`."""
        self.setType(other._type)
        if other._name is not None:
            self.setDebugName(other._name)
        return self

    def replaceAllUsesWith(self, other: Value) -> None:
        """Replace this value by `other` in every node and block output that uses it."""
        if other is self:
            return
        for use in self._uses:
            use.user._inputs[use.offset] = other
            use.user._forget_operator()
        other._uses.extend(self._uses)
        self._uses = []

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Replace only the uses that come after `node`, in its block or in blocks of later
        nodes.
        """
        for user, offset in self.uses():
            if user.isAfter(node):
                user.replaceInput(offset, other)

    def isConstant(self) -> bool:
        return self._node.kind() == "prim::Constant"

    def toIValue(self) -> Any:
        """The Python value, if this is a constant; None otherwise (and for the constant None)."""
        return constant_of(self) if self.isConstant() else None

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({str(self._node).strip()})"


def is_valid_name(name: str) -> bool:
    """Whether a value may have this name: not a number, and without the characters that separate
    names in the text of a graph.
    """
    return bool(name) and not name.isdigit() and not re.search(r"[\s%(){}:,=]", name)


def base_name(name: str) -> str:
    """The name without a numeric suffix: `x` for `x.12`."""
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and suffix.isdigit() else name


def _next_free(name: str, names: dict[str, Value], used: dict[str, int]) -> str:
    """The new name of the older owner of `name`; `used` keeps the last suffix given for each stem.

    Every second number is skipped, as in PyTorch: `x`, `x.1`, `x.3`.
    """
    stem, dot, suffix = name.rpartition(".")
    stem, n = (stem, int(suffix)) if dot and suffix.isdigit() else (name, 1)
    if stem in used:
        n = max(n, used[stem] + 2)
    while f"{stem}.{n}" in names:
        n += 1
    used[stem] = n
    return f"{stem}.{n}"
