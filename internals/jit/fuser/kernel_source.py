"""From the steps of a group to the text of a kernel.

    def fused_sigmoid_mul_tanh_add(begin, end, y, x, out):
        for i in range(begin, end):
            n4 = y[i]
            n6 = x[i]
            n9 = sigmoid(n6)  # %9 : Tensor = aten::sigmoid(%6)
            n8 = n6 * n9  # %8 : Tensor = aten::mul(%6, %9)
            ...
            out[i] = n3

Where all operands lie in memory alike, one loop runs over them. Otherwise the elements are rows:
the innermost of the dimensions that are left after merging is a loop like that, in which an operand
advances by 1, by nothing (it is read once, before), or by a stride; the others say where each
operand's row begins:

        for row in range(begin // size1, (end + size1 - 1) // size1):
            x_row = row * x_stride0
            for j in range(max(begin - row * size1, 0), min(end - row * size1, size1)):

How many dimensions there are, and which of the three each operand does in a row, is part of the
text; sizes and strides are arguments.

How the real one differs: 1.0.1's kernels compute each operand's place from the linear index, with
divisions for each element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import BOOL, FLOATING, INTEGRAL, dtype

from .expressions import expression
from .functions import NAMES
from .names import Names
from .steps import Number, Piece, Read, Step
from .walk import Walk

WORDS = {
    dt.float32: "f4", dt.float64: "f8", dt.int64: "i8", dt.int32: "i4", dt.int16: "i2",
    dt.int8: "i1", dt.uint8: "u1", dt.bool_: "u1",
}  # fmt: skip
CONSTANTS = {
    "0": "zero",
    "1": "one",
    "2": "two",
    "3": "three",
    "6": "six",
    "0.5": "half",
    "-0.5": "minus_half",
    "-1": "minus_one",
}
MOST_LETTERS = 48


class KernelText(NamedTuple):
    """The text of a kernel and what its names mean.

    `functions` are those it calls: their name in the text, in the tables, and the dtype they are
    for. `code` is the text without comments: what decides whether two kernels are the same.
    `scratch` are the dtypes of the rows that it wants as scratch memory. `step_of_line` says of
    each line which step it does or stores, None for those that only walk over memory.
    """

    name: str
    text: str
    code: str
    signature: str
    functions: tuple[tuple[str, str, dtype], ...]
    scratch: tuple[dtype, ...] = ()
    step_of_line: tuple[Step | None, ...] = ()


class Body:
    """The lines of the steps, and the constants and functions they use; the same for every way of
    walking over memory.

    casts: functions whose result is to be converted to the dtype that is computed in.
    """

    def __init__(self, steps: Sequence[Step], names: Names, casts: Sequence[str] = ()) -> None:
        self.names, self.casts = names, casts
        self.constants: dict[tuple[str, dtype], str] = {}
        self.functions: dict[tuple[str, dtype], str] = {}
        self.lines = [self.line(step) for step in steps]

    def line(self, step: Step) -> tuple[str, str, Step]:
        """A statement, the node that it comes from, and the step."""
        if step.loop is None:
            value, target = step.operands[0]
            text = self.converted(value, target)
        else:
            text = self.filled(step)
            if step.dtype.category == INTEGRAL and step.dtype is not dt.int64:
                # small integers wrap around; in numba int32 + int32 is int64
                text = f"{step.dtype.name}({text})"
            elif step.common.category == BOOL and step.dtype is not dt.bool_:
                text = f"{step.dtype.name}({text})"
        return f"{step.name} = {text}", comment(step), step

    def filled(self, step: Step) -> str:
        """The expression of a step: operands, numbers, constants and functions put in."""
        common = step.common
        template, parameters = expression(step.loop, common)
        values = {k: self.operand(x, d) for k, (x, d) in zip(parameters, step.operands)}
        values.update((k, self.constant(v, common)) for k, v in step.numbers.items())
        text = template.format(**values)
        text = re.sub(r"\bT\(([-\w.]+)\)", lambda m: self.constant(_literal(m[1]), common), text)
        if any(f"{name}(" in text for name in self.casts):
            text = f"{cast(common)}({text})"
        return re.sub(r"\b([a-z_0-9]+)\(", lambda m: f"{self.function(m[1], common)}(", text)

    def operand(self, x: Read | Step, target: dtype) -> str:
        return (
            self.converted(x, target)
            if isinstance(x, (Read, Step, Number))
            else self.constant(x, target)
        )

    def converted(self, x: Read | Step, target: dtype) -> str:
        """A value in dtype `target`."""
        if isinstance(x, Number):
            return f"{x.name}" if number_word(x) == WORDS[target] else f"{cast(target)}({x.name})"
        if x.dtype is target:
            return str(x.name)
        if target is dt.bool_:
            return f"({x.name} != {self.constant(0, x.dtype)})"
        if x.dtype.category == FLOATING and target.category == INTEGRAL and target is not dt.int64:
            return f"{target.name}(int64({x.name}))"
        return f"{cast(target)}({x.name})"

    def constant(self, value: object, d: dtype) -> str:
        """The name of a constant, which is made before the loop."""
        text = _number_text(value, d)
        found = self.constants.get((text, d))
        if found is None:
            wanted = CONSTANTS.get(text, "c1")
            found = self.constants[text, d] = self.names.fresh(wanted)
        return found

    def function(self, name: str, d: dtype) -> str:
        if name not in NAMES:
            return name
        found = self.functions.get((name, d))
        if found is None:
            other = any(n == name for n, _ in self.functions)
            found = self.functions[name, d] = (
                self.names.fresh(f"{name}_{d.name}") if other else name
            )
        return found


def comment(step: Step) -> str:
    """The node of a step as the graph prints it, without the types: `%4 = aten::mul(%1, %2)`."""
    outputs, inputs = (
        ", ".join(f"%{v.debugName()}" for v in values)
        for values in (step.node.outputs(), step.node.inputs())
    )
    return f"{outputs} = {step.node.kind()}({inputs})"


def title(steps: Sequence[Step]) -> str:
    """A name for a kernel: what is done in it."""
    kinds = [step.node.kind().partition("::")[2] for step in steps]
    words = [k for k, before in zip(kinds, [None, *kinds]) if k != before]
    name = "_".join(("fused", *words)) if words else "fused_copy"
    return name if len(name) <= MOST_LETTERS else name[:MOST_LETTERS].rpartition("_")[0] + "_etc"


def cpu_text(
    steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number],
    pieces: Sequence[Piece], pointers: Sequence[str], walk: Walk, names: Names,
) -> KernelText:  # fmt: skip
    """The kernel for the CPU: `reads` and `pieces` are its arrays, in the order of `pointers` and
    of the walk's strides.
    """
    body = Body(steps, names)
    stores = [body.converted(p.value, d) for p, d in zip(pieces, walk.dtypes[len(reads) :])]
    rank, modes = len(walk.shape), walk.modes()
    parameters = [*pointers, *(n.name for n in numbers)]
    sizes = [f"size{d}" for d in range(1, rank)]
    strides = [
        f"{p}_stride{d}"
        for p, m in zip(pointers, modes)
        for d in range(rank)
        if d < rank - 1 or m == "strided"
    ]
    parameters += sizes + strides
    words = words_of(walk.dtypes, [number_word(n) for n in numbers], len(sizes) + len(strides))
    code = Lines()
    code.add(0, f"def {title(steps)}(begin, end, {', '.join(parameters)}):")
    for (text, d), name in body.constants.items():
        code.add(1, f"{name} = {cast(d)}({text})")
    depth = 1
    if rank > 1:
        inner = sizes[-1]
        code.add(1, f"for row in range(begin // {inner}, (end + {inner} - 1) // {inner}):")
        depth = 2
        indices(code, "row", rank - 1)
        row_places(code, pointers, rank)
    for r, p, m in zip(reads, pointers, modes):
        if m == "same":
            code.add(depth, read(r, p, f"{p}_row" if rank > 1 else "0"))
    variable = "j" if rank > 1 else "i"
    if rank > 1:
        inner = sizes[-1]
        code.add(
            depth,
            f"for j in range(max(begin - row * {inner}, 0), min(end - row * {inner}, {inner})):",
        )
    else:
        code.add(depth, "for i in range(begin, end):")
    for r, p, m in zip(reads, pointers, modes):
        if m != "same":
            code.add(depth + 1, read(r, p, place(p, m, variable, rank)))
    for line in body.lines:
        code.add(depth + 1, *line)
    for value, piece, p, m in zip(stores, pieces, pointers[len(reads) :], modes[len(reads) :]):
        code.add(depth + 1, f"{p}[{place(p, m, variable, rank)}] = {value}", step=piece.value)
    functions = tuple((local, name, d) for (name, d), local in body.functions.items())
    return KernelText(
        title(steps), code.text(), code.code(), words, functions, step_of_line=code.steps()
    )


class Lines:
    """The lines of a text, with comments that can be left out, and the step that each of them
    does.
    """

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Any]] = []

    def add(self, depth: int, line: str, note: str = "", step: Step | None = None) -> None:
        self.lines.append(("    " * depth + line, note, step))

    def text(self) -> str:
        """With comments, which begin in one column where they have room."""
        column = max(
            (len(line) for line, note, _ in self.lines if note and len(line) < 60), default=0
        )
        return "".join(
            f"{line.ljust(column)}  # {note}\n" if note else f"{line}\n"
            for line, note, _ in self.lines
        )

    def code(self) -> str:
        return "".join(f"{line}\n" for line, _, _ in self.lines)

    def steps(self) -> tuple[Step | None, ...]:
        return tuple(step if isinstance(step, Step) else None for _, _, step in self.lines)


def indices(code: Lines, number: str, rank: int) -> None:
    """The index of the element (or row) `number` in each of several dimensions: i0, i1, ... with
    the last the fastest.
    """
    rest = number
    for d in range(rank - 1, 0, -1):
        code.add(2, f"i{d} = {rest} % size{d}")
        quotient = "i0" if d == 1 else f"rest{d}"
        code.add(2, f"{quotient} = {rest} // size{d}")
        rest = quotient


def row_places(code: Lines, pointers: Sequence[str], rank: int) -> None:
    """Where each array's row begins."""
    for p in pointers:
        steps = (f"{_index(d, rank)} * {p}_stride{d}" for d in range(rank - 1))
        code.add(2, f"{p}_row = {' + '.join(steps)}")


def words_of(dtypes: Sequence[dtype], numbers: Sequence[str], more: int) -> str:
    """The signature: arrays, numbers, then so many sizes and strides."""
    return " ".join([*(f"*{WORDS[d]}" for d in dtypes), *numbers, *["i8"] * more])


def _index(d: int, rank: int) -> str:
    return "row" if rank == 2 else f"i{d}"


def read(r: Read, pointer: str, place: str) -> str:
    """A bool is a byte in memory."""
    return f"{r.name} = {pointer}[{place}]{' != 0' if r.dtype is dt.bool_ else ''}"


def place(pointer: str, mode: str, variable: str, rank: int) -> str:
    step = (
        variable
        if mode == "dense"
        else f"{variable} * {pointer}_stride{rank - 1}"
        if mode == "strided"
        else ""
    )
    if rank == 1:
        return step or "0"
    return f"{pointer}_row + {step}" if step else f"{pointer}_row"


def cast(d: dtype) -> str:
    return "bool_" if d is dt.bool_ else d.name


def number_word(n: Number) -> str:
    return "f8" if n.kind is float else "i8"


def _literal(text: str) -> Any:
    return float(text) if not text.lstrip("-").isdigit() else int(text)


def _number_text(value: Any, d: dtype) -> str:
    """A number as Python writes it: the shortest that is this number of dtype `d`."""
    if d.category == BOOL:
        return str(bool(value))
    if d.category == INTEGRAL:
        return str(int(value))
    text = str(value if isinstance(value, np.generic) else float(value))
    return text.removesuffix(".0") if "e" not in text else text
