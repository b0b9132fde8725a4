"""Bytecode: the instructions that a graph is compiled to (`torch/csrc/jit/runtime/instruction.h`,
`interpreter/code_impl.h`).

A `Code` is a flat list of instructions and the tables they refer to: constants, operators,
functions, types. Values live in numbered registers, from 1 on; operators pop their arguments off a
value stack and push their results. So `x + x * y` is

    0 STOREN 1 2     pop the two arguments into registers 1 and 2
    1 LOAD 1         push x
    2 LOAD 1         push x
    3 MOVE 2         push y, and clear its register: y is not needed any more
    4 OP 0           aten::mul pops two values and pushes one
    5 LOADC 0        push the constant 1, add's alpha
    6 OP 1           aten::add
    7 RET

`MOVE` keeps a script from holding dead tensors: their last reader clears the register. Every value
of the graph has a register of its own, which is not used for another value. In a loop, each turn
writes it anew, so `register_size` grows with the graph, not with the length of the run.

How the real one differs: an instruction is eight bytes; a few more opcodes serve profiling and
mobile runtimes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from internals.jit.ir import Graph, Node, Value

from .program import Program, link

# What X and N of an instruction mean: O operator, R register, C constant, P jump distance, F
# function, T type, S slot, I number. The names and letters are PyTorch's.
OPCODES: dict[str, tuple[str, str]] = {
    "OP": ("O", "call operator X"),
    "OPN": ("OI", "call operator X with N arguments"),
    "LOAD": ("R", "push the value of register X"),
    "MOVE": ("R", "push the value of register X and clear the register"),
    "STOREN": ("RI", "pop N values into registers X to X + N - 1"),
    "STORE": ("R", "pop a value into register X"),
    "DROP": ("", "pop a value"),
    "DROPR": ("R", "clear register X"),
    "LOADC": ("C", "push constant X"),
    "JF": ("P", "pop a value; if it is false, jump X ahead"),
    "JMP": ("P", "jump X ahead"),
    "LOOP": ("PI", "begin the next turn of a loop with N inputs, or leave it by jumping X ahead"),
    "RET": ("", "return what is on the stack"),
    "WAIT": ("", "pop a future, push its value"),
    "CALL": ("F", "call function X"),
    "GET_ATTR": ("S", "pop an object, push the attribute in its slot X"),
    "SET_ATTR": ("S", "pop a value and an object, store the one in slot X of the other"),
    "LIST_UNPACK": ("I", "pop a list, push its X elements"),
    "TUPLE_CONSTRUCT": ("I", "pop X values, push a tuple of them"),
    "NAMED_TUPLE_CONSTRUCT": ("TI", "pop N values, push a named tuple of type X"),
    "LIST_CONSTRUCT": ("TI", "pop N values, push a list of type X"),
    "DICT_CONSTRUCT": ("TI", "pop N keys and values in turn, push a dict of type X"),
    "ISINSTANCE": ("TI", "pop a value, push whether it is of one of the N types from X on"),
    "TUPLE_SLICE": ("II", "pop a tuple, push its N elements from X on"),
    "TUPLE_INDEX": ("", "pop an index and a tuple, push that element"),
    "RAISE_EXCEPTION": ("", "raise what the script raises"),
    "DICT_INDEX": ("", "pop a key and a dict, push the value"),
    "UNCHECKED_CAST": ("", "nothing: only the type is another"),
    "__IS__": ("", "pop two values, push whether they are the same object"),
    "UN_INITIALIZED": ("", "push a value that will not be looked at"),
    "__ISNOT__": ("", "pop two values, push whether they are different objects"),
    "FORMAT": ("I", "pop a string and its X - 1 arguments, push the formatted string"),
    "DEVICE": ("", "pop a tensor, push its device"),
    "DTYPE": ("", "pop a tensor, push its dtype"),
    "DIM": ("", "pop a tensor, push its number of dimensions"),
    "__NOT__": ("", "pop a bool, push its contrary"),
    "TO_LIST": ("", "pop a tensor, push its elements as a list"),
    "NUM_TO_TENSOR": ("", "pop a number, push a tensor of it"),
    "IS_CUDA": ("", "pop a tensor, push whether it is on a GPU"),
    "FORK": ("CN", "start function X with N arguments in a thread, push a future"),
    "WARN": ("I", "pop a message, warn"),
    "ENTER": ("EN", "pop a context manager, enter it, push what it gives"),
    "EXIT": ("EX", "pop a context manager, leave it"),
}


class Instruction(NamedTuple):
    """One instruction: an opcode, and two operands, X and N, explained in `OPCODES`."""

    op: str
    X: int = 0
    N: int = 0

    def __str__(self) -> str:
        operands = (self.X, self.N)[: len(OPCODES[self.op][0])]
        return " ".join([self.op, *map(str, operands)])


class Operation(NamedTuple):
    """An entry of the operator table: the operator's name, its function, and the numbers of values
    that it pops and pushes.
    """

    name: str
    function: Callable[..., Any]
    num_inputs: int
    num_outputs: int


@dataclass
class Code:
    """The instructions of one graph. `source[pc]` is the node that instruction `pc` belongs to.

    `operations[pc]` is the operation of an instruction that computes; None for one that moves
    values or jumps.
    """

    graph: Graph
    name: str
    instructions: list[Instruction] = field(default_factory=list)
    source: list[Node] = field(default_factory=list)
    operations: list[Operation | None] = field(default_factory=list)
    constant_table: list[Any] = field(default_factory=list)
    operator_table: list[Operation] = field(default_factory=list)
    function_table: list[Any] = field(default_factory=list)
    type_table: list[Any] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    @property
    def register_size(self) -> int:
        """The number of registers. They are numbered from 1; register `r` is for the graph's value
        `values[r - 1]`.
        """
        return len(self.values)

    @property
    def register_names(self) -> list[str]:
        """The names of the values, in the order of the registers."""
        return [v.debugName() for v in self.values]

    @cached_property
    def program(self) -> Program:
        """The instructions tied together (`program.py`), which run unless you step through them."""
        return link(self)

    @property
    def n_inputs(self) -> int:
        return len(self.graph.inputs())

    @property
    def n_outputs(self) -> int:
        return len(self.graph.outputs())

    def line(self, pc: int) -> str:
        """The line of instruction `pc` in the listing; operators and calls are followed by their
        node.
        """
        instruction = self.instructions[pc]
        text = f"{pc} {instruction}"
        return (
            f"{text} # {str(self.source[pc]).strip()}"
            if instruction.op in ("OP", "OPN", "CALL")
            else text
        )

    def listing(self) -> str:
        """The instructions, one a line."""
        return "".join(f"{self.line(pc)}\n" for pc in range(len(self.instructions)))

    def __str__(self) -> str:
        return f"{self.graph}\n{self.listing()}"

    __repr__ = __str__
