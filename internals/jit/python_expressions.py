"""The right-hand side of a node as Python: `torch.add(x, y, alpha=2)`, `xs[0]`, `(x, 1)`
(`printRHS` in `python_print.cpp`).

A call of an operator is written `torch.name(...)` or `ops.namespace.name(...)`, with keyword-only
arguments by keyword. Arguments at the end that are constants equal to the schema's defaults are
omitted. Nodes for which Python has a syntax are in the table `SYNTAX`. Constants without a literal,
mostly tensors, are written `CONSTANTS.c0`, `CONSTANTS.c1`, ... and are kept in a table besides the
text.

How the real one differs: it also writes enums and awaitables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals.core.device import device
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import (
    AnyType,
    DictType,
    FunctionType,
    ListType,
    Node,
    NumberType,
    OptionalType,
    TupleType,
    Type,
    Value,
    type_of,
)
from internals.jit.ir.printer import quoted, value_text
from internals.jit.schema import Argument

Use = Callable[[Value], str]
Spell = Callable[[Type], str]
NoneValue = type(None)
RESPELLED = {"aten::backward": "torch.autograd.backward", "aten::grad": "torch.autograd.grad"}


class Expressions:
    """Writes the expressions of nodes. `use` returns the text of a value, `spell` that of a type;
    constants without a literal are appended to `constants`.
    """

    def __init__(self, use: Use, constants: list[Any], spell: Spell) -> None:
        self.use, self.constants, self.spell = use, constants, spell

    def of(self, node: Node) -> str:
        """The expression that the node computes. A call of Python is shown as in the graph, which
        is not valid Python.
        """
        kind = node.kind()
        if kind.startswith("^"):
            scalars = node.attribute("scalar_args") if node.hasAttribute("scalar_args") else []
            return f"{kind}({', '.join(map(str, scalars))})({self._list(node.inputs())})"
        syntax = SYNTAX.get(kind)
        return syntax(self, node) if syntax else self._call(node)

    # Calls of operators

    def _call(self, node: Node) -> str:
        """A call of an operator: its necessary arguments, then its `out` arguments."""
        namespace, _, name = node.kind().partition("::")
        function = (
            RESPELLED.get(node.kind())
            or ("torch." if namespace == "aten" else f"ops.{namespace}.") + name
        )
        schema, inputs = node.schema(), node.inputs()
        if schema is None:
            return f"{function}({self._list(inputs)})"
        arguments = schema.arguments
        necessary, outs = necessary_arguments(arguments, inputs)
        parts = [
            (f"{arguments[i].name}=" if i < len(arguments) and arguments[i].kwarg_only else "")
            + self.use(inputs[i])
            for i in range(necessary)
        ]
        for i in range(len(arguments) - outs, len(arguments)):
            parts.append(
                f"{arguments[i].name}={self.use(inputs[len(inputs) - len(arguments) + i])}"
            )
        return f"{function}({', '.join(parts)})"

    # Syntax

    def _constant(self, node: Node) -> str:
        """A constant; of a function, its name."""
        type = node.output().type()
        if isinstance(type, FunctionType):
            return self.spell(type) if hasattr(type.function, "qualified_name") else node.s("name")
        return self.literal(node.output().toIValue(), type)

    def literal(self, value: object, type: Type | None = None) -> str:
        """The text of a constant: a literal, or its name in the table of constants."""
        if isinstance(value, TensorImpl) or _has_no_literal(value):
            return f"CONSTANTS.c{self._index_of(value)}"
        if isinstance(type, OptionalType):
            return self.literal(value, type.element)
        if isinstance(value, (bool, NoneValue)):
            return str(value)
        if isinstance(value, device):
            return f"torch.device({quoted(str(value))})"
        # containers: each element with the element type, as far as the type is known
        if isinstance(value, list):
            element = type.element if isinstance(type, ListType) else None
            return self._annotated(
                f"[{', '.join(self.literal(v, element) for v in value)}]", value, type, element
            )
        if isinstance(value, tuple):
            elements = type.elements if isinstance(type, TupleType) else [None] * len(value)
            inside = ", ".join(self.literal(v, t) for v, t in zip(value, elements))
            return f"{self._tuple_name(type)}({inside}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            key, item = (type.key, type.value) if isinstance(type, DictType) else (None, None)
            inside = ", ".join(
                f"{self.literal(k, key)}: {self.literal(v, item)}" for k, v in value.items()
            )
            return self._annotated(f"{{{inside}}}", value, type, key, item)
        return text_literal(value) if isinstance(value, str) else value_text(value)

    def _annotated(self, text: str, value: Any, type: Type | None, *parts: Type | None) -> str:
        """The text of a list or dict, with its type if the compiler could not infer it. `parts` are
        the types of its elements.
        """
        if value and all(p is None or follows_from_elements(p) for p in parts):
            return text
        return f"annotate({self.spell(type or type_of(value))}, {text})"

    def _index_of(self, value: Any) -> int:
        """The index of a constant in the table. A tensor with the same elements is used again."""
        for i, known in enumerate(self.constants):
            if (
                isinstance(value, TensorImpl)
                and isinstance(known, TensorImpl)
                and _same_tensor(known, value)
            ):
                return i
        self.constants.append(value)
        return len(self.constants) - 1

    def _index(self, node: Node) -> str:
        whole = self.use(node.input(0))
        return f"{whole if whole.isidentifier() else f'({whole})'}[{self.use(node.input(1))}]"

    def _tuple(self, node: Node) -> str:
        name = self._tuple_name(node.output().type())
        return f"{name}({self._list(node.inputs())}{',' if node.inputsSize() == 1 else ''})"

    def _tuple_name(self, type: Type | None) -> str:
        """The class of a named tuple; "" for other tuples."""
        return self.spell(type) if isinstance(type, TupleType) and type.qualified_name else ""

    def _list_of(self, node: Node) -> str:
        type = node.output().type()
        assert isinstance(type, ListType)
        return self._annotated(f"[{self._list(node.inputs())}]", node.inputs(), type, type.element)

    def _dict_of(self, node: Node) -> str:
        """A dict; the node's inputs are keys and values in turn: k0, v0, k1, v1, ..."""
        type, items = node.output().type(), node.inputs()
        assert isinstance(type, DictType)
        inside = ", ".join(f"{self.use(k)}: {self.use(v)}" for k, v in zip(items[::2], items[1::2]))
        return self._annotated(f"{{{inside}}}", items, type, type.key, type.value)

    def _attribute(self, node: Node) -> str:
        owner, name = self.use(node.input()), node.s("name")
        return f"{owner}.{name}" if is_identifier(name) else f"getattr({owner}, {quoted(name)})"

    def _method_call(self, node: Node) -> str:
        return f"({self.use(node.input(0))}).{node.s('name')}({self._arguments(node)})"

    def _arguments(self, node: Node) -> str:
        return "".join(f"{self.use(v)}, " for v in node.inputs()[1:])

    def _unwrap(self, node: Node) -> str:
        """`torch._unwrap_optional(x)`. For a None, the type it is unwrapped to is written, too."""
        inner = self.use(node.input())
        if node.input().type().kind() == "NoneType":
            inner = f"annotate({self.spell(OptionalType(node.output().type()))}, {inner})"
        return f"torch._unwrap_optional({inner})"

    def _isinstance(self, node: Node) -> str:
        types = [self.spell(t) for t in node.tys("types")]
        return (
            f"isinstance({self.use(node.input())}, "
            f"{types[0] if len(types) == 1 else '(' + ', '.join(types) + ')'})"
        )

    def _list(self, values: Sequence[Value]) -> str:
        return ", ".join(map(self.use, values))


def _calls(name: str) -> Callable[[Expressions, Node], str]:
    return lambda e, n: f"{name}({e._list(n.inputs())})"


SYNTAX: dict[str, Callable[[Expressions, Node], str]] = {
    "prim::Constant": Expressions._constant,
    "prim::Uninitialized": lambda e, n: f"uninitialized({e.spell(n.output().type())})",
    "prim::Print": _calls("print"),
    "aten::Int": _calls("int"),
    "aten::Float": _calls("float"),
    "aten::Bool": _calls("bool"),
    "aten::str": _calls("str"),
    "aten::sorted": _calls("sorted"),
    "aten::__getitem__": Expressions._index,
    "prim::TupleConstruct": Expressions._tuple,
    "prim::TupleIndex": lambda e, n: f"({e.use(n.input(0))})[{e.use(n.input(1))}]",
    "prim::TupleSlice": lambda e, n: f"({e.use(n.input())})[{n.i('beg')}:{n.i('end')}]",
    "prim::ListConstruct": Expressions._list_of,
    "prim::DictConstruct": Expressions._dict_of,
    "prim::CreateObject": lambda e, n: "{0}.__new__({0})".format(e.spell(n.output().type())),
    "prim::GetAttr": Expressions._attribute,
    "prim::CallMethod": Expressions._method_call,
    "prim::CallFunction": lambda self, node: f"{self.use(node.input(0))}({self._arguments(node)})",
    "prim::isinstance": Expressions._isinstance,
    "prim::unchecked_cast": lambda e, n: (
        f"unchecked_cast({e.spell(n.output().type())}, {e.use(n.input())})"
    ),
    "prim::tolist": lambda e, n: (
        f"annotate({e.spell(n.output().type())}, {e.use(n.input(0))}.tolist())"
    ),
    "aten::_unwrap_optional": Expressions._unwrap,
    **dict.fromkeys(
        ("aten::IntImplicit", "aten::FloatImplicit", "aten::ScalarImplicit"),
        lambda e, n: f"annotate({e.spell(n.output().type())}, {e.use(n.input())})",
    ),
}


def necessary_arguments(arguments: Sequence[Argument], inputs: Sequence[Value]) -> tuple[int, int]:
    """The number of arguments that must be written, and the number of `out` arguments after them
    (`CalculateNecessaryArgs`).
    """
    outs = 0  # they come last in a schema
    while outs < len(arguments) and arguments[-1 - outs].is_out:
        outs += 1
    if len(arguments) < len(inputs):
        return len(inputs), outs
    n = len(arguments) - outs
    # only from the end: an argument before a written one is written, too
    while (
        n
        and arguments[n - 1].has_default_value()
        and _is_default(arguments[n - 1].default_value, inputs[n - 1])
    ):
        n -= 1
    return n, outs


def is_identifier(name: str) -> bool:
    """Whether a name can be written after a dot. Others need `getattr(m, "0")`."""
    return name.isascii() and name.isidentifier()


def follows_from_elements(element: Type) -> bool:
    """Whether the compiler infers this element type from the elements. Elements of a list of
    Optional, number or Any have a narrower type themselves.
    """
    return not isinstance(element, (OptionalType, NumberType, AnyType))


def _is_default(default: object, value: Value) -> bool:
    """Whether a value is a constant of the same type as the default, and equal to it."""
    if not value.isConstant():
        return False
    actual = value.toIValue()
    return (
        type(actual) is type(default)
        and not isinstance(actual, TensorImpl)
        and bool(actual == default)
    )


def text_literal(text: str) -> str:
    """A string as code. PyTorch writes a carriage return as `\\r`, which its own parser does not
    read; it does read `\\015`.
    """
    return "\\015".join(quoted(part)[1:-1] for part in text.split("\r")).join('""')


def _has_no_literal(value: object) -> bool:
    """Whether a string, or one inside a container, is not ASCII: it goes into the table of
    constants.
    """
    if isinstance(value, str):
        return not value.isascii()
    if isinstance(value, dict):
        return any(_has_no_literal(v) for pair in value.items() for v in pair)
    return isinstance(value, (list, tuple)) and any(map(_has_no_literal, value))


def _same_tensor(a: Any, b: Any) -> bool:
    """Whether two tensors agree in dtype, device, sizes and elements."""
    return (
        a.dtype is b.dtype
        and a.device == b.device
        and a.size() == b.size()
        and bool((a == b).all())
    )
