"""The meaning of each name, at the current point of the function being compiled
(`struct Environment` of `ir_emitter.cpp`).

Frames form a chain, one for each open block: that of the function, that of an `if` arm inside it,
and so on. A frame has two kinds of names. For first-class values (a tensor, an int) it keeps only
the type; other things (a function, a module, the iterable of a loop) it keeps themselves.

Assigning to a first-class name emits `prim::Store[name="x"](%v)`, reading one emits
`prim::Load[name="x"]()`. So the value that a name has after an `if`, or in the second iteration of
a loop, need not be known yet: `convert_to_ssa.py` finds it when everything has been emitted, and
removes the Loads and Stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.jit.ir import Block, ListType, SourceRange, Type, Value, unshaped

from .error_report import error, spell
from .schema_matching import EMPTY_LISTS, try_convert_to_type
from .sugared_values import SimpleValue, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


class Environment:
    """One frame: the names assigned in `block`, and the frame around it (`outer`)."""

    def __init__(self, compiler: Compiler, block: Block, outer: Environment | None = None) -> None:
        self.compiler, self.block, self.outer = compiler, block, outer
        self.types: dict[str, Type] = {}
        self.values: dict[str, SugaredValue] = {}
        # used in the outermost frame only: why a name is not defined after an `if`
        self.errors: dict[str, str] = {}

    # Reading.

    def get(self, name: str, where: SourceRange) -> SugaredValue:
        """The meaning of `name`: a local, else a Python builtin, else what the resolver finds where
        the function was defined.

        Raises RuntimeError "undefined value x" if it is none of them.
        """
        found = self.find(name) or self.compiler.find_global(name, where)
        if found is None:
            message = self.outermost().errors.get(name)
            raise error(
                where,
                f"undefined value {name}" if message is None else f"{message}and was used here",
            )
        return found

    def get_value(self, name: str, where: SourceRange) -> Value:
        return self.get(name, where).as_value(where, self.compiler)

    def find(self, name: str) -> SugaredValue | None:
        """The meaning of a local name, in this frame or one around it. For a first-class name, this
        emits a Load. None if the name is unknown.
        """
        found = self.find_here(name)
        return found if found is not None or self.outer is None else self.outer.find(name)

    def find_here(self, name: str) -> SugaredValue | None:
        """The meaning of a name in this frame only."""
        if name in self.values:
            return self.values[name]
        return self._load(name, self.types[name]) if name in self.types else None

    def defined(self) -> list[str]:
        """The first-class names assigned in this frame."""
        return list(self.types)

    # Writing.

    def set_value(self, where: SourceRange, name: str, value: Value) -> None:
        self.set(where, name, SimpleValue(value))

    def set(
        self, where: SourceRange, name: str, value: SugaredValue, annotated: Type | None = None
    ) -> None:
        """Assign `value` to a name. A name that is known outside this block keeps its type, because
        it may be read there whether this block has run or not.

        Raises RuntimeError if the types do not fit.
        """
        v = value.value if isinstance(value, SimpleValue) else None
        # in the graph, a value has the name of the variable that it is first assigned to
        if (
            v is not None
            and not v.hasDebugName()
            and meaningful(name)
            and v.node().owningBlock() is self.block
        ):
            v.setDebugName(name)
        outside = None if self.outer is None else self.outer.find(name)
        if outside is not None:
            v = self._type_must_agree_with_outside(where, name, value, outside, annotated)
        if v is None:
            self.values[name] = value
            return
        if annotated is not None and not v.type().isSubtypeOf(annotated):
            raise error(
                where,
                f"Variable '{name}' is annotated with type {spell(annotated)} but is being "
                f"assigned to a value of type {spell(v.type())}",
            )
        self.compiler.add_node("prim::Store", [v], 0, where).s_("name", name)
        self.types[name] = annotated if annotated is not None else v.type()

    def set_type(self, name: str, t: Type) -> None:
        self.types[name] = t

    def set_error(self, name: str, text: str) -> None:
        """Make `name` undefined from here on; `text` says why, in the error raised when it is
        used.
        """
        self.outermost().errors[name] = text

    def remove(self, name: str, where: SourceRange) -> None:
        """`del name`, in all frames. Raises RuntimeError if it is undefined."""
        frame: Environment | None = self
        removed = False
        while frame is not None:
            removed = (frame.values.pop(name, None) is not None) | (
                frame.types.pop(name, None) is not None
            )
            frame = frame.outer
        if not removed:
            raise error(where, f"undefined value {name}")

    def outermost(self) -> Environment:
        """The frame of the function's own block."""
        frame = self
        while frame.outer is not None:
            frame = frame.outer
        return frame

    # Helpers.

    def _load(self, name: str, t: Type) -> SugaredValue:
        """The value of a new `prim::Load` of a first-class name."""
        node = self.compiler.add_node("prim::Load").s_("name", name)
        out = node.output().setType(t)
        if meaningful(name):
            out.setDebugName(name)
        return SimpleValue(out)

    def _type_must_agree_with_outside(
        self,
        where: SourceRange,
        name: str,
        value: SugaredValue,
        outside: SugaredValue,
        annotated: Type | None,
    ) -> Value:
        """The new value, converted to the type that the name has outside this block. Raises
        RuntimeError if it does not fit, or if one of the two is not a first-class value.
        """
        if annotated is not None:
            raise error(
                where,
                f"Attempting to declare and annotate the type of variable '{name}' but it is "
                "already defined in an outer block",
            )
        only = "is not a first-class value.  Only reassignments to first-class values are allowed"
        if not isinstance(value, SimpleValue):
            raise error(
                where,
                f"Cannot re-assign '{name}' to a value of type {value.kind()} because {name} "
                f"{only}",
            )
        if not isinstance(outside, SimpleValue):
            raise error(
                where,
                f"Cannot re-assign '{name}' because it has type {value.kind()} and {name} {only}",
            )
        expected = unshaped(outside.value.type())
        v = try_convert_to_type(self.compiler, where, expected, value.value, allow_conversions=True)
        if not v.type().isSubtypeOf(expected):
            message = (
                f"Variable '{name}' previously had type {spell(outside.value.type())} but is now "
                f"being assigned to a value of type {spell(v.type())}"
            )
            if isinstance(expected, ListType) and isinstance(v.type(), ListType):
                message += EMPTY_LISTS
            raise error(where, message + "\n")
        return v


def meaningful(name: str) -> bool:
    """Whether values are to be called `name` in the graph: not for `_`, `_1`, and the compiler's
    own `$tmp`.
    """
    if not name or name[0] == "$":
        return False
    return name[0] != "_" or any(not c.isdigit() for c in name[1:])
