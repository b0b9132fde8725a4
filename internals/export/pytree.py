"""Nested arguments and results, and the flat lists that a graph has (`torch/utils/_pytree.py`).

    {"a": x, "b": [y, z]}     ◄──►   [x, y, z]  and  TreeSpec(dict, ["a", "b"], [leaf, TreeSpec(list, [leaf, leaf])])

A file names the kind of each node; tuples, lists, dicts and named tuples (as plain tuples) are known.

How the real one differs: classes can be registered as nodes.
"""

from __future__ import annotations

from collections import OrderedDict
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
    """`kind` is "leaf", "tuple", "list", "dict" or "none"; `keys` those of a dict."""

    kind: str = LEAF
    children: tuple[TreeSpec, ...] = ()
    keys: tuple[str, ...] = ()

    @classmethod
    def parse(cls, node: JsonNode) -> TreeSpec:
        """From the text of `treespec_dumps`, which is JSON inside JSON. Raises ArchiveError."""
        inside = JsonNode.parse(node.text(), node.archive, node.record)
        inside.path = node.path
        return cls._of(inside[1], 0)

    @classmethod
    def _of(cls, node: JsonNode, depth: int) -> TreeSpec:
        if depth > DEEPEST:
            raise node.error("is nested too deep")
        kind = node.get("type")
        if kind is None:
            return cls()
        if kind.text() not in KINDS:
            raise kind.error(f"is {kind.text()}, which is not known here: tuples, lists and dicts are")
        children = tuple(cls._of(each, depth + 1) for each in node["children_spec"])
        keys: tuple[str, ...] = ()
        if KINDS[kind.text()] == "dict":
            context = JsonNode.parse(node["context"].text(), node.archive, node.record)
            keys = tuple(key.value for key in context)
            if len(keys) != len(children) or not all(isinstance(k, (str, int)) for k in keys):
                raise node.error("is a dict whose keys do not match its values")
        return cls(KINDS[kind.text()], children, keys)

    def leaves(self) -> int:
        return 1 if self.kind == LEAF else sum(child.leaves() for child in self.children)

    def flatten(self, value: Any, where: str) -> Iterator[Any]:
        """The leaves of a value of this form. Raises ValueError, naming the place, for one of another form."""
        if self.kind == LEAF:
            yield value
        elif self.kind == "none":
            if value is not None:
                raise ValueError(f"{where} should be None, as when the program was exported")
        elif self.kind == "dict":
            if not isinstance(value, (dict, OrderedDict)) or set(value) != set(self.keys):
                raise ValueError(f"{where} should be a dict with the keys {list(self.keys)}")
            for key, child in zip(self.keys, self.children):
                yield from child.flatten(value[key], f"{where}[{key!r}]")
        else:
            if not isinstance(value, (tuple, list)) or len(value) != len(self.children):
                raise ValueError(f"{where} should be a {self.kind} of {len(self.children)}")
            for i, child in enumerate(self.children):
                yield from child.flatten(value[i], f"{where}[{i}]")

    def unflatten(self, leaves: Iterator[Any]) -> Any:
        """A value of this form made of the next leaves."""
        if self.kind == LEAF:
            return next(leaves)
        if self.kind == "none":
            return None
        parts = [child.unflatten(leaves) for child in self.children]
        if self.kind == "dict":
            return dict(zip(self.keys, parts))
        return tuple(parts) if self.kind == "tuple" else parts
