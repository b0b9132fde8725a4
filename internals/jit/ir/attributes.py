"""The attributes of a node: values that are fixed when the graph is made, where its inputs are
computed when it runs (`torch/csrc/jit/ir/attributes.h`).

Each has a name and a kind, which decides how it is printed: `f` float, `i` int, `s` string, `t`
tensor, `g` graph, `ty` type, `c` complex; the plurals `fs is ss ts gs tys cs` are lists of those;
`ival` is any other value.

How the real one differs: every kind is a class of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

KINDS = ("f", "fs", "i", "is", "s", "ss", "t", "ts", "g", "gs", "ty", "tys", "c", "cs", "ival")

T = TypeVar("T")
Getter = Callable[[Any, str], T]
Setter = Callable[[Any, str, Any], Any]


class Attribute(NamedTuple):
    kind: str
    value: Any


def _unchanged(value: object) -> Any:
    return value


def _accessors(kind: str, convert: Callable[[Any], T]) -> tuple[Getter[T], Setter]:
    """The getter of attributes of this kind, and the setter, which converts (`CREATE_ACCESSOR`)."""

    def get(self: HasAttributes, name: str) -> T:
        return self._get(name, kind)

    def set_(self: HasAttributes, name: str, value: object) -> Any:
        return self.setAttribute(name, kind, convert(value))

    return get, set_


class HasAttributes:
    """The getters and setters of a node's attributes. A setter, `s_("name", "fc")`, returns the
    node.

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
            name: Attribute(a.kind, _copied(a.kind, a.value))
            for name, a in other._attributes.items()
        }
        return self

    def attribute(self, name: str) -> Any:
        """The value, whatever its kind."""
        return self._find(name).value

    def setAttribute(self, name: str, kind: str, value: object) -> Any:
        """Set an attribute of any kind; one that exists keeps its position in the printed list."""
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
        """The value of an attribute that must be of this kind."""
        found = self._find(name)
        if found.kind != kind:
            raise RuntimeError(
                f"required keyword attribute '{name}' has the wrong type: it is of kind "
                f"{found.kind}, not {kind}"
            )
        return found.value

    f, f_ = _accessors("f", float)
    fs, fs_ = _accessors("fs", lambda values: [float(v) for v in values])
    i, i_ = _accessors("i", int)
    # `is` is a keyword of Python, so the getter has another name
    ints, is_ = _accessors("is", lambda values: [int(v) for v in values])
    ints_ = is_
    s, s_ = _accessors("s", _unchanged)
    ss, ss_ = _accessors("ss", list)
    t, t_ = _accessors("t", _unchanged)
    ts, ts_ = _accessors("ts", list)
    g, g_ = _accessors("g", _unchanged)
    gs, gs_ = _accessors("gs", list)
    ty, ty_ = _accessors("ty", _unchanged)
    tys, tys_ = _accessors("tys", list)
    c, c_ = _accessors("c", complex)
    ival, ival_ = _accessors("ival", _unchanged)


def _copied(kind: str, value: Any) -> Any:
    if kind == "g":
        return value.copy()
    if kind == "gs":
        return [g.copy() for g in value]
    return list(value) if isinstance(value, list) else value
