"""Prints methods as the Python text in archives of PyTorch 1.0.1
(`torch/csrc/jit/passes/python_print.cpp` of that time).

    op_version_set = 0
    def forward(self,
        input_1: Tensor) -> Tensor:
      input_2 = torch._convolution(input_1, self.conv1.weight, None, [2, 2], [3, 3], [1, 1], ...)
      return torch.relu(input_2)

It is the ancestor of the format of `jit/python_print.py`. All arguments are written, defaults too;
keyword-only ones by name. Tensors of the module are `self.conv1.weight`, other tensors
`CONSTANTS.c3`, an index into the archive's one table of tensors. A value without a name that is
used once is inlined into the expression that uses it, if its text has fewer than 40 characters with
the indentation. A longer one gets a line, and a name: `_0`, `_1`, numbered through the whole
record.

How the real one differs: when a value got a line of its own, it moved before the rest of its
expression, so that `f(x.add_(1), long)` could change its order. Here, values whose order matters
(they write, print or are random) get lines first.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from typing import Any

from internals.core.device import device
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Block, ListType, Node, OptionalType, TensorType, TupleType, Type, Value
from internals.jit.ir.dialect_101 import value_names
from internals.jit.ir.printer import quoted, value_text
from internals.jit.python_inlining import constants_in_order, inlined_nodes, is_constant
from internals.jit.python_print import identifier, is_for_loop
from internals.jit.type_variables import free_variables

from .lower import Method, Path

LONG_LINE = 40
VERSION_LINE = "op_version_set = 0\n"
RESERVED = {
    "_", "aten", "attribute", "CONSTANTS", "fork", "getattr", "inf", "nan", "ops", "self", "as",
    "assert", "async", "await", "break", *(k for k in keyword.kwlist if k != "nonlocal"),
    "nonlocal",
}  # fmt: skip
TYPES = {"NumberType": "number", "NoneType": "None", "DeviceObjType": "Device", "StringType": "str"}


def print_101(methods: Sequence[Method], constant_id: Callable[[Any], int]) -> str:
    """The text of a code record. `constant_id` returns the index of a tensor in the table, and adds
    it if necessary.
    """
    printer = _Printer(constant_id)
    printer.method_names.update(m.name for m in methods)
    for method in methods:
        printer.method(method)
    return VERSION_LINE + "".join(f"{line}\n" for line in printer.lines)


def tensor_path(path: Path) -> str:
    """The expression for a tensor of the module: `self.conv1.weight`, or
    `getattr(self.layers, "0").weight` if a name is not an identifier.
    """
    text = "self"
    for name in path:
        text = f"{text}.{name}" if _is_plain(name) else f"getattr({text}, {quoted(name)})"
    return text


def type_text(type: Type) -> str:
    """A type as an annotation of 1.0.1."""
    if isinstance(type, TensorType):
        return "Tensor"
    if isinstance(type, TupleType):
        return f"Tuple[{', '.join(map(type_text, type.elements))}]"
    inner = type.containedTypes()
    if len(inner) == 1:
        return f"{type.kind().removesuffix('Type')}[{type_text(inner[0])}]"
    return TYPES.get(type.kind(), type.annotation_str)


class _Printer:
    """Prints one record: `lines` is the text so far, `texts` the expression for each value."""

    def __init__(self, constant_id: Callable[[Any], int]) -> None:
        self.constant_id = constant_id
        self.lines: list[str] = []
        self.level = 0
        self.next_suffix = 0
        self.used: set[str] = set()
        self.method_names: set[str] = set()

    def method(self, method: Method) -> None:
        """Prints a method, and after it those that it starts by forks."""
        self.started: list[Method] = []
        self.forked = method.forked
        self.used.clear()
        self.schemas = method.schemas
        self.names = value_names(method.graph)
        self.texts: dict[Value, str] = {v: tensor_path(p) for v, p in method.parameters.items()}
        self.inlined: set[Node] = set()
        self.waiting: list[Node] = []  # inlined, and not yet part of a line
        inputs = list(zip(method.schema.arguments, method.graph.inputs()))
        if inputs and inputs[0][0].type.kind() == "ClassType":
            self.texts[inputs.pop(0)[1]] = "self"
        arguments = ["self"]
        for argument, value in inputs:
            self.name(value)
            default = (
                f"={self.literal(argument.default_value)}" if argument.has_default_value() else ""
            )
            arguments.append(f"{self.texts[value]}: {type_text(argument.type)}{default}")
        returned = type_text(method.graph.outputs()[0].type()) if method.graph.outputs() else "None"
        self.line(f"def {method.name}({f',{chr(10)}    '.join(arguments)}) -> {returned}:")
        self.body(method.graph.block())
        for started in list(self.started):
            self.lines += ["", ""]
            self.method(started)

    def body(self, block: Block) -> None:
        """Prints the statements of a method: long constants first, which need a line."""
        constants = constants_in_order(block, set())
        self.inlined |= inlined_nodes(block)
        self.level += 1
        for node in constants:
            text = self.constant(node)
            if len(text) + 2 * self.level < LONG_LINE:
                self.texts[node.output()] = text
            else:
                self.define(node, text)
        self.block(block, has_more=True)
        self.line(f"return {self.list(block.outputs()) or 'None'}")
        self.level -= 1

    def block(self, block: Block, has_more: bool) -> None:
        """Prints the nodes of a block; `pass` for an empty one, unless a line follows anyway."""
        nodes = [n for n in block.nodes() if not is_constant(n)]
        if not nodes and not has_more:
            self.line("pass")
        for node in nodes:
            statement = STATEMENTS.get(node.kind())
            if statement is None:
                self.expression_statement(node)
            else:
                self.waiting = []  # a statement starts a line: nothing is open before it
                statement(self, node)

    # Statements

    def expression_statement(self, node: Node) -> None:
        """Inlines an expression, or prints it as a line."""
        text = self.expression(node)
        inside = _consumed(node, self.inlined)
        others = [n for n in self.waiting if n not in inside]
        if node in self.inlined and len(text) + 2 * self.level < LONG_LINE:
            self.waiting = [*others, node]
            self.texts[node.output()] = text
            return
        # The line of `node` would be evaluated before the expressions that wait for a later line.
        if any(map(_order_matters, (node, *inside, *others))):
            for earlier in others:
                self.define(earlier, self.texts[earlier.output()])
            others = []
        self.waiting = others
        self.define(node, text)

    def define(self, node: Node, text: str) -> None:
        """Prints `name = text`, with a new name for each output."""
        for value in node.outputs():
            self.name(value)
        self.line(f"{self.list(node.outputs())} = {text}" if node.outputs() else text)

    def fork(self, node: Node) -> None:
        """Prints the call of a forked method, whose body follows after the current method."""
        name = self.fresh("__forked_function", self.method_names)
        self.started.append(self.forked[node]._replace(name=name))
        self.define(node, f"fork({', '.join((f'self.{name}', *map(self.use, node.inputs())))})")

    def unpack(self, node: Node) -> None:
        """Prints `a, b, = whole`; the last comma unpacks a single element, too."""
        whole = self.use(node.input())
        for value in node.outputs():
            self.name(value)
        targets = "".join(f"{self.use(v)}, " for v in node.outputs())
        self.line(f"{targets}= {whole}" if targets else whole)

    def if_(self, node: Node) -> None:
        """Prints an If; each arm ends by assigning its results to the names of the outputs."""
        for value in node.outputs():
            self.name(value)
        for head, block in zip((f"if {self.use(node.input())}:", "else:"), node.blocks()):
            self.line(head)
            self.level += 1
            self.block(block, has_more=bool(node.outputs()))
            self.assign(node.outputs(), block.outputs())
            self.level -= 1

    def loop(self, node: Node) -> None:
        """Prints a loop. Its carried values have the names of the outputs, inside and outside: they
        are assigned before the loop and at the end of its body.
        """
        is_for = is_for_loop(node)
        (body,) = node.blocks()
        counter, *carried = body.inputs()
        limit, condition, *initial = node.inputs()
        for value in node.outputs():
            self.name(value)
        for inside, outside in zip(carried, node.outputs()):
            self.texts[inside] = self.use(outside)
        self.assign(node.outputs(), initial)
        self.name(counter)
        if is_for:
            self.line(f"for {self.use(counter)} in range({self.use(limit)}):")
        else:  # `while` does not use the counter: its name is taken for the condition
            self.assign([counter], [condition])
            self.line(f"while {self.use(counter)}:")
        self.level += 1
        targets = carried if is_for else body.inputs()
        self.block(body, has_more=bool(targets))
        self.assign(targets, body.outputs()[int(is_for) :])
        self.level -= 1

    def assign(self, targets: Sequence[Value], values: Sequence[Value]) -> None:
        if targets:
            self.line(f"{self.list(targets)} = {self.list(values)}")
            self.waiting = []

    # Expressions

    def expression(self, node: Node) -> str:
        syntax = SYNTAX.get(node.kind())
        return syntax(self, node) if syntax else self.call(node)

    def call(self, node: Node) -> str:
        namespace, _, name = node.kind().partition("::")
        formal = self.schemas[node].arguments
        # torch.sum(x, dtype=6): keyword-only arguments with their name
        parts = [
            (f"{formal[i].name}=" if i < len(formal) and formal[i].kwarg_only else "")
            + self.use(value)
            for i, value in enumerate(node.inputs())
        ]
        return (
            f"{'torch.' if namespace == 'aten' else f'ops.{namespace}.'}{name}({', '.join(parts)})"
        )

    def list_of(self, node: Node) -> str:
        type = node.output().type()
        assert isinstance(type, ListType)
        if not node.inputs() and not isinstance(type.element, TensorType):
            return f"annotate({type_text(type)}, [])"
        return f"[{self.list(node.inputs())}]"

    def constant(self, node: Node) -> str:
        value, type = node.output().toIValue(), node.output().type()
        if value is None:
            known = not isinstance(type, OptionalType) or all(
                map(self.type_is_known, node.output().uses())
            )
            return "None" if known else f"annotate({type_text(type)}, None)"
        if isinstance(value, list) and not value:
            return f"annotate({type_text(type)}, [])"
        return self.literal(value)

    def type_is_known(self, use: Any) -> bool:
        """Whether the user's schema determines the type of None, so that it needs no annotation."""
        schema = self.schemas.get(use.user)
        if schema is None or use.offset >= len(schema.arguments):
            return False
        return not free_variables(schema.arguments[use.offset].type)

    def literal(self, value: object) -> str:
        """The text of a constant: a tensor is an entry of the archive's table."""
        if isinstance(value, TensorImpl):
            return f"CONSTANTS.c{self.constant_id(value)}"
        if isinstance(value, device):
            return f"torch.device({quoted(str(value))})"
        if isinstance(value, (list, tuple)):
            inside = ", ".join(map(self.literal, value))
            return (
                f"[{inside}]"
                if isinstance(value, list)
                else f"({inside}{',' if len(value) == 1 else ''})"
            )
        return str(value) if value is None or isinstance(value, bool) else value_text(value)

    # Lines and names

    def line(self, text: str) -> None:
        self.lines.append("  " * self.level + text)

    def use(self, value: Value) -> str:
        """The text of a value: its name, or the expression that computes it."""
        return self.texts[value]

    def list(self, values: Sequence[Value]) -> str:
        return ", ".join(map(self.use, values))

    def name(self, value: Value) -> None:
        given = self.names.get(value)
        self.texts[value] = self.fresh(identifier(given) if given is not None else "_")

    def fresh(self, candidate: str, used: set[str] | None = None) -> str:
        """`candidate`, with a number appended if it is taken. One counter serves all names of the
        record.
        """
        used, name = self.used if used is None else used, candidate
        while name in used or name in RESERVED:
            name, self.next_suffix = f"{candidate}{self.next_suffix}", self.next_suffix + 1
        used.add(name)
        return name


def _calls(name: str) -> Callable[[_Printer, Node], str]:
    return lambda p, n: f"{name}({p.list(n.inputs())})"


STATEMENTS: dict[str, Callable[[_Printer, Node], None]] = {
    "prim::If": _Printer.if_,
    "prim::fork": _Printer.fork,
    "prim::Loop": _Printer.loop,
    "prim::TupleUnpack": _Printer.unpack,
    "prim::ListUnpack": _Printer.unpack,
}
SYNTAX: dict[str, Callable[[_Printer, Node], str]] = {
    "prim::Print": _calls("print"),
    "aten::wait": _calls("torch.wait"),
    "prim::Int": _calls("int"),
    "prim::Float": _calls("float"),
    "prim::Bool": _calls("bool"),
    "prim::ImplicitTensorToNum": lambda p, n: (
        f"annotate({type_text(n.output().type())}, {p.use(n.input())})"
    ),
    "prim::TupleConstruct": lambda p, n: (
        f"({p.list(n.inputs())}{',' if n.inputsSize() == 1 else ''})"
    ),
    "prim::TupleIndex": lambda p, n: f"({p.use(n.input(0))})[{n.input(1).toIValue()}]",
    "prim::TupleSlice": lambda p, n: f"({p.use(n.input())})[{n.i('beg')}:{n.i('end')}]",
    "prim::ListConstruct": _Printer.list_of,
}


def _consumed(node: Node, inlined: set[Node]) -> set[Node]:
    """The inlined nodes whose text is part of the expression of `node`."""
    found: set[Node] = set()
    stack = [v.node() for v in node.inputs()]
    while stack:
        inner = stack.pop()
        if inner in inlined and inner not in found and not is_constant(inner):
            found.add(inner)
            stack += [v.node() for v in inner.inputs()]
    return found


def _order_matters(node: Node) -> bool:
    """Whether a node writes to a tensor (`add_`), has another side effect, or is random."""
    schema = node.schema()
    writes = schema is not None and schema.is_mutable
    return writes or node.kind().endswith("_") or node.hasSideEffects() or node.isNondeterministic()


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
