"""Python source made from a graph: the fast executor.

    def f(x, n):
        y = x
        for i in range(n):
            y = y + x
        return y

Every node becomes a line, every block an indented one: a Loop is a `for` or a `while`, an If an
`if`. The overload of each operator was chosen when the graph was made, so a call goes straight to
the generated function of that overload (`aten_mm(x, w)`): no method is looked up, no argument
parsed. What Python writes with a single operator is written so (`shortcuts.py`). A value that holds
memory is deleted in the line of its last use.

`emit(graph)` gives an `EmittedFunction`: `source`, the compiled `function`, and `nodes[line]`, the
node behind each line of the source. With that an error in the code is told as an error in the
script.

How the real one differs: PyTorch never makes Python of a graph to run it; its executor is the
interpreter. FX does this (`torch/fx/graph.py`), for graphs without control flow.
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
from .int_overflow import PlainInts, operator_name
from .naming import Naming, identifier
from .node_functions import function_of
from .preprocess import preprocess
from .shortcuts import Shortcut, is_number, shortcut

DEEPEST_EXPRESSION = 8
REUSE = {"+": "add_over", "-": "sub_over", "*": "mul_over"}
_number = itertools.count()


class TooDeep(Exception):
    """The graph has more blocks inside each other than Python allows."""


class EmittedFunction:
    """`source` is the Python code of a graph, `function` what it compiles to, `nodes` maps its
    lines (from 1) to nodes.
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
        linecache.cache[self.filename] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            self.filename,
        )
        weakref.finalize(self, linecache.cache.pop, self.filename, None)

    def __call__(self, *args: Any) -> Any:
        """Run it. Raises what the script raises, with the place where it happened."""
        try:
            return self.function(*args)
        except Exception as error:
            self.explain(error)
            raise

    def explain(self, error: Exception) -> None:
        """Raise `error`, which came out of `function`, as the script's error. Returns if it came
        from elsewhere.
        """
        tb = error.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename != self.filename:
            tb = tb.tb_next
        if tb is not None and tb.tb_lineno in self.nodes:
            raise_at(error, self.nodes[tb.tb_lineno], self.script_name)

    def node_at(self, line: int) -> Node | None:
        """The node that line `line` of the source stands for; None for lines that only move
        values.
        """
        return self.nodes.get(line)

    def __repr__(self) -> str:
        return self.source


def emit(graph: Graph, name: str = "") -> EmittedFunction:
    """Python code for `graph`. Raises TooDeep when Python cannot have so many blocks inside each
    other.
    """
    return Emitter(graph, name).emit()


class Emitter:
    def __init__(self, graph: Graph, name: str) -> None:
        self.script_name, self.name = name, identifier(name or "graph")
        self.graph, _ = preprocess(graph)
        self.ints = PlainInts(self.graph)
        self.shortcuts: dict[Node, Shortcut] = {}
        self.within: dict[Node, Node] = {}
        self.depth: dict[Node, int] = {}
        self.find_expressions(self.graph.block())
        self.variables: dict[str, Any] = {"wrap": wrap}
        self.bound: dict[int, str] = {}
        self.functions: dict[Node, str] = {}
        self.bind_functions(self.graph.block())
        self.naming = Naming(self.graph, self.within, {*self.variables, self.name})
        self.lines: list[str] = []
        self.nodes: dict[int, Node] = {}

    def emit(self) -> EmittedFunction:
        arguments = ", ".join(self.naming[v] for v in self.graph.inputs())
        self.lines.append(f"def {self.name}({arguments}):")
        self.emit_nodes(self.graph.block(), 1)
        results = ", ".join(map(self.use, self.graph.outputs()))
        self.put(self.graph.return_node(), 1, f"return {results}")
        source = "\n".join(self.lines) + "\n"
        return EmittedFunction(self.name, source, self.nodes, self.variables, self.script_name)

    # Before the first line: what is evaluated where, and what is called

    def find_expressions(self, block: Block) -> None:
        """Arithmetic of numbers that is used once, in the same block, goes where it is used.

        So does a question about a tensor (`x is None`), if that is the next node: later the tensor
        may be gone.
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
        """Whether a value may just as well be read later: a number, and not one that is itself read
        off a tensor in place.
        """
        if value.node() in self.within:
            return all(self.is_harmless(v) for v in self.shortcuts[value.node()].inputs)
        return is_number(value) or value.isConstant()

    def bind_functions(self, block: Block) -> None:
        """Give a name to every function that will be called, and to constants that cannot be
        written out.
        """
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
        """The global variable that holds `value`, named like `name`."""
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
        then, otherwise = node.blocks()
        self.put(node, level, f"if {self.use(node.input())}:")
        self.emit_arm(node, then, level + 1)
        if self.emit_arm(node, otherwise, level + 1, "    " * level + "else:") is None:
            self.lines.pop()
        self.delete_after(node, level)

    def emit_arm(self, node: Node, arm: Block, level: int, head: str = "") -> bool | None:
        """The lines of an arm, below `head`. None if there are none; the first arm of an If needs
        at least a `pass`.
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
        """A `for` when the number of turns is known beforehand, a `while` when only the condition
        counts; a `for` with a `break` when both do."""
        (body,) = node.blocks()
        limit, condition, *starts = node.inputs()
        index, *carried = body.inputs()
        go_on, *ends = body.outputs()
        self.assign(node, carried, starts, level)
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
        """After the loop its outputs are what was carried last; sums that were let grow are cut to
        64 bits.
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
        """One assignment for all: a value may be in the variable that another one is about to go
        to.
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
        """A value as an expression: a literal, a variable, or the whole computation if it is not
        made before.
        """
        if value.isConstant():
            constant = None if isinstance(value.type(), FunctionType) else constant_of(value)
            return literal(constant) or self.bind("constant", constant)
        return self.expression(value.node()) if value.node() in self.within else self.naming[value]

    def operand(self, value: Value) -> str:
        text = self.use(value)
        return f"({text})" if value.node() in self.within or text.startswith("-") else text

    # Memory

    def deletions(self, node: Node, kept: Iterable[str] = ()) -> str:
        """`; del x` for what `node` is the last to use, unless it is in a variable that is
        `kept`.
        """
        if node.kind() == "prim::Return" and node.owningBlock().owningNode() is None:
            return ""
        last = [
            v
            for v in dict.fromkeys(self.read_by(node))
            if self.may_delete(v) and self.last_user(v) is node
        ]
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
        """A line for the values that are used for the last time somewhere inside `node`."""
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
        """Arguments belong to the caller, and numbers take no memory."""
        return not (
            value.isConstant() or is_number(value) or value.node() is self.graph.param_node()
        ) and not self.is_dropped(value)

    def read_by(self, node: Node) -> list[Value]:
        """The variables that the line of `node` reads, those in nested expressions included."""
        values = []
        for v in node.inputs():
            values += self.read_by(v.node()) if v.node() in self.within else [v]
        return values

    def last_user(self, value: Value) -> Node | None:
        users = [self.naming.root(u.user) for u in value.uses()]
        return max(users, key=lambda n: self.naming.position[n], default=None)

    def is_dropped(self, value: Value) -> bool:
        """Whether nobody uses the value."""
        return all(u.user.kind() == "prim::Drop" for u in value.uses())

    def fresh(self, name: str) -> str:
        """A variable that no value is in."""
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
    """How Python writes a constant; None if it has no such form."""
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    return repr(value) if isinstance(value, float) and math.isfinite(value) else None


def is_true(value: Value) -> bool:
    return value.isConstant() and constant_of(value) is True
