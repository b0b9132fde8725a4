"""Sugared values: the meaning of an expression while it is compiled
(`torch/csrc/jit/frontend/sugared_value.{h,cpp}`).

Only some expressions are values of the graph: tensors, numbers, lists. Others exist at compile time
only: `torch` is a module, `torch.add` a function, `x.add` a function with its first argument,
`range(n)` an iterable, `isinstance` a special form. All of them are sugared values: objects that
know which nodes to emit when they are called, asked for an attribute, iterated over, or used as a
value of the graph. Whatever a kind of sugared value cannot do is a compile error.

`SimpleValue` is a value of the graph, `MethodValue` a method of an object in it. Objects from
Python are in `python_values.py`, `range` and `zip` in `iterables.py`, modules in `module_value.py`.

How the real one differs: it has more kinds, for futures, awaitables, enums and distributed
training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals.aten.pytorch_names import advice
from internals.jit.ir import (
    BoolType,
    ClassType,
    DeviceObjType,
    DictType,
    IntType,
    ListType,
    SourceRange,
    StringType,
    TensorType,
    TupleType,
    Type,
    Value,
)
from internals.jit.ir.constants import constant_of, is_constant
from internals.jit.operators import find_operators
from internals.jit.type_variables import evaluate, match_type_variables

from .error_report import error, spell
from .schema_matching import NamedValue, match_schema

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

    from .compiler import Compiler


class SugaredValue:
    """The base class, which can do nothing: each method raises a RuntimeError, with the `kind` of
    the value and the operation that it does not support. Subclasses override what they can do.

    `where` is the range in the source, for errors and nodes; `c` is the compiler.
    """

    kind_name = ""

    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.kind_name

    def as_value(self, where: SourceRange, c: Compiler) -> Value:
        """This as a value of the graph."""
        raise error(where, f"{self.kind()} cannot be used as a value")

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        raise error(where, f"attribute lookup is not defined on {self.kind()}")

    def has_attr(self, where: SourceRange, c: Compiler, name: str) -> bool:
        raise error(where, f"attribute lookup is not defined on {self.kind()}")

    def set_attr(self, where: SourceRange, c: Compiler, name: str, value: Value) -> None:
        raise error(where, f"attribute assignment is not defined on {self.kind()}")

    def as_tuple(
        self, where: SourceRange, c: Compiler, size: int | None = None
    ) -> list[SugaredValue]:
        """The elements of this. `size` is the number of names that they are unpacked into; None if
        that is unknown.
        """
        raise error(where, f"{self.kind()} cannot be used as a tuple")

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        """The result of calling this. `n_binders` is the number of names it is assigned to."""
        raise error(where, f"cannot call a {self.kind()}")

    def iter(self, where: SourceRange, c: Compiler) -> SugaredValue:
        """The iterable that a `for` loops over, which has `length` and `getitem`."""
        raise error(where, f"{self.kind()} cannot be used as an iterable")

    def length(self, where: SourceRange, c: Compiler) -> Value:
        raise error(where, f"'{self.kind()}' object is not iterable")

    def getitem(
        self, where: SourceRange, c: Compiler, index: Value, hint: Type | None = None
    ) -> SugaredValue:
        raise error(where, f"'{self.kind()}' object is not subscriptable")

    def static_length(self) -> int | None:
        """The length, if it is known while compiling; then a loop over this is unrolled. Else
        None.
        """
        return None


class SimpleValue(SugaredValue):
    """A value of the graph."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def kind(self) -> str:
        return f"value of type '{self.value.type().annotation_str}'"

    def as_value(self, where: SourceRange, c: Compiler) -> Value:
        return self.value

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        """A property of a tensor, a field of a named tuple, an attribute or method of an object,
        else the operator of that name, with this value as its `self`.
        """
        t = self.value.type()
        is_tensor = isinstance(t, TensorType)
        if is_tensor and name in CASTS:
            return TensorCast(NamedValue(self.value, where, "self"), name)
        if (is_tensor and name in TENSOR_PROPERTIES) or (
            isinstance(t, DeviceObjType) and name in ("type", "index")
        ):
            # these exist as tensor operators; the other properties are known to the graph only
            namespace = "aten" if name in ("is_leaf", "real", "imag", "mT", "mH") else "prim"
            return SimpleValue(c.insert(f"{namespace}::{name}", [self.value], None))
        if isinstance(t, TupleType) and t.names and name in t.names:
            i = t.names.index(name)
            node = c.add_node("prim::TupleIndex", [self.value, c.constant(i)])
            return SimpleValue(node.output().setType(t.elements[i]))
        if isinstance(t, ClassType):
            found = attribute_of_object(c, self.value, t, name)
            if found is not None:
                return found
        operator = "to" if name == "type" else name
        if BuiltinFunction.accepts_self(f"aten::{operator}", t):
            return BuiltinFunction(f"aten::{operator}", NamedValue(self.value, where, "self"))
        if is_tensor and name == "tolist":
            return SpecialForm("tolist")
        message = f"'{spell(t)}' object has no attribute or method '{name}'."
        if isinstance(t, ClassType):
            message += " Did you forget to initialize an attribute in __init__()?"
        elif is_tensor and advice(name):
            message += f" {advice(name)}"
        raise error(where, message)

    def has_attr(self, where: SourceRange, c: Compiler, name: str) -> bool:
        t = self.value.type()
        if not isinstance(t, ClassType):
            raise error(
                where,
                f"hasattr's first argument must be an object or NamedTuple, got {spell(t)} instead",
            )
        return t.findMethod(name) is not None or t.hasAttribute(name) or name in t.constants

    def set_attr(self, where: SourceRange, c: Compiler, name: str, value: Value) -> None:
        """`self.x = v`. Raises RuntimeError for an attribute that the class does not have, and for
        a value of another type.
        """
        t = self.value.type()
        if not isinstance(t, ClassType):
            raise error(where, f"Tried to set an attribute: {name} on a non-class: {spell(t)}")
        if not t.hasAttribute(name):
            raise error(
                where,
                f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in "
                "__init__()?",
            )
        if not value.type().isSubtypeOf(t.getAttribute(name)):
            raise error(
                where,
                f"Wrong type for attribute assignment. Expected {spell(t.getAttribute(name))} but "
                f"got {spell(value.type())}",
            )
        c.add_node("prim::SetAttr", [self.value, value], 0).s_("name", name)

    def as_tuple(
        self, where: SourceRange, c: Compiler, size: int | None = None
    ) -> list[SugaredValue]:
        t = self.value.type()
        if isinstance(t, TupleType):
            return [SimpleValue(v) for v in c.unpack_tuple(self.value)]
        if isinstance(t, ListType):
            if size is None:  # the graph needs to know how many outputs the node has
                raise error(
                    where, "cannot statically infer the expected size of a list in this context"
                )
            node = c.add_node("prim::ListUnpack", [self.value], size)
            return [SimpleValue(v.setType(t.element)) for v in node.outputs()]
        raise error(where, f"{spell(t)} cannot be used as a tuple")

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        if isinstance(self.value.type(), ClassType):
            return self.attr(where, c, "__call__").call(where, c, args, kwargs, n_binders)
        return super().call(where, c, args, kwargs, n_binders)

    def iter(self, where: SourceRange, c: Compiler) -> SugaredValue:
        """The value itself for a list, string or tensor; the keys of a dict; the elements of a
        tuple, whose number is known.
        """
        t = self.value.type()
        if isinstance(t, (ListType, StringType, TensorType)):
            return self
        if isinstance(t, DictType):
            return SimpleValue(c.insert("aten::keys", [self.value], where))
        if isinstance(t, TupleType):
            return SugaredTuple([SimpleValue(v) for v in c.unpack_tuple(self.value)])
        raise error(where, f"'{spell(t)}' object is not iterable")

    def length(self, where: SourceRange, c: Compiler) -> Value:
        t = self.value.type()
        if not isinstance(t, (ListType, StringType, TensorType)):
            raise error(where, f"'{spell(t)}' object is not iterable")
        return c.insert("aten::len", [self.value], where)

    def getitem(
        self, where: SourceRange, c: Compiler, index: Value, hint: Type | None = None
    ) -> SugaredValue:
        t = self.value.type()
        if isinstance(t, (ListType, StringType, DictType)):
            return SimpleValue(c.insert("aten::__getitem__", [self.value, index], where))
        if isinstance(t, TensorType):
            return SimpleValue(c.insert("aten::select", [self.value, 0, index], where))
        if isinstance(t, ClassType):
            return self.attr(where, c, "__getitem__").call(
                where, c, [NamedValue(index, where)], [], 1
            )
        raise error(where, f"'{spell(t)}' object is not subscriptable")


TENSOR_PROPERTIES = {
    "dtype", "device", "grad", "data", "shape", "is_cuda", "is_cpu", "is_xla", "is_xpu",
    "is_sparse", "is_sparse_csr", "is_mkldnn", "is_quantized", "is_vulkan", "is_ipu", "is_meta",
    "is_mps", "is_maia", "is_leaf", "is_nested", "requires_grad", "layout", "T", "H", "mT", "mH",
    "ndim", "name", "real", "imag", "itemsize", "nbytes",
}  # fmt: skip
CASTS = {  # method -> the IR's number of the dtype
    "byte": 0, "char": 1, "short": 2, "int": 3, "long": 4, "half": 5, "float": 6, "double": 7,
    "cfloat": 9, "cdouble": 10,
}  # fmt: skip


class SugaredTuple(SugaredValue):
    """Several sugared values: the elements of a tuple, or of `zip(x, y)` at one index."""

    kind_name = "Tuple"

    def __init__(self, parts: list[SugaredValue]) -> None:
        self.parts = parts

    def as_tuple(
        self, where: SourceRange, c: Compiler, size: int | None = None
    ) -> list[SugaredValue]:
        return self.parts

    def as_value(self, where: SourceRange, c: Compiler) -> Value:
        return c.tuple_construct([part.as_value(where, c) for part in self.parts])

    def iter(self, where: SourceRange, c: Compiler) -> SugaredValue:
        return self

    def getitem(
        self, where: SourceRange, c: Compiler, index: Value, hint: Type | None = None
    ) -> SugaredValue:
        """The element at a constant index: the others may be of any other kind, even modules."""
        if not (isinstance(index.type(), IntType) and is_constant(index)):
            raise error(
                where,
                "Expected integer literal for index but got a variable or non-integer. "
                "ModuleList/Sequential indexing is only supported with integer literals. For "
                "example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. "
                "Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'",
            )
        i = constant_of(index)
        if not -len(self.parts) <= i < len(self.parts):
            raise error(where, f"Index {i} out of range of length {len(self.parts)}")
        return self.parts[i]

    def static_length(self) -> int | None:
        return len(self.parts)


class BuiltinFunction(SugaredValue):
    """An operator, with all its overloads, by its symbol (`aten::add`). With `self_value` it is a
    method of that value.
    """

    kind_name = "builtin"

    def __init__(self, symbol: str, self_value: NamedValue | None = None) -> None:
        self.symbol, self.self_value = symbol, self_value

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        return SimpleValue(c.call_builtin(where, self.symbol, args, kwargs, self.self_value))

    @staticmethod
    def accepts_self(symbol: str, t: Type) -> bool:
        """Whether an overload of the operator has an argument `self` that accepts a value of type
        `t`.
        """
        for operator in find_operators(symbol):
            i = operator.schema.argument_index("self")
            variables: dict[str, Type] = {}  # of a generic schema, bound by the match
            if (
                i is None
                or match_type_variables(operator.schema.arguments[i].type, t, variables) is not None
            ):
                continue
            wanted = evaluate(operator.schema.arguments[i].type, variables)
            if wanted is not None and t.isSubtypeOf(wanted):
                return True
        return False


class TensorCast(SugaredValue):
    """`x.int`: a method that casts a tensor to a dtype. A call of it emits `aten::to`."""

    kind_name = "Tensor.to"

    def __init__(self, tensor: NamedValue, name: str) -> None:
        self.tensor, self.name = tensor, name

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        assert not args and not kwargs
        code = c.constant(CASTS[self.name], where)
        # aten::to(self, dtype, non_blocking=False, copy=False)
        given = [self.tensor, *(NamedValue(v, where) for v in (code, False, False))]
        return SimpleValue(c.call_builtin(where, "aten::to", given, []))


class CastValue(BuiltinFunction):
    """`int(x)`, `float(x)`, `bool(x)`, `str(x)`. If x already has that type, nothing is emitted. A
    list, string or dict is true if it is not empty.
    """

    def __init__(self, target: Type, symbol: str) -> None:
        super().__init__(symbol)
        self.target = target

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        if len(args) == 1 and not kwargs:
            zero = c.constant(0)
            value = args[0].get(c)
            if value.type().isSubtypeOf(self.target):
                return SimpleValue(value)
            if isinstance(self.target, BoolType) and isinstance(
                value.type(), (ListType, StringType, DictType)
            ):
                return SimpleValue(
                    c.insert("aten::gt", [c.insert("aten::len", [value], where), zero], where)
                )
        return super().call(where, c, args, kwargs, n_binders)


class PrintValue(SugaredValue):
    """`print`: a call of it emits a `prim::Print` node without outputs."""

    kind_name = "print"

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        if kwargs:
            raise error(where, "print doesn't accept any keyword arguments")
        c.add_node("prim::Print", [a.get(c) for a in args], 0, where)
        return NoneValue()


class NoneValue(SugaredValue):
    """The result of `print`, which cannot be used as a value."""

    kind_name = "None"


class SpecialForm(SugaredValue):
    """A name whose calls do not simply evaluate their arguments: `isinstance`, `range`
    (`emit_special_forms.py`).
    """

    def __init__(self, form: str) -> None:
        self.form = form

    def kind(self) -> str:
        return f"{self.form}"


class MagicMethod(SugaredValue):
    """A builtin that a class may define: `len(x)` calls `x.__len__()` if x is an object of a
    compiled class, else `base`.
    """

    def __init__(self, name: str, base: SugaredValue) -> None:
        self.name, self.base = name, base

    def kind(self) -> str:
        return self.name

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        if args:
            value = args[0].get(c)
            if isinstance(value.type(), ClassType):
                return (
                    SimpleValue(value)
                    .attr(where, c, self.name)
                    .call(where, c, args[1:], kwargs, n_binders)
                )
        return self.base.call(where, c, args, kwargs, n_binders)


class ExceptionValue(SugaredValue):
    """An exception class, the operand of `raise`. A call of it returns an `ExceptionMessage`.

    If the class is known by name only, as for `assert`, the name becomes part of the message.
    """

    kind_name = "exception"

    def __init__(self, name: str, exception: Any = None) -> None:
        self.name, self.exception = name, exception

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        if not args:
            message = c.constant("", where)
        elif len(args) == 1:
            message = args[0].get(c)
        else:
            message = c.tuple_construct([a.get(c) for a in (*args, *kwargs)])
        if self.exception is not None:
            return ExceptionMessage(message, c.constant(self.name, where))
        prefix = c.constant(f"{self.name}: ", where)
        if not isinstance(message.type(), StringType):
            message = c.insert("aten::str", [message], where)
        return ExceptionMessage(c.insert("aten::add", [prefix, message], where), None)


class ExceptionMessage(SugaredValue):
    """An exception that can be raised: its message and the qualified name of its class."""

    kind_name = "exception message"

    def __init__(self, message: Value, qualified_name: Value | None) -> None:
        self.message, self.qualified_name = message, qualified_name


class MethodValue(SugaredValue):
    """A compiled method of an object. A call of it emits `prim::CallMethod`."""

    kind_name = "method"

    def __init__(self, owner: Value, method: ScriptFunction) -> None:
        self.owner, self.method = owner, method

    def call(
        self,
        where: SourceRange,
        c: Compiler,
        args: Sequence[NamedValue],
        kwargs: Sequence[NamedValue],
        n_binders: int,
    ) -> SugaredValue:
        ensure_compiled(self.method, where)
        matched = match_schema(
            c, self.method.schema, where, [NamedValue(self.owner, where, "self"), *args], kwargs
        )
        node = c.add_node("prim::CallMethod", matched.inputs, 1, where).s_("name", self.method.name)
        return SimpleValue(node.output().setType(matched.return_types[0]))


def attribute_of_object(
    c: Compiler, owner: Value, t: ClassType, name: str, where: SourceRange | None = None
) -> SugaredValue | None:
    """A method, attribute or constant of an object, as its type has it; None if it has no such
    member.
    """
    method = t.findMethod(name)
    if method is not None:
        return MethodValue(owner, method)
    if t.hasAttribute(name):
        return SimpleValue(get_attr(c, owner, t, name))
    if name in t.constants:
        return SimpleValue(constant_value(c, t.constants[name], where))
    return None


def constant_value(c: Compiler, value: object, where: SourceRange | None) -> Value:
    """A constant of a module. A tuple is constructed from constants, so that unpacking it needs no
    node, and the tuple is removed again.
    """
    if isinstance(value, tuple):
        return c.tuple_construct([constant_value(c, each, where) for each in value])
    return c.constant(value, where)


def get_attr(c: Compiler, owner: Value, t: ClassType, name: str) -> Value:
    """The value of an attribute, read by a new `prim::GetAttr`. Attribute "0" is named `_0`."""
    node = c.add_node("prim::GetAttr", [owner]).s_("name", name)
    node.output().setDebugName(f"_{name}" if name.isdigit() else name)
    return node.output().setType(t.getAttribute(name))


class BeingCompiled:
    """Stands for a function or method while it is compiled: found by a recursive call."""

    def __init__(self, name: str, what: str = "function") -> None:
        self.name, self.what = name, what


def ensure_compiled(function: ScriptFunction, where: SourceRange) -> None:
    """Raises RuntimeError for a function that is still being compiled: it calls itself."""
    if isinstance(function, BeingCompiled):
        raise error(
            where,
            f" {function.what} '{function.name}' is called recursively. Recursive calls are not "
            "supported",
        )
