"""The compiler from graphs to instructions (`torch/csrc/jit/runtime/interpreter/code_impl.h`).

Nodes are visited in order. For each, the instructions push its inputs, run its operation, and store
its outputs in registers:

    x + y                LOAD x, LOAD y, LOADC 1, OP aten::add, STORE
    if c: A else: B      c, JF else, A, JMP end, else: B, end: STORE
    for i in range(n)    LOADC 0, n, true, carried..., loop: LOOP end, STOREN i carried..., body,
                         condition, carried..., JMP loop, end: STORE

A block leaves its outputs on the stack, so at `end` the stack is the same after both arms of an If.
`LOOP` keeps two numbers on the stack below the condition: the turns taken so far, and the trip
count.

How the real one differs: the instructions are the same, one by one
(tests/jit/runtime/test_interpreter.py compares them with those that PyTorch writes for mobile
phones); it deduplicates operators by name, here by function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.jit.ir import Block, FunctionType, Graph, Node, TupleType, Value
from internals.jit.ir.constants import constant_of

from .code import Code, Instruction, Operation
from .node_functions import function_of
from .preprocess import preprocess

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

# Nodes with an opcode of their own, without operands.
PLAIN_OPCODES = {
    "prim::RaiseException": "RAISE_EXCEPTION",
    "prim::TupleIndex": "TUPLE_INDEX",
    "prim::Uninitialized": "UN_INITIALIZED",
    "prim::dtype": "DTYPE",
    "prim::device": "DEVICE",
    "aten::dim": "DIM",
    "prim::is_cuda": "IS_CUDA",
    "aten::__not__": "__NOT__",
    "aten::__is__": "__IS__",
    "aten::__isnot__": "__ISNOT__",
    "prim::NumToTensor": "NUM_TO_TENSOR",
    "prim::tolist": "TO_LIST",
    "prim::Enter": "ENTER",
    "prim::Exit": "EXIT",
}


def compile_graph(graph: Graph, name: str = "") -> Code:
    """The instructions for `graph`. Raises RuntimeError for a node of a kind that is neither an
    operator nor known here.
    """
    return Compiler(graph, name).compile()


class Compiler:
    """The compilation of one graph. `inline` has the nodes that are evaluated in place, as an input
    of another, without a register (`preprocess.py`).
    """

    def __init__(self, graph: Graph, name: str) -> None:
        graph, self.inline = preprocess(graph)
        self.code = Code(graph, name)
        self.register: dict[Value, int] = {}
        self.constant: dict[Value, int] = {}  # index in the constant table
        self.reads: dict[Value, int] = {}  # the uses pushed so far: the last one is a MOVE
        self.node = graph.param_node()  # the node that new instructions belong to
        self.emitters: dict[str, Callable[[Node], None]] = {
            "prim::Constant": self.emit_constant,
            "prim::Drop": self.emit_drop,
            "prim::If": self.emit_if,
            "prim::Loop": self.emit_loop,
            "prim::CallFunction": self.emit_call_function,
            "prim::CallMethod": self.emit_call_method,
            "prim::GetAttr": lambda n: self.put_for(n, "GET_ATTR", slot(n)),
            "prim::SetAttr": lambda n: self.put_for(n, "SET_ATTR", slot(n)),
            "prim::TupleConstruct": self.emit_tuple_construct,
            "prim::ListConstruct": lambda n: self.put_for(
                n, "LIST_CONSTRUCT", self.add_types([n.output().type()]), n.inputsSize()
            ),
            "prim::DictConstruct": lambda n: self.put_for(
                n, "DICT_CONSTRUCT", self.add_types([n.output().type()]), n.inputsSize()
            ),
            "prim::ListUnpack": lambda n: self.put_for(n, "LIST_UNPACK", n.outputsSize()),
            "prim::TupleSlice": lambda n: self.put_for(
                n, "TUPLE_SLICE", n.i("beg"), n.i("end") - n.i("beg")
            ),
            "prim::isinstance": self.emit_isinstance,
            "prim::fork": self.emit_fork,
            "aten::wait": lambda n: self.put_for(n, "WAIT"),
            "aten::warn": lambda n: self.put_for(
                n, "WARN", n.i("warn_id") if n.hasAttribute("warn_id") else -1
            ),
            "aten::format": lambda n: self.put_for(n, "FORMAT", n.inputsSize()),
        }

    def compile(self) -> Code:
        self.emit_block(self.code.graph.block())
        self.put("RET")
        return self.code

    # Blocks, nodes, values

    def emit_block(self, block: Block) -> None:
        """Store the inputs of a block, run its nodes, and leave its outputs on the stack."""
        self.node = block.paramNode()
        self.store(block.inputs())
        for node in block.nodes():
            if node not in self.inline:
                self.emit(node)
                self.node = node
                if node.kind() != "prim::Constant":
                    self.store(node.outputs())
        self.node = block.returnNode()
        self.load(block.outputs())

    def emit(self, root: Node) -> None:
        """Emit the instructions that leave the outputs of `root` on the stack, including the nodes
        that are evaluated in place for it.
        """
        for node, value in self.tree(root):
            self.node = node
            if value is not None:
                self.push(value)
                continue
            emitter = self.emitters.get(node.kind())
            if emitter is not None:
                emitter(node)
            else:
                self.emit_operation(node)

    def tree(self, root: Node) -> list[tuple[Node, Value | None]]:
        """The steps to emit, in order: (node, input of it to push), or (node, None) to run the node
        when all its inputs are pushed.

        It is a list, rather than recursion, as a chain may be thousands of nodes long.
        """
        order: list[tuple[Node, Value | None]] = []
        waiting: list[tuple[Node, Value | None]] = [(root, None)]
        while waiting:
            node, value = waiting.pop()
            if value is None:
                # built backwards: a node comes before its inputs, and the last input first
                order.append((node, None))
                waiting += [(node, v) for v in self.inputs_to_push(node)]
            elif value.node() in self.inline:
                waiting.append((value.node(), None))
            else:
                order.append((node, value))
        return order[::-1]

    def inputs_to_push(self, node: Node) -> Sequence[Value]:
        """The inputs that must be on the stack for a node. That of a call does not include the
        function; a Drop pushes nothing, and `emit_loop` pushes for itself.
        """
        kind = node.kind()
        if kind in ("prim::Constant", "prim::Drop", "prim::Loop", "prim::Uninitialized"):
            return ()
        return node.inputs()[1:] if kind == "prim::CallFunction" else node.inputs()

    def push(self, value: Value) -> None:
        """LOADC for a constant; MOVE for the last use of a value; LOAD for others."""
        if value.isConstant():
            self.put("LOADC", self.constant[value])
            return
        self.reads[value] = reads = self.reads.get(value, 0) + 1
        self.put("MOVE" if reads == len(value.uses()) else "LOAD", self.register[value])

    def load(self, values: Sequence[Value]) -> None:
        """Push values, in order."""
        node = self.node
        for value in values:
            if value.node() in self.inline:
                self.emit(value.node())
                self.node = node
            else:
                self.push(value)

    def store(self, values: Sequence[Value]) -> None:
        """Give values the next registers, and pop them into these."""
        if not values:
            return
        first = self.code.register_size + 1
        for value in values:
            self.code.values.append(value)
            self.register[value] = self.code.register_size
        if len(values) == 1:
            self.put("STORE", first)
        else:
            self.put("STOREN", first, len(values))

    def put(self, op: str, X: int = 0, N: int = 0, operation: Operation | None = None) -> int:
        """Append an instruction; returns its number."""
        code = self.code
        code.instructions.append(Instruction(op, X, N))
        code.source.append(self.node)
        code.operations.append(operation)
        return len(code.instructions) - 1

    def put_for(self, node: Node, op: str, X: int = 0, N: int = 0) -> None:
        """Append an instruction that runs the operation of `node`."""
        self.put(op, X, N, self.operation(node))

    def jump_here(self, pc: int) -> None:
        """Let the jump at `pc` go to the next instruction."""
        at = self.code.instructions[pc]
        self.code.instructions[pc] = at._replace(X=len(self.code.instructions) - pc)

    # One method for each kind of node

    def emit_constant(self, node: Node) -> None:
        if not isinstance(node.output().type(), FunctionType):
            self.constant[node.output()] = self.add_constant(constant_of(node.output()))

    def add_constant(self, value: Any) -> int:
        self.code.constant_table.append(value)
        return len(self.code.constant_table) - 1

    def emit_operation(self, node: Node) -> None:
        """Emit an operator, or a node with an opcode of its own without operands."""
        operation = self.operation(node)
        if node.kind() in PLAIN_OPCODES:
            self.put(PLAIN_OPCODES[node.kind()], operation=operation)
            return
        if operation.name.startswith("aten::__getitem__.Dict"):
            self.put("DICT_INDEX", operation=operation)
            return
        table = self.code.operator_table
        if operation not in table:
            table.append(operation)
        schema = node.schema()
        if schema is not None and getattr(schema, "is_vararg", False):
            self.put("OPN", table.index(operation), operation.num_inputs, operation)
        else:
            self.put("OP", table.index(operation), operation=operation)

    def operation(self, node: Node) -> Operation:
        """The operation of a node, by the name of its overload."""
        schema = node.schema()
        name = (
            node.kind()
            if schema is None or not schema.overload_name
            else f"{schema.name}.{schema.overload_name}"
        )
        return Operation(
            name, function_of(node), len(self.inputs_to_push(node)), node.outputsSize()
        )

    def emit_drop(self, node: Node) -> None:
        """Clear the registers of dead values; a value still on the stack is popped."""
        for value in node.inputs():
            if value.node() in self.inline:
                self.emit(value.node())
                self.put("DROP")
            elif not value.isConstant():
                self.put("DROPR", self.register[value])

    def emit_if(self, node: Node) -> None:
        """JF to the second arm, the first arm, JMP to the end, the second arm."""
        then, otherwise = node.blocks()
        to_else = self.put("JF")  # where it jumps to is known only after the arm
        self.emit_block(then)
        self.node = node
        to_end = self.put("JMP")
        self.jump_here(to_else)
        self.emit_block(otherwise)
        self.jump_here(to_end)
        self.node = node

    def emit_loop(self, node: Node) -> None:
        """Push the turns taken, the trip count, the condition and the carried values; then the
        body.
        """
        self.put("LOADC", self.add_constant(0))  # no turn taken yet
        self.load(node.inputs())
        begin = self.put("LOOP", 0, node.inputsSize())
        self.emit_block(node.blocks()[0])
        self.node = node
        self.put("JMP", begin - len(self.code.instructions))
        self.jump_here(begin)

    def emit_call_function(self, node: Node) -> None:
        callee = node.input(0).type()
        assert isinstance(callee, FunctionType)
        self.emit_call(node, callee.function)

    def emit_call_method(self, node: Node) -> None:
        self.emit_call(node, node.input(0).type().getMethod(node.s("name")))  # type: ignore[attr-defined]

    def emit_call(self, node: Node, function: ScriptFunction) -> None:
        self.code.function_table.append(function)
        self.put_for(node, "CALL", len(self.code.function_table) - 1)

    def emit_tuple_construct(self, node: Node) -> None:
        type = node.output().type()
        if isinstance(type, TupleType) and type.names is not None:
            self.put_for(node, "NAMED_TUPLE_CONSTRUCT", self.add_types([type]), node.inputsSize())
        else:
            self.put_for(node, "TUPLE_CONSTRUCT", node.inputsSize())

    def add_types(self, types: Sequence[Any]) -> int:
        """Append types to the type table; returns the index of the first."""
        self.code.type_table += types
        return len(self.code.type_table) - len(types)

    def emit_isinstance(self, node: Node) -> None:
        types = node.tys("types")
        self.put_for(node, "ISINSTANCE", self.add_types(types), len(types))

    def emit_fork(self, node: Node) -> None:
        self.code.function_table.append(node.g("Subgraph"))
        self.put_for(node, "FORK", len(self.code.function_table) - 1, node.inputsSize())


def slot(node: Node) -> int:
    """The number of the attribute among those of the object's class."""
    return list(node.input(0).type().attributes).index(node.s("name"))  # type: ignore[attr-defined]
