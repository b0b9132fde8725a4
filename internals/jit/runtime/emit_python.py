"""Emission of Python source from a graph, which is the fast executor.

    def f(x, n):
        y = x
        for i in range(n):
            y = y + x
        return y

Every node becomes a line, and every block is indented: a Loop is a `for` or a `while`, an If an
`if`. The overload of each operator was chosen when the graph was made, so a call goes straight to
the generated function of that overload (`aten_mm(x, w)`), without method lookup or parsing of
arguments. Where Python has an operator, that is used (`shortcuts.py`). A value that holds memory is
deleted in the line of its last use.

`emit(graph)` returns an `EmittedFunction`: `source`, the compiled `function`, and `nodes[line]`,
the node of each line of the source, by which an error is reported at its line of the script.

How the real one differs: PyTorch's executor is the interpreter; only FX runs Python code made from
a graph (`torch/fx/graph.py`), and its graphs have no control flow.
"""

from __future__ import annotations

import itertools
import linecache
import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from internals.jit.ir import Block, FunctionType, Graph, Node, Value, all_nodes, constant_of
from internals.jit.operators.c_math import INT_MAX, wrap

from .errors import raise_at
from .expressions import python_form
from .int_overflow import UncheckedInts, operator_name
from .naming import Naming, identifier
from .node_functions import function_of
from .preprocess import preprocess
from .shortcuts import Shortcut, is_number, shortcut

DEEPEST_EXPRESSION = 8  # nodes nested in the expression of one line
# names of the functions that write a result over an operand (`reuse.py`)
REUSE = {"+": "add_over", "-": "sub_over", "*": "mul_over"}
_number = itertools.count()


class TooDeep(Exception):
    """The blocks of the graph are nested deeper than Python can compile."""


class EmittedFunction:
    """The Python code of a graph, `source`, with the compiled `function`; `nodes` maps its lines
    (from 1) to nodes.
    """

    def __init__(
        self,
        name: str,
        source: str,
        nodes: dict[int, Node],
        variables: dict[str, Any],
        script_name: str,
    ) -> None:
        self.name, self.source, self.nodes, self.script_name = name, source, nodes, script_name
        self.filename = f"<emitted {name} {next(_number)}>"
        try:
            code = compile(source, self.filename, "exec")
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise TooDeep(f"Python cannot compile the code of {name}: {error}") from error
        exec(code, variables)
        self.function: Callable[..., Any] = variables[name]
        # so that tracebacks and debuggers show the emitted lines
        linecache.cache[self.filename] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            self.filename,
        )
        weakref.finalize(self, linecache.cache.pop, self.filename, None)

    def __call__(self, *args: Any) -> Any:
        """Run the function. An error is raised as the script's, with its line in the script."""
        try:
            return self.function(*args)
        except Exception as error:
            self.explain(error)
            raise

    def explain(self, error: Exception) -> None:
        """Raise `error`, which was raised inside `function`, as the script's error. Returns if the
        emitted code is not in its traceback.
        """
        tb = error.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename != self.filename:
            tb = tb.tb_next
        if tb is not None and tb.tb_lineno in self.nodes:
            raise_at(error, self.nodes[tb.tb_lineno], self.script_name)

    def node_at(self, line: int) -> Node | None:
        """The node of line `line` of the source; None for a line that belongs to no node, such as
        `def` or `else`.
        """
        return self.nodes.get(line)

    def __repr__(self) -> str:
        return self.source


def emit(graph: Graph, name: str = "") -> EmittedFunction:
    """The Python code for `graph`. Raises TooDeep if its blocks are nested deeper than Python can
    compile.
    """
    return Emitter(graph, name).emit()


class Emitter:
    """The emission of one graph.

    Before the first line it decides which nodes are evaluated `within` the expression of another,
    gives names to the functions called (`variables` are the globals of the code), and then to the
    values (`naming.py`).
    """

    def __init__(self, graph: Graph, name: str) -> None:
        self.script_name, self.name = name, identifier(name or "graph")
        self.graph, _ = preprocess(graph)
        self.ints = UncheckedInts(self.graph)
        self.shortcuts: dict[Node, Shortcut] = {}
        self.within: dict[Node, Node] = {}  # nested node → the node whose expression it is in
        self.depth: dict[Node, int] = {}  # levels of nesting in a node's expression
        self.find_expressions(self.graph.block())
        self.variables: dict[str, Any] = {"wrap": wrap}
        self.bound: dict[int, str] = {}  # id of a function or constant → its name
        self.functions: dict[Node, str] = {}  # the names of the functions that nodes call
        self.bind_functions(self.graph.block())
        self.naming = Naming(self.graph, self.within, {*self.variables, self.name})
        self.lines: list[str] = []
        self.nodes: dict[int, Node] = {}

    def emit(self) -> EmittedFunction:
        """Write the lines of the function, and compile them."""
        arguments = ", ".join(self.naming[v] for v in self.graph.inputs())
        self.lines.append(f"def {self.name}({arguments}):")
        self.emit_nodes(self.graph.block(), 1)
        results = ", ".join(map(self.use, self.graph.outputs()))
        self.put(self.graph.return_node(), 1, f"return {results}")
        source = "\n".join(self.lines) + "\n"
        return EmittedFunction(self.name, source, self.nodes, self.variables, self.script_name)

    # Before the first line: nested expressions, and the functions called

    def find_expressions(self, block: Block) -> None:
        """Nest arithmetic of numbers into the expression that uses it, if that is its only use, and
        in the same block.

        A property of a tensor (`x is None`) is nested only into the next node: later the tensor may
        have been deleted.
        """
        for node in all_nodes(block, inner_first=True):
            found = shortcut(node, self.ints.plain)
            if found is None:
                continue
            self.shortcuts[node] = found
            self.depth[node] = 1 + max(
                (self.depth.get(v.node(), 0) for v in found.inputs if v.node() in self.within),
                default=0,
            )
            # Only a number that is used once may be nested, and expressions stay readable.
            uses = node.output().uses()
            if (
                not found.scalar
                or len(uses) != 1
                or self.depth[node] >= DEEPEST_EXPRESSION
                or not is_number(node.output())
            ):
                continue
            user = uses[0].user
            only_numbers = all(self.is_harmless(v) for v in found.inputs)
            if user.owningBlock() is not node.owningBlock() or user.kind() == "prim::Drop":
                continue
            if only_numbers or (user is next_non_constant(node) and user.kind() != "prim::Loop"):
                self.within[node] = user

    def is_harmless(self, value: Value) -> bool:
        """Whether a value may be read later without a difference: it is a number or a constant, and
        not a nested expression that reads a tensor.
        """
        if value.node() in self.within:
            return all(self.is_harmless(v) for v in self.shortcuts[value.node()].inputs)
        return is_number(value) or value.isConstant()

    def bind_functions(self, block: Block) -> None:
        """Name the functions of all calls, and the constants that have no literal."""
        for node in all_nodes(block, inner_first=True):
            if node.kind() == "prim::Constant":
                value = (
                    None
                    if isinstance(node.output().type(), FunctionType)
                    else constant_of(node.output())
                )
                if literal(value) is None:
                    self.bind("constant", value)
            elif not (
                node.blocks()
                or node.kind() == "prim::Drop"
                or node in self.shortcuts
                or python_form(node)
            ):
                self.functions[node] = self.bind(
                    operator_name(node).replace("::", "_"), function_of(node)
                )

    def bind(self, name: str, value: object) -> str:
        """The name of the global variable that holds `value`: `name`, or `name_2`, ..."""
        known = self.bound.get(id(value))
        if known is None:
            name = base = identifier(name.replace("^", ""))
            for n in itertools.count(2):
                if name not in self.variables:
                    break
                name = f"{base}_{n}"
            known = self.bound[id(value)] = name
            self.variables[name] = value
        return known

    # Lines

    def put(self, node: Node, level: int, text: str) -> None:
        """Append a line for `node`, indented by `level`."""
        self.lines.append("    " * level + text)
        self.nodes[len(self.lines)] = node

    def emit_nodes(self, block: Block, level: int) -> None:
        for node in block.nodes():
            if node in self.within or node.kind() in ("prim::Constant", "prim::Drop"):
                continue
            if node.kind() == "prim::If":
                self.emit_if(node, level)
            elif node.kind() == "prim::Loop":
                self.emit_loop(node, level)
            else:
                self.emit_call(node, level)

    def emit_call(self, node: Node, level: int) -> None:
        used = [v for v in node.outputs() if not self.is_dropped(v)]
        targets = ", ".join(self.naming[v] for v in node.outputs()) if used else ""
        text = f"{targets} = {self.expression(node)}" if targets else self.expression(node)
        self.put(node, level, text + self.deletions(node))

    def emit_if(self, node: Node, level: int) -> None:
        """Emit an If; an empty `else` is omitted."""
        then, otherwise = node.blocks()
        self.put(node, level, f"if {self.use(node.input())}:")
        self.emit_arm(node, then, level + 1)
        if self.emit_arm(node, otherwise, level + 1, "    " * level + "else:") is None:
            self.lines.pop()
        self.delete_after(node, level)

    def emit_arm(self, node: Node, arm: Block, level: int, head: str = "") -> bool | None:
        """Emit an arm, below the line `head` if there is one. Returns None if an `else` is empty;
        the first arm, without a head, needs at least a `pass`.
        """
        if head:
            self.lines.append(head)
        before = len(self.lines)
        self.emit_nodes(arm, level)
        self.assign(arm.returnNode(), node.outputs(), arm.outputs(), level)
        if len(self.lines) > before:
            return True
        if head:
            return None
        self.put(node, level, "pass")
        return True

    def emit_loop(self, node: Node, level: int) -> None:
        """Emit a `for` if only the trip count ends the loop, a `while` if only the condition does,
        and a `for` with a `break` if both do.
        """
        (body,) = node.blocks()
        limit, condition, *starts = node.inputs()
        index, *carried = body.inputs()
        go_on, *ends = body.outputs()
        self.assign(node, carried, starts, level)
        # The trip count of a `while` is the largest int.
        counted = not (limit.isConstant() and constant_of(limit) == INT_MAX)
        asked = not (is_true(condition) and is_true(go_on))
        go = self.fresh("go_on") if asked else ""
        counter = "_" if self.is_dropped(index) else self.naming[index]
        if asked:
            self.put(node, level, f"{go} = {self.use(condition)}")
        if not counted and counter != "_":
            self.put(node, level, f"{counter} = 0")
        if counted:
            self.put(node, level, f"for {counter} in range({self.use(limit)}):")
        else:
            self.put(node, level, f"while {go or 'True'}:")
        if counted and asked:
            self.put(node, level + 1, f"if not {go}:")
            self.put(node, level + 2, "break")
        before = len(self.lines)
        self.emit_nodes(body, level + 1)
        extra = [(go, self.use(go_on))] if asked else []
        if not counted and counter != "_":
            extra.append((counter, f"{counter} + 1"))
        self.assign(body.returnNode(), carried, ends, level + 1, extra)
        if len(self.lines) == before:
            self.put(node, level + 1, "pass")
        self.finish_loop(node, carried, level)
        self.delete_after(node, level)

    def finish_loop(self, node: Node, carried: Sequence[Value], level: int) -> None:
        """Assign the values carried last to the outputs of the loop. Sums that were not checked
        inside it are wrapped to 64 bits.
        """
        for output, inside in zip(node.outputs(), carried):
            name, last = self.naming[output], self.naming[inside]
            if output in self.ints.wrap:
                self.put(node, level, f"{name} = wrap({last})")
            elif name != last:
                self.put(node, level, f"{name} = {last}")

    def assign(
        self,
        at: Node,
        targets: Sequence[Value],
        values: Sequence[Value],
        level: int,
        extra: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Emit one assignment for all targets, `a, b = b, a`: a value may be in a variable that
        another value is assigned to.
        """
        pairs = [(self.naming[t], self.use(v)) for t, v in zip(targets, values)]
        pairs = [(t, v) for t, v in pairs if t != v] + list(extra)
        if pairs:
            left, right = (", ".join(side) for side in zip(*pairs))
            kept = {self.naming[t] for t in targets}
            self.put(at, level, f"{left} = {right}{self.deletions(at, kept)}")

    # Expressions

    def expression(self, node: Node) -> str:
        """The right side of a node's line."""
        found = self.shortcuts.get(node)
        if found is not None:
            operands = [self.operand(v) for v in found.inputs]
            # An operand at its last use may be overwritten by the result, unless it is `x + x`.
            for function, v, other in zip(
                (found.into_first, found.into_second), found.inputs, reversed(found.inputs)
            ):
                if function and v is not other and self.may_delete(v) and self.last_user(v) is node:
                    return f"{self.bind(REUSE[found.symbol], function)}({', '.join(operands)})"
            return (
                f"{found.symbol} {operands[0]}"
                if len(operands) == 1
                else f" {found.symbol} ".join(operands)
            )
        inputs = [self.use(v) for v in node.inputs()[node.kind() == "prim::CallFunction" :]]
        form = python_form(node)
        if form is not None:
            return form(node, inputs)
        return f"{self.functions[node]}({', '.join(inputs)})"

    def use(self, value: Value) -> str:
        """A value as an expression: a literal, a variable, or for a nested node its expression."""
        if value.isConstant():
            constant = None if isinstance(value.type(), FunctionType) else constant_of(value)
            return literal(constant) or self.bind("constant", constant)
        return self.expression(value.node()) if value.node() in self.within else self.naming[value]

    def operand(self, value: Value) -> str:
        """A value as an operand, in parentheses if precedence could matter."""
        text = self.use(value)
        return f"({text})" if value.node() in self.within or text.startswith("-") else text

    # Memory

    def deletions(self, node: Node, kept: Iterable[str] = ()) -> str:
        """The text `; del x` for the values whose last use is `node`, except for the variables in
        `kept`, which the line has just assigned.
        """
        if node.kind() == "prim::Return" and node.owningBlock().owningNode() is None:
            return ""
        last = [
            v
            for v in dict.fromkeys(self.read_by(node))
            if self.may_delete(v) and self.last_user(v) is node
        ]
        # A variable may hold another value by then, which must not be deleted.
        after = self.naming.ends.get(node, self.naming.position[node])
        if node.kind() == "prim::Loop":
            after = self.naming.position[node]
        gone = [
            self.naming[v]
            for v in last
            if self.naming.holds(v, after) and self.naming[v] not in kept
        ]
        return f"; del {', '.join(gone)}" if gone else ""

    def delete_after(self, node: Node, level: int) -> None:
        """Emit a `del` for the values whose last use is inside a block of `node`."""
        drop = node.next()
        if drop.kind() != "prim::Drop":
            return
        at = self.naming.position[drop]
        gone = [
            self.naming[v] for v in drop.inputs() if self.may_delete(v) and self.naming.holds(v, at)
        ]
        if gone:
            self.put(node, level, f"del {', '.join(gone)}")

    def may_delete(self, value: Value) -> bool:
        """Whether the variable of a value is deleted after its last use: not for arguments, which
        the caller holds anyway, and not for numbers, whose memory is negligible.
        """
        return not (
            value.isConstant() or is_number(value) or value.node() is self.graph.param_node()
        ) and not self.is_dropped(value)

    def read_by(self, node: Node) -> list[Value]:
        """The values that the line of `node` reads, including those in nested expressions."""
        values = []
        for v in node.inputs():
            values += self.read_by(v.node()) if v.node() in self.within else [v]
        return values

    def last_user(self, value: Value) -> Node | None:
        """The node in whose line a value is used last; None if it is not used."""
        users = [self.naming.root(u.user) for u in value.uses()]
        return max(users, key=lambda n: self.naming.position[n], default=None)

    def is_dropped(self, value: Value) -> bool:
        """Whether the value is not used, except by a `prim::Drop`."""
        return all(u.user.kind() == "prim::Drop" for u in value.uses())

    def fresh(self, name: str) -> str:
        """A new variable for a value that is not in the graph, such as a loop's condition."""
        for n in itertools.count(2):
            if name not in self.naming.begins and name not in self.variables:
                self.naming.begins[name] = []
                return name
            name = f"{name.rpartition('_')[0] if n > 2 else name}_{n}"
        raise AssertionError


def next_non_constant(node: Node) -> Node:
    after = node.next()
    while after.kind() == "prim::Constant":
        after = after.next()
    return after


def literal(value: object) -> str | None:
    """The literal of a constant; None if it has none, like inf, or a tensor."""
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    return repr(value) if isinstance(value, float) and math.isfinite(value) else None


def is_true(value: Value) -> bool:
    return value.isConstant() and constant_of(value) is True
