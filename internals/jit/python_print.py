"""A graph as Python source: `fn.code`, `module.code`
(`torch/csrc/jit/serialization/python_print.cpp`).

    def f(x: Tensor,
        n: int) -> Tensor:
      x0 = x
      for i in range(n):
        x0 = torch.add(x0, i)
      return x0

The text is TorchScript, which the compiler can read back: an archive of `jit.save` contains it in
place of the graph. A value is assigned to a name if it had one in the source, is used more than
once, or would make a line too long; all others are written inside the expression that uses them
(`python_inlining.py`, `python_expressions.py`). The variables that a loop carries are assigned
before it, and again at the end of its body; an `if` assigns its outputs in both arms.

Archives contain whole classes with everything they depend on:
`internals/serialization/script/class_printer.py` derives from this printer, and overrides `spell`,
which writes types, and `visit`, which is called with every node.

How the real one differs: it also records the source range that each piece of the text comes from.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals.jit.ir import (
    Block,
    FunctionType,
    Graph,
    ListType,
    Node,
    OptionalType,
    Type,
    Value,
    base_name,
)

from .passes.pack_convolutions import without_packed_groups
from .python_expressions import Expressions
from .python_inlining import constants_in_order, inlined_nodes, is_constant
from .schema import Argument, FunctionSchema
from .script_function import schema_of_graph

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

LONG_LINE = 40  # columns; a longer expression gets a line of its own
FOREVER = 2**63 - 1  # the trip count of a while loop

# names that variables must not have, because they mean something in the text
RESERVED = {
    "_", "as", "aten", "attribute", "CONSTANTS", "fork", "getattr", "inf", "nan", "infj", "nanj",
    "ops", "__torch__", "uninitialized", "unchecked_cast", *keyword.kwlist,
}  # fmt: skip


def python_print(function: ScriptFunction) -> str:
    """The source of a compiled function or method."""
    return code_with_constants(function)[0]


def code_with_constants(function: ScriptFunction) -> tuple[str, list[Any]]:
    """The source, and the list of constants that are written `CONSTANTS.c0`, `CONSTANTS.c1`, ..."""
    printer = PythonPrinter()
    printer.function(
        function.name, function.graph, function.schema, first_type=not function.is_method
    )
    return printer.text(), printer.constants


class PythonPrinter:
    """Prints functions one after the other, with a common table of constants.

    Raises RuntimeError for a loop that is neither a `for` nor a `while` any more.
    """

    def __init__(self, constants: list[Any] | None = None) -> None:
        self.constants = constants if constants is not None else []
        self.lines: list[str] = []
        self.level = 0  # of indentation
        # a value has either a name or, if it is written where it is used, a text
        self.names: dict[Value, str] = {}
        self.inlined_text: dict[Value, str] = {}
        self.inlined: set[Node] = set()
        self.used: set[str] = set()  # names of this function
        self.next_suffix: dict[str, int] = {}
        self.seen_constants: set[Node] = set()
        self.annotated: set[Value] = set()
        self.split_at: dict[Node, int] = {}  # node -> the operand up to which lines are split off
        self.expressions = Expressions(self.use, self.constants, self.spell)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def spell(self, type: Type) -> str:
        """The text of a type; for the type of a function, the name of the function."""
        if isinstance(type, FunctionType):
            return str(type.function.qualified_name)
        return type.annotation_str

    def visit(self, node: Node) -> None:
        """Called with every node before it is printed; subclasses override it."""

    def function(
        self, name: str, graph: Graph, schema: FunctionSchema | None = None, first_type: bool = True
    ) -> None:
        """Print `graph` as the function `name`. For a method, with `first_type=False`, `self` is
        written without its type.
        """
        graph = without_packed_groups(graph)
        schema = schema or schema_of_graph(name, graph)
        self.used.clear()
        parameters = []
        for i, (argument, value) in enumerate(zip(schema.arguments, graph.inputs())):
            self.names[value] = shown = self.fresh(argument.name)
            if i or first_type:
                shown += f": {self.spell(argument.type)}"
                self.annotated.add(value)
            if argument.has_default_value():
                shown += f"={self.expressions.literal(_default(argument), argument.type)}"
            parameters.append(shown)
        returned = self.spell(schema.returns[0].type) if schema.returns else "NoneType"
        self.line(f"def {name}(" + ",\n    ".join(parameters) + f") -> {returned}:")
        self.body(graph.block())

    def body(self, block: Block) -> None:
        """Print the body of a function: the constants that need a line, the statements, the
        return.
        """
        constants = constants_in_order(block, self.seen_constants)
        self.inlined |= inlined_nodes(block)
        self.level += 1
        for node in constants:
            self.visit(node)
            self.assign_or_inline(node)
        self.block(block, has_more=bool(block.outputs()))
        self.visit(block.returnNode())
        if block.outputs():
            self.line(f"return {self.list(block.outputs())}")
        self.level -= 1

    def block(self, block: Block, has_more: bool) -> None:
        """Print the statements of a block, or `pass` if there are none and it does not have more
        lines.
        """
        nodes = list(block.nodes())
        if not nodes and not has_more:
            self.line("pass")
        for node in nodes:
            self.visit(node)
            if not is_constant(node):
                self.statement(node)

    # Statements

    def statement(self, node: Node) -> None:
        """Print a node as a statement, or keep its text if it is written where it is used."""
        kind = node.kind()
        if kind == "prim::If":
            self.if_(node)
        elif kind == "prim::Loop":
            self.loop(node)
        elif kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            self.name_all(node.outputs())
            targets = "".join(f"{self.use(v)}, " for v in node.outputs())
            self.line(f"{targets}{'= ' if targets else ''}{self.use(node.input())}")
        elif kind == "prim::SetAttr":
            self.line(f"{self.use(node.input(0))}.{node.s('name')} = {self.use(node.input(1))}")
        elif kind == "prim::fork":
            self.fork(node)
        elif kind == "prim::Enter":
            self.enter(node)
        elif kind == "prim::Exit":
            if node.prev().kind() == "prim::Enter":
                self.line("pass")
            self.level -= 1
        else:
            self.assign_or_inline(node)

    def if_(self, node: Node) -> None:
        """Print an `if`, both arms of which assign its outputs."""
        outputs = node.outputs()
        self.name_all(outputs)
        for head, block in zip((f"if {self.use(node.input())}:", "else:"), node.blocks()):
            self.line(head)
            self.level += 1
            self.block(block, has_more=bool(outputs))
            self.assign(outputs, block.outputs())
            self.level -= 1

    def loop(self, node: Node) -> None:
        """Print a `for` or a `while`."""
        is_for = is_for_loop(node)
        (body,) = node.blocks()
        counter, *carried = body.inputs()
        limit, condition, *initial = node.inputs()
        self.name_all(node.outputs())
        # in Python, a carried variable has one name, inside the loop and after it
        for inside, outside in zip(carried, node.outputs()):
            self.inlined_text[inside] = self.use(outside)
        for output, value in zip(node.outputs(), initial):
            annotation = (
                f": {self.spell(output.type())}" if self.needs_annotation(output, value) else ""
            )
            self.line(f"{self.use(output)}{annotation} = {self.use(value)}")
        self.name_all([counter])
        if is_for:
            self.line(f"for {self.use(counter)} in range({self.use(limit)}):")
        else:  # the counter is not used, so its name serves for the condition
            self.assign([counter], [condition])
            self.line(f"while {self.use(counter)}:")
        self.level += 1
        # the body's outputs are the next condition, which a `for` omits, and the carried values
        targets = carried if is_for else body.inputs()
        self.block(body, has_more=bool(targets))
        self.assign(targets, body.outputs()[int(is_for) :])
        self.level -= 1

    def fork(self, node: Node) -> None:
        """Print the subgraph as a function without arguments, which uses the variables around it,
        and the fork as a call.
        """
        name, graph = self.fresh("__forked_function"), node.g("Subgraph")
        self.line(f"def {name}():")
        for inside, outside in zip(graph.inputs(), node.inputs()):
            self.inlined_text[inside] = self.use(outside)
        self.body(graph.block())
        self.define(node, f"fork({name})")

    def enter(self, node: Node) -> None:
        """Print the line of a `with`; the following lines are indented until `prim::Exit`."""
        target = ""
        if node.output().uses():
            self.name_all(node.outputs())
            target = f" as {self.use(node.output())}"
        self.line(f"with {self.use(node.input())}{target}:")
        self.level += 1

    def assign_or_inline(self, node: Node) -> None:
        """Print `outputs = expression`, or keep the expression if it is inlined and short."""
        text = self.expressions.of(node)
        if node not in self.inlined or (is_constant(node) and self.is_long(text)):
            self.define(node, text)
            return
        self.inlined_text[node.output()] = text
        if self.is_long(text):
            self.split_before(node.output())

    def split_before(self, value: Value) -> None:
        """Give a long expression a line of its own, and also all expressions that are evaluated
        before it in the same statement: else the order would change.
        """
        found: list[Value] = []
        (use,) = value.uses()
        self.collect_earlier(use.user, use.offset, found)
        for v in reversed(found):
            self.define(v.node(), self.use(v))

    def collect_earlier(self, user: Node, offset: int, found: list[Value]) -> None:
        """Append the inlined operands of `user` up to number `offset` to `found`; if `user` is
        inlined itself, also the operands before it in its own user, and so on.
        """
        while True:
            was_here = user in self.split_at  # then its own users have been handled already
            for i in range(offset, self.split_at.get(user, -1), -1):
                node = user.input(i).node()
                if node in self.inlined and not is_constant(node):
                    found.append(user.input(i))
            self.split_at[user] = offset
            if was_here or user not in self.inlined:
                return
            (use,) = user.output().uses()
            user, offset = use.user, use.offset - 1

    def define(self, node: Node, text: str) -> None:
        """Print `outputs = text`, or `text` alone if there are no outputs."""
        self.name_all(node.outputs())
        self.line(f"{self.list(node.outputs())} = {text}" if node.outputs() else text)

    def assign(self, targets: Sequence[Value], values: Sequence[Value]) -> None:
        """Print `a, b = x, y`. A single target of an Optional type gets its annotation when it is
        first assigned, because the value alone would give it a narrower type.
        """
        if not targets:
            return
        shown = self.list(targets)
        if (
            len(targets) == 1
            and targets[0] not in self.inlined_text
            and isinstance(targets[0].type(), OptionalType)
        ):
            if targets[0] not in self.annotated:
                shown += f" : {self.spell(targets[0].type())}"
                self.annotated.add(targets[0])
        self.line(f"{shown} = {self.list(values)}")

    def needs_annotation(self, target: Value, value: Value) -> bool:
        """Whether the initial value of a carried variable does not give it its type."""
        if isinstance(target.type(), OptionalType):
            first = target not in self.annotated
            self.annotated.add(target)
            return first
        return target.type() != value.type()

    # Lines and names

    def line(self, text: str) -> None:
        self.lines.append("  " * self.level + text)

    def is_long(self, text: str) -> bool:
        return len(text) + 2 * self.level >= LONG_LINE

    def use(self, value: Value) -> str:
        """The text of a value: its name, or the expression that computes it."""
        return self.names[value] if value in self.names else self.inlined_text[value]

    def list(self, values: Sequence[Value]) -> str:
        return ", ".join(map(self.use, values))

    def name_all(self, values: Sequence[Value]) -> None:
        """Give each value a new name, like the one it has in the graph."""
        for v in values:
            self.names[v] = self.fresh(
                identifier(base_name(v.debugName())) if v.hasDebugName() else "_"
            )

    def fresh(self, candidate: str) -> str:
        """`candidate`, with a number appended if it is taken. The numbers continue from function to
        function.
        """
        name = candidate
        while name in self.used or name in RESERVED:
            n = self.next_suffix.get(name, 0)
            self.next_suffix[name] = n + 1
            name = f"{candidate}{n}"
        self.used.add(name)
        return name


def _default(argument: Argument) -> Any:
    """The default value of an argument; for `int[2] stride=1`, the list [1, 1]."""
    value = argument.default_value
    is_short = isinstance(argument.type, ListType) and isinstance(value, (int, float))
    return [value] * (argument.N or 1) if is_short else value


def identifier(name: str) -> str:
    """A name as a Python identifier: characters that are not allowed become underscores."""
    valid = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return f"_{valid}" if not valid or valid[0].isdigit() else valid


def is_for_loop(node: Node) -> bool:
    """Whether a loop is a `for` (it counts, and its condition is always True) or a `while` (it does
    not count). Raises RuntimeError for a loop that counts and has a condition.
    """
    limit, condition = node.inputs()[:2]
    (body,) = node.blocks()
    again = body.outputs()[0]
    always = all(v.isConstant() and v.toIValue() is True for v in (condition, again))
    counted = not limit.isConstant() or limit.toIValue() != FOREVER or bool(body.inputs()[0].uses())
    if not always and counted:
        raise RuntimeError(
            "loop cannot be printed as python because it has gone through an optimization that "
            "combined while and for loops"
        )
    return counted
