"""The points-to graph behind alias analysis: which values may be at which memory locations
(`torch/csrc/jit/passes/utils/memory_dag.h`).

Every value that has memory (a tensor, a list, a module; not a number) has an `Element`. The element
of a fresh value is a memory location itself. That of a view, or of an If's output, *points to*
other elements, one or several; the arrows lead to elements that point nowhere, and these are the
locations that the value may be at. Two values may alias if they have a location in common. A
container has a location of its own and *contains* elements.

Some memory cannot be followed, because the caller has it or it was taken out of a list. For it
there is one wildcard for each type: a tensor in the wildcard may be any other tensor there, but not
a list.

How the real one differs: sets of locations are bit sets, and values with the same locations share
an element that no arrow leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from internals.jit.ir import AnyType, ClassType, ListType, OptionalType, TupleType, Type, Value
from internals.jit.ir.tensor_type import TensorType


class Element:
    """A node of the points-to graph, which stands for `values`. A wildcard stands for none, and has
    their type in `wildcard`.
    """

    __slots__ = ("values", "points_to", "contains", "wildcard")

    def __init__(self, value: Value | None = None, wildcard: Type | None = None) -> None:
        self.values = [] if value is None else [value]
        self.points_to: dict[Element, None] = {}  # a dict as an ordered set
        self.contains: dict[Element, None] = {}
        self.wildcard = wildcard

    def __repr__(self) -> str:
        if self.wildcard is not None:
            return f"WILDCARD for type {self.wildcard}"
        return ", ".join(f"%{v.debugName()}" for v in self.values)


Locations = frozenset[Element]
NOWHERE: Locations = frozenset()


class MemoryDag:
    """The points-to graph: its elements by value, and its wildcards by type."""

    def __init__(self) -> None:
        self.elements: dict[Value, Element] = {}
        self.wildcards: dict[Type, Element] = {}
        # results of `locations` and `contained_locations`
        self._locations: dict[Element, Locations] = {}
        self._reachable: dict[Element, Locations] = {}

    def element(self, value: Value) -> Element:
        """The element of a value; a fresh one is made if it has none yet."""
        if value not in self.elements:
            self.elements[value] = Element(value)
        return self.elements[value]

    def point(self, value: Value, to: Element) -> None:
        """Draw an arrow: `value` may be at the locations of `to`."""
        mine = self.element(value)
        if mine is not to:
            mine.points_to[to] = None

    def redirect(self, location: Element, to: Element) -> None:
        """Replace a location: the values that were at it are at those of `to` from now on."""
        location.points_to[to] = None
        self._locations.clear()
        self._reachable.clear()

    def wildcard(self, type: Type) -> Element:
        """The wildcard for values of a type; it contains the wildcards of their elements' types.

        A value of type Any may be in any wildcard, so that of Any points to all others.
        """
        key = memory_type(type)
        found = self.wildcards.get(key)
        if found is None:
            found = self.wildcards[key] = Element(wildcard=key)
            self._connect_to_any(found, key)
            self.add_unknown_contents(found, key)
        return found

    def _connect_to_any(self, wildcard: Element, key: Type) -> None:
        if key is _ANY:
            others = (w for w in self.wildcards.values() if w is not wildcard)
            wildcard.points_to = dict.fromkeys(others)
        elif _ANY in self.wildcards:
            self.wildcards[_ANY].points_to[wildcard] = None

    def add_unknown_contents(self, element: Element, type: Type) -> None:
        """Let a container contain the wildcards of its elements' types; a module has attributes of
        any type.
        """
        key = memory_type(type)
        for inner in [_ANY] if key is _ANY_MODULE else key.containedTypes():
            if is_mutable_type(inner):
                element.contains[self.wildcard(inner)] = None

    def make_wildcards(self, values: Iterable[Value]) -> None:
        """Add the locations of these values, and of all that they contain, to the wildcards: each
        location gets an arrow to the wildcard of its type, and is a location no more.
        """
        for value in values:
            wildcard = self.wildcard(value.type())
            for location in self._follow([self.element(value)], _all_arrows):
                if location.points_to or location is wildcard or location.wildcard is not None:
                    continue  # not a location, or a wildcard already
                kind = location.values[0].type() if location.values else value.type()
                location.points_to[self.wildcard(kind)] = None

    def locations(self, element: Element) -> Locations:
        """The locations an element may be at."""
        return self._ends(element, lambda e: e.points_to, self._locations)

    def contained_locations(self, element: Element) -> Locations:
        """The locations of an element and of everything inside, at any depth."""
        return self._ends(element, _all_arrows, self._reachable)

    def _ends(
        self,
        start: Element,
        arrows: Callable[[Element], Iterable[Element]],
        known: dict[Element, Locations],
    ) -> Locations:
        """The locations that the arrows lead to, from `start`; they are stored in `known` for every
        element on the way.

        A loop may make a ring of arrows, whose elements all have the same locations. The rings are
        found by Tarjan's algorithm for strongly connected components, with a stack of its own
        (`path`) in place of recursion. `number` counts the elements as they are met; `low` is the
        smallest number known to be in the same ring.
        """
        if start in known:
            return known[start]
        number, low, unfinished = {start: 0}, {start: 0}, [start]
        path = [(start, iter(arrows(start)))]
        while path:
            e, ahead = path[-1]
            to = next(ahead, None)
            if to is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[e])
                if low[e] == number[e]:  # the first of its ring: the others are behind it
                    ring = [unfinished.pop()]
                    while ring[-1] is not e:
                        ring.append(unfinished.pop())
                    ends = {each for each in ring if not each.points_to}
                    found = frozenset(
                        ends.union(
                            *(known[to] for each in ring for to in arrows(each) if to in known)
                        )
                    )
                    known.update(dict.fromkeys(ring, found))
            elif to not in number and to not in known:  # a new element: go there next
                number[to] = low[to] = len(number)
                unfinished.append(to)
                path.append((to, iter(arrows(to))))
            elif to not in known:  # on the path already: the arrow closes a ring
                low[e] = min(low[e], number[to])
        return known[start]

    def _follow(
        self, start: list[Element], arrows: Callable[[Element], Iterable[Element]]
    ) -> list[Element]:
        """Every element that the arrows lead to, including those of `start`."""
        seen, ahead = dict.fromkeys(start), list(start)
        while ahead:
            for e in arrows(ahead.pop()):
                if e not in seen:
                    seen[e] = None
                    ahead.append(e)
        return list(seen)


def is_mutable_type(type: Type) -> bool:
    """Whether values of this type have memory that can be written to."""
    if isinstance(type, TupleType):
        return any(map(is_mutable_type, type.elements))
    if isinstance(type, OptionalType):
        return is_mutable_type(type.element)
    return type.kind() in MUTABLE_KINDS


MUTABLE_KINDS = frozenset({
    "TensorType", "ListType", "DictType", "ClassType", "FutureType", "AnyType", "AnyListType",
    "AnyTupleType", "VarType", "PyObjectType", "GeneratorType", "StorageType", "StreamObjType",
})  # fmt: skip


def memory_type(type: Type) -> Type:
    """A type without the parts that do not matter to memory: shapes, and whether it may be None."""
    if isinstance(type, OptionalType):
        return memory_type(type.element)
    if isinstance(type, TensorType):
        return TensorType.get()
    if isinstance(type, ListType):
        return ListType(memory_type(type.element))
    if isinstance(type, TupleType):
        return TupleType([memory_type(e) for e in type.elements])
    if isinstance(type, ClassType):
        return _ANY_MODULE
    return _ANY if type.kind() in ANY_KINDS else type


def _all_arrows(element: Element) -> list[Element]:
    return [*element.points_to, *element.contains]


ANY_KINDS = frozenset({"AnyType", "AnyListType", "AnyTupleType", "VarType", "PyObjectType"})
_ANY = AnyType.get()
_ANY_MODULE = ClassType("any module")
