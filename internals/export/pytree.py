"""Nested arguments and results, and the flat lists that a graph takes (`torch/utils/_pytree.py`).

    {"a": x, "b": [y, z]}  ◄──►  [x, y, z]  and
                                 TreeSpec(dict, ["a", "b"], [leaf, TreeSpec(list, [leaf, leaf])])

A file gives the type of each node. Tuples, lists and dicts are known; a named tuple becomes a plain
one.

How the real one differs: classes can be registered as nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from internals.serialization.json_node import JsonNode

LEAF = "leaf"
KINDS = {
    "builtins.tuple": "tuple",
    "builtins.list": "list",
    "builtins.dict": "dict",
    "collections.OrderedDict": "dict",
    "collections.namedtuple": "tuple",
    "torch.Size": "tuple",
    "builtins.NoneType": "none",
}
DEEPEST = 100


@dataclass(frozen=True)
class TreeSpec:
    """The nesting of a value. `kind` is "leaf", "tuple", "list", "dict" or "none"; `keys` are those
    of a dict, in the order of `children`.
    """

    kind: str = LEAF
    children: tuple[TreeSpec, ...] = ()
    keys: tuple[str, ...] = ()

    @classmethod
    def parse(cls, node: JsonNode) -> TreeSpec:
        """From the text of `treespec_dumps`, which is JSON inside JSON. Raises ArchiveError."""
        inside = JsonNode.parse(node.text(), node.archive, node.record)
        inside.path = node.path
        return cls._of(inside[1], 0)  # [version of the protocol, the root]

    @classmethod
    def _of(cls, node: JsonNode, depth: int) -> TreeSpec:
        """The spec of a node and all below it; at most DEEPEST levels, as a file may be hostile."""
        if depth > DEEPEST:
            raise node.error("is nested too deep")
        kind = node.get("type")
        if kind is None:  # a leaf has the type null
            return cls()
        if kind.text() not in KINDS:
            raise kind.error(
                f"is {kind.text()}, which is not known here: tuples, lists and dicts are"
            )
        children = tuple(cls._of(each, depth + 1) for each in node["children_spec"])
        keys: tuple[str, ...] = ()
        if KINDS[kind.text()] == "dict":  # "context" is a JSON list of the keys, again as text
            context = JsonNode.parse(node["context"].text(), node.archive, node.record)
            keys = tuple(key.value for key in context)
            if len(keys) != len(children) or not all(isinstance(k, (str, int)) for k in keys):
                raise node.error("is a dict whose keys do not match its values")
        return cls(KINDS[kind.text()], children, keys)

    def leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.kind == LEAF else sum(child.leaves() for child in self.children)

    @classmethod
    def of(cls, value: Any) -> TreeSpec:
        """The nesting of a value; whatever is not a dict, tuple or list is a leaf."""
        if isinstance(value, dict):
            return cls("dict", tuple(map(cls.of, value.values())), tuple(value))
        if isinstance(value, (tuple, list)):
            return cls("list" if isinstance(value, list) else "tuple", tuple(map(cls.of, value)))
        return cls()

    def flatten_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of a call's arguments; keywords may come in any order. Raises ValueError for
        another nesting.
        """
        # the spec of a call is always a tuple of two: the positional arguments and the keywords
        names = self.children[1].keys if self.kind == "tuple" and len(self.children) == 2 else ()
        if set(names) != set(kwargs) and len(args) == len(self.children[0].children):
            raise ValueError(
                f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but "
                f"expected {list(names)}"
            )
        try:
            return list(self.flatten((args, kwargs)))
        except ValueError:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{self}\nbut "
                f"actually got inputs with tree spec of: \n{TreeSpec.of((args, kwargs))}.\nPlease "
                "check that the inputs have the same number and type of args and kwargs as the "
                "ones you used when tracing."
            ) from None

    def flatten(self, value: Any) -> Iterator[Any]:
        """The leaves of a value, in order. Raises ValueError if it is nested otherwise."""
        if self.kind == LEAF:
            yield value
        elif self.kind == "none":
            if value is not None:
                raise ValueError("should be None")
        elif self.kind == "dict":
            if not isinstance(value, dict) or set(value) != set(self.keys):
                raise ValueError(f"should be a dict with the keys {list(self.keys)}")
            for key, child in zip(self.keys, self.children):
                yield from child.flatten(value[key])
        else:
            if not isinstance(value, list if self.kind == "list" else tuple) or len(value) != len(
                self.children
            ):
                raise ValueError(f"should be a {self.kind} of {len(self.children)}")
            for child, part in zip(self.children, value):
                yield from child.flatten(part)

    def unflatten(self, leaves: Iterator[Any]) -> Any:
        """A value nested as this spec says, made of the next leaves."""
        if self.kind == LEAF:
            return next(leaves)
        if self.kind == "none":
            return None
        parts = [child.unflatten(leaves) for child in self.children]
        if self.kind == "dict":
            return dict(zip(self.keys, parts))
        return tuple(parts) if self.kind == "tuple" else parts

    def __str__(self) -> str:
        return self._shown(2)

    def _shown(self, indent: int) -> str:
        """As PyTorch prints it."""
        if self.kind == LEAF:
            return "*"
        children = f",\n{' ' * indent}".join(child._shown(indent + 2) for child in self.children)
        return (
            f"TreeSpec({self.kind}, {list(self.keys) if self.kind == 'dict' else None}, "
            f"[{children}])"
        )
