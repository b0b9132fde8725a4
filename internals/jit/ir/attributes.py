"""The attributes of a node: what it is told when the graph is made, not when it runs (`torch/csrc/jit/ir/attributes.h`).

Each has a name and a kind, which decides how it is printed: `f` float, `i` int, `s` string, `t` tensor, `g` graph, `ty` type,
`c` complex; the plurals `fs is ss ts gs tys cs` are lists of those; `ival` is any other value.

How the real one differs: every kind is a class of its own, and a getter with a wrong kind is an error there as here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

KINDS = ("f", "fs", "i", "is", "s", "ss", "t", "ts", "g", "gs", "ty", "tys", "c", "cs", "ival")


class Attribute(NamedTuple):
    kind: str
    value: Any


class HasAttributes:
    """The getters and setters of a node's attributes. A setter, `s_("name", "fc")`, returns the node.

    Getters raise RuntimeError when there is no such attribute, or one of another kind.
    """

    __slots__ = ()
    _attributes: dict[str, Attribute]

    def attributeNames(self) -> list[str]:
        return list(self._attributes)

    def hasAttribute(self, name: str) -> bool:
        return name in self._attributes

    def hasAttributes(self) -> bool:
        return bool(self._attributes)

    def kindOf(self, name: str) -> str:
        return self._find(name).kind

    def removeAttribute(self, name: str) -> Any:
        del self._attributes[name]
        return self

    def copyAttributes(self, other: HasAttributes) -> Any:
        """Take all attributes of `other`; graphs are copied."""
        self._attributes = {  # type: ignore[misc]
            name: Attribute(a.kind, _copied(a.kind, a.value)) for name, a in other._attributes.items()
        }
        return self

    def attribute(self, name: str) -> Any:
        """The value, whatever its kind."""
        return self._find(name).value

    def setAttribute(self, name: str, kind: str, value: Any) -> Any:
        """Set an attribute of any kind; the place of one that exists is kept."""
        if kind not in KINDS:
            raise ValueError(f"an attribute is one of {', '.join(KINDS)}, not {kind!r}")
        self._attributes[name] = Attribute(kind, value)
        return self

    def _find(self, name: str) -> Attribute:
        found = self._attributes.get(name)
        if found is None:
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return found

    def _get(self, name: str, kind: str) -> Any:
        found = self._find(name)
        if found.kind != kind:
            raise RuntimeError(
                f"required keyword attribute '{name}' has the wrong type: it is of kind {found.kind}, not {kind}"
            )
        return found.value

    def f(self, name: str) -> float:
        return self._get(name, "f")

    def f_(self, name: str, value: float) -> Any:
        return self.setAttribute(name, "f", float(value))

    def fs(self, name: str) -> list[float]:
        return self._get(name, "fs")

    def fs_(self, name: str, value: list[float]) -> Any:
        return self.setAttribute(name, "fs", [float(v) for v in value])

    def i(self, name: str) -> int:
        return self._get(name, "i")

    def i_(self, name: str, value: int) -> Any:
        return self.setAttribute(name, "i", int(value))

    def ints(self, name: str) -> list[int]:
        """Kind `is`, which Python cannot spell."""
        return self._get(name, "is")

    def is_(self, name: str, value: list[int]) -> Any:
        return self.setAttribute(name, "is", [int(v) for v in value])

    ints_ = is_

    def s(self, name: str) -> str:
        return self._get(name, "s")

    def s_(self, name: str, value: str) -> Any:
        return self.setAttribute(name, "s", value)

    def ss(self, name: str) -> list[str]:
        return self._get(name, "ss")

    def ss_(self, name: str, value: list[str]) -> Any:
        return self.setAttribute(name, "ss", list(value))

    def t(self, name: str) -> Any:
        return self._get(name, "t")

    def t_(self, name: str, value: Any) -> Any:
        return self.setAttribute(name, "t", value)

    def ts(self, name: str) -> list[Any]:
        return self._get(name, "ts")

    def ts_(self, name: str, value: list[Any]) -> Any:
        return self.setAttribute(name, "ts", list(value))

    def g(self, name: str) -> Any:
        return self._get(name, "g")

    def g_(self, name: str, value: Any) -> Any:
        return self.setAttribute(name, "g", value)

    def gs(self, name: str) -> list[Any]:
        return self._get(name, "gs")

    def gs_(self, name: str, value: list[Any]) -> Any:
        return self.setAttribute(name, "gs", list(value))

    def ty(self, name: str) -> Any:
        return self._get(name, "ty")

    def ty_(self, name: str, value: Any) -> Any:
        return self.setAttribute(name, "ty", value)

    def tys(self, name: str) -> list[Any]:
        return self._get(name, "tys")

    def tys_(self, name: str, value: list[Any]) -> Any:
        return self.setAttribute(name, "tys", list(value))

    def c(self, name: str) -> complex:
        return self._get(name, "c")

    def c_(self, name: str, value: complex) -> Any:
        return self.setAttribute(name, "c", complex(value))

    def ival(self, name: str) -> Any:
        return self._get(name, "ival")

    def ival_(self, name: str, value: Any) -> Any:
        return self.setAttribute(name, "ival", value)


def _copied(kind: str, value: Any) -> Any:
    if kind == "g":
        return value.copy()
    if kind == "gs":
        return [g.copy() for g in value]
    return list(value) if isinstance(value, list) else value
