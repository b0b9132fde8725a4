"""The parser of graphs: from text back to a graph (`torch/csrc/jit/ir/irparser.cpp`).

    g = parse_ir('''
    graph(%x : Tensor, %n : int):
      %y : Tensor = aten::mul(%x, %n)
      return (%y)
    ''')

It reads the text of `str(graph)`, of this library or of PyTorch, with the numbers and names of
values, scopes, source positions and the graphs of fusion groups, so that `str(parse_ir(str(g))) ==
str(g)`. The shorthand of a hand-written graph is accepted too: a value without a type is a Tensor,
a node without outputs needs no `=`, and indentation does not matter.

The grammar of nodes is in this file, that of types in `type_parser.py`, of attributes in
`literal_parser.py`.

How the real one differs: it drops names, numbers, scopes and source positions, reads neither the
graphs of groups nor the types of modules, and lets one arm of an If use a value of the other.
"""

from __future__ import annotations

import itertools
import re
from collections import ChainMap

from internals.core.source_range import Source, SourceRange
from internals.core.token_reader import END, IDENT, VALUE, Token, TokenReader

from .block import Block
from .class_type import ClassType
from .graph import Graph
from .literal_parser import LiteralParser
from .node import Node
from .type_parser import TypeParser
from .types import Type
from .value import Value

_SCOPE = re.compile(r"[^\n]*?(?=\s*(?:#|\n|$))")  # up to the comment or the end of the line
_SCALARS = re.compile(r"\s*\((.*?)\)(?=\s*\()")  # `(1, 'a')` in `^Name(1, 'a')(%x)`
_GROUP = re.compile(r"(.+)_(\d+)$")  # `prim::FusionGroup_0`
_POSITION = re.compile(r"(.+):(\d+):(\d+)$")  # `file.py:3:8`


def parse_ir(input: str, parse_tensor_constants: bool = False) -> Graph:
    """The graph whose text is `input`. `torch._C.parse_ir` has the same signature.

    Tensors in the text are read only with `parse_tensor_constants`, because the text may have their
    elements rounded, or not at all. Raises RuntimeError, with line and column, where the text is
    not that of a graph.
    """
    parser = GraphParser(input, parse_tensor_constants)
    graph = parser.graph()
    if parser.reader.current.kind != END:
        raise parser.reader.expected("the end of the text")
    return graph


class GraphParser:
    """Reads graphs from one text; they share the class types that it names."""

    def __init__(self, text: str, tensors: bool = False) -> None:
        self.reader = TokenReader(text, "<graph>")
        self.classes: dict[str, ClassType] = {}
        self.types = TypeParser(self.reader, in_graph=True, classes=self.classes)
        self.literals = LiteralParser(self.reader, self.types, tensors)

    def graph(self) -> Graph:
        self.reader.expect("graph")
        return OneGraph(self).read()


class OneGraph:
    """Reads one graph, with the groups that follow it.

    `values` is passed along from block to block: a ChainMap from names to values, to which each
    block adds a layer, so that its names are not seen outside.
    """

    def __init__(self, parser: GraphParser) -> None:
        self.parser, self.reader = parser, parser.reader
        self.graph = Graph()
        self.numbers: dict[int, Value] = {}  # values shown as a number, like %3
        self.unnumbered: list[Value] = []  # those with a name
        self.groups: list[Node] = []  # nodes whose graph follows in the text

    def read(self) -> Graph:
        """Reads from the inputs to the `return`, and then the graphs of its groups."""
        values: ChainMap[str, Value] = ChainMap()
        self._block_inputs(self.graph.block(), values)
        self._nodes(self.graph.block(), values, "return")
        self._number_values()
        for node in self.groups:
            self._group(node)
        return self.graph

    # Blocks

    def _block_inputs(self, block: Block, values: ChainMap[str, Value]) -> None:
        for token, type in self.reader.items("(", ",", ")", self._typed_value):
            self._define(block.addInput(), token, type, values)
        self.reader.expect(":")

    def _nodes(self, block: Block, values: ChainMap[str, Value], closing: str) -> None:
        """The nodes of a block and its outputs, which come after `closing`."""
        while not self.reader.accept(closing):
            self._node(block, values)
        for v in self.reader.items("(", ",", ")", lambda: self._use(values)):
            block.registerOutput(v)

    # Nodes

    def _node(self, block: Block, values: ChainMap[str, Value]) -> None:
        reader = self.reader
        outputs: list[tuple[Token, Type | None]] = []
        if reader.current.kind == VALUE:
            outputs = [self._typed_value()]
            while reader.accept(","):
                outputs.append(self._typed_value())
            reader.expect("=")
        else:
            reader.accept("=")
        node = self.graph.create(self._kind(), (), 0)
        # the type of a constant's output, which says how to read its value
        constant = outputs[0][1] if node.kind() == "prim::Constant" and len(outputs) == 1 else None
        if reader.at("["):
            reader.items("[", ",", "]", lambda: self._attribute(node, constant))
        if node.kind().startswith("^"):
            written = reader.raw(_SCALARS, "the Python arguments in parentheses").strip()[1:-1]
            node.ss_("scalar_args", written.split(", ") if written else [])
        for v in reader.items("(", ",", ")", lambda: self._use(values)):
            node.addInput(v)
        self._origin(node)
        for token, type in outputs:  # after the inputs, which may have the same names
            self._define(node.addOutput(), token, type, values)
        block.appendNode(node)
        while reader.at(f"block{len(node.blocks())}") and reader.lookahead().text == "(":
            reader.next()
            inner, inside = node.addBlock(), values.new_child()
            self._block_inputs(inner, inside)
            self._nodes(inner, inside, "->")

    def _kind(self) -> str:
        """`aten::add`, `^PythonName`, or `prim::FusionGroup_0`, whose graph follows."""
        reader = self.reader
        if reader.accept("^"):
            return "^" + reader.expect_kind(IDENT).text
        name = reader.expect_kind(IDENT).text
        reader.expect(":")
        reader.expect(":")
        return f"{name}::{reader.expect_kind(IDENT).text}"

    def _attribute(self, node: Node, constant: Type | None) -> None:
        name = self.reader.expect_kind(IDENT).text
        self.reader.expect("=")
        self.parser.literals.set_attribute(node, name, constant)

    def _origin(self, node: Node) -> None:
        """Reads scope and source position at the end of the node's line:
        `, scope: __module.fc # file.py:3:8`. Notes a group whose graph may follow.
        """
        reader = self.reader
        if reader.at(",") and reader.lookahead().text == "scope":
            for sign in (",", "scope", ":"):
                reader.expect(sign)
            node.setScope(reader.raw(_SCOPE, "a scope").strip())
        position = _POSITION.match(reader.comment())
        if position:
            file, line, column = position.groups()
            node.setSourceRange(SourceRange(Source("", file, int(line), int(column)), 0, 0))
        group = _GROUP.match(node.kind())
        if group and int(group[2]) == len(self.groups):
            self.groups.append(node)

    # Values

    def _typed_value(self) -> tuple[Token, Type | None]:
        token = self.reader.expect_kind(VALUE)
        return token, self.parser.types.parse().type if self.reader.accept(":") else None

    def _define(
        self, value: Value, token: Token, type: Type | None, values: ChainMap[str, Value]
    ) -> None:
        name = token.text[1:]  # without the `%`
        if type is not None:
            value.setType(type)
        if not name.isdigit():
            value.setDebugName(name)
        if name.isdigit() and int(name) not in self.numbers:
            self.numbers[int(name)] = value
        else:
            self.unnumbered.append(value)
        values[name] = value

    def _use(self, values: ChainMap[str, Value]) -> Value:
        token = self.reader.expect_kind(VALUE)
        found = values.get(token.text[1:])
        if found is None:
            raise self.reader.error(f"Cannot find a variable with name '{token.text[1:]}'", token)
        return found

    def _number_values(self) -> None:
        """Give each value its number: the one it is shown as, or the next unused one."""
        free = (n for n in itertools.count() if n not in self.numbers)
        self.numbers.update(zip(free, self.unnumbered))
        for number, value in self.numbers.items():
            value._unique = number
        self.graph._uniques = max(self.numbers, default=-1) + 1

    # Groups

    def _group(self, node: Node) -> None:
        """The graph of a group, if it follows: `with prim::FusionGroup_0 = graph(...)`."""
        reader = self.reader
        if (
            not reader.at("with")
            or "".join(self.reader.text[reader.lookahead().start :].split(None, 1)[:1])
            != node.kind()
        ):
            return
        reader.next()
        self._kind()
        reader.expect("=")
        node._kind = node.kind().rpartition("_")[0]
        node.g_("Subgraph", self.parser.graph())
