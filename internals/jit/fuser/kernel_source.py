"""Writes the text of a kernel, as Python, from the steps of a group.

    def fused_sigmoid_mul_tanh_add(begin, end, y, x, out):
        for i in range(begin, end):
            n4 = y[i]
            n6 = x[i]
            n9 = sigmoid(n6)  # %9 : Tensor = aten::sigmoid(%6)
            n8 = n6 * n9  # %8 : Tensor = aten::mul(%6, %9)
            ...
            out[i] = n3

If all operands lie in memory alike, one loop runs over them: each thread gets the elements from
`begin` to `end`. Otherwise the elements are seen as rows. The innermost of the dimensions that are
left after merging is the loop over j, in which an operand advances by 1, by a stride, or not at all
(then it is read once, before the loop). The other dimensions tell where each operand's row begins:

        for row in range(begin // size1, (end + size1 - 1) // size1):
            x_row = row * x_stride0
            for j in range(max(begin - row * size1, 0), min(end - row * size1, size1)):

The bounds of j cut the first and last row where the thread's elements begin and end inside them.
The number of dimensions, and how each operand advances, are part of the text; sizes and strides are
arguments, so that one kernel serves many shapes.

How the real one differs: the kernels of PyTorch 1.0.1 compute each operand's offset from the linear
index, with divisions for each element.
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
from .loop_nest import LoopNest
from .names import Names
from .steps import Number, Read, Step, Store

# the dtypes in a kernel's signature; a bool is a byte in memory
WORDS = {
    dt.float32: "f4", dt.float64: "f8", dt.int64: "i8", dt.int32: "i4", dt.int16: "i2",
    dt.int8: "i1", dt.uint8: "u1", dt.bool_: "u1",
}  # fmt: skip
# names of constants, by their text; the others are called c1, c2, ...
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
MOST_LETTERS = 48  # of a kernel's name


class KernelText(NamedTuple):
    """The text of a kernel and the meaning of its names.

    code           the text without comments: if it is equal, two kernels are the same
    signature      the types of the arguments behind begin and end, in words
    functions      those that it calls: (name in the text, name in the tables, dtype)
    scratch        the dtypes of the rows of scratch memory that it needs
    step_of_line   the step that each line computes or stores, None for those that only walk over
                   memory
    """

    name: str
    text: str
    code: str
    signature: str
    functions: tuple[tuple[str, str, dtype], ...]
    scratch: tuple[dtype, ...] = ()
    step_of_line: tuple[Step | None, ...] = ()


class Body:
    """The lines of the steps, with the constants and functions that they use: the part of a kernel
    that does not depend on the walk over memory.

    casts: functions whose result has to be converted to the dtype that is computed in.
    """

    def __init__(self, steps: Sequence[Step], names: Names, casts: Sequence[str] = ()) -> None:
        self.names, self.casts = names, casts
        self.constants: dict[tuple[str, dtype], str] = {}
        self.functions: dict[tuple[str, dtype], str] = {}
        self.lines = [self.line(step) for step in steps]

    def line(self, step: Step) -> tuple[str, str, Step]:
        """The statement of a step, its node as a comment, and the step."""
        if step.loop is None:  # a cast
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
        """The expression of a step: its template with operands, numbers, constants and functions
        filled in. `{x} * T(0.5)` may become `n4 * half`.
        """
        common = step.common
        template, parameters = expression(step.loop, common)
        values = {k: self.operand(x, d) for k, (x, d) in zip(parameters, step.operands)}
        values.update((k, self.constant(v, common)) for k, v in step.numbers.items())
        text = template.format(**values)
        # T(0.5) becomes the name of a constant of dtype `common`
        text = re.sub(r"\bT\(([-\w.]+)\)", lambda m: self.constant(_literal(m[1]), common), text)
        if any(f"{name}(" in text for name in self.casts):
            text = f"{cast(common)}({text})"
        # each name before a parenthesis becomes that of the function for `common`
        return re.sub(r"\b([a-z_0-9]+)\(", lambda m: f"{self.function(m[1], common)}(", text)

    def operand(self, x: Read | Step, target: dtype) -> str:
        """A value or a constant in dtype `target`."""
        return (
            self.converted(x, target)
            if isinstance(x, (Read, Step, Number))
            else self.constant(x, target)
        )

    def converted(self, x: Read | Step, target: dtype) -> str:
        """A value in dtype `target`: its name, with a conversion if it has another dtype."""
        if isinstance(x, Number):
            return f"{x.name}" if number_word(x) == WORDS[target] else f"{cast(target)}({x.name})"
        if x.dtype is target:
            return str(x.name)
        if target is dt.bool_:
            return f"({x.name} != {self.constant(0, x.dtype)})"
        if x.dtype.category == FLOATING and target.category == INTEGRAL and target is not dt.int64:
            # by way of int64, so that a float that is too large wraps around
            return f"{target.name}(int64({x.name}))"
        return f"{cast(target)}({x.name})"

    def constant(self, value: object, d: dtype) -> str:
        """The name of a constant, which is defined before the loop."""
        text = _number_text(value, d)
        found = self.constants.get((text, d))
        if found is None:
            wanted = CONSTANTS.get(text, "c1")
            found = self.constants[text, d] = self.names.fresh(wanted)
        return found

    def function(self, name: str, d: dtype) -> str:
        """The name in the text of the function `name` for dtype `d`: `exp`, or `exp_float64` if
        the kernel has an `exp` for another dtype.
        """
        if name not in NAMES:  # a conversion or a builtin
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
    """A name for a kernel, after its operators: `fused_mul_tanh`."""
    kinds = [step.node.kind().partition("::")[2] for step in steps]
    words = [k for k, before in zip(kinds, [None, *kinds]) if k != before]
    name = "_".join(("fused", *words)) if words else "fused_copy"
    return name if len(name) <= MOST_LETTERS else name[:MOST_LETTERS].rpartition("_")[0] + "_etc"


def cpu_text(
    steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number],
    pieces: Sequence[Store], pointers: Sequence[str], walk: LoopNest, names: Names,
) -> KernelText:  # fmt: skip
    """The kernel for the CPU. Its arrays are `reads`, then `pieces`, which are written; `pointers`
    and the walk's strides are in that order.
    """
    body = Body(steps, names)
    stores = [body.converted(p.value, d) for p, d in zip(pieces, walk.dtypes[len(reads) :])]
    rank, modes = len(walk.shape), walk.modes()
    parameters = [*pointers, *(n.name for n in numbers)]
    sizes = [f"size{d}" for d in range(1, rank)]
    # the innermost stride is an argument only if it is not 0 or 1: see `LoopNest.numbers`
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
    if rank > 1:  # a loop over rows, with the places where each array's row begins
        inner = sizes[-1]
        code.add(1, f"for row in range(begin // {inner}, (end + {inner} - 1) // {inner}):")
        depth = 2
        indices(code, "row", rank - 1)
        row_places(code, pointers, rank)
    # the same element for the whole row: read once, before the inner loop
    for r, p, m in zip(reads, pointers, modes):
        if m == "same":
            code.add(depth, read(r, p, f"{p}_row" if rank > 1 else "0"))
    # the inner loop: read, compute, store
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
    """The lines of a text, each with a comment, which `code` omits, and the step that it
    computes.
    """

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Any]] = []

    def add(self, depth: int, line: str, note: str = "", step: Step | None = None) -> None:
        """Adds a line, `depth` levels deep."""
        self.lines.append(("    " * depth + line, note, step))

    def text(self) -> str:
        """The text with comments, which begin in the same column behind all but long lines."""
        column = max(
            (len(line) for line, note, _ in self.lines if note and len(line) < 60), default=0
        )
        return "".join(
            f"{line.ljust(column)}  # {note}\n" if note else f"{line}\n"
            for line, note, _ in self.lines
        )

    def code(self) -> str:
        """The text without comments."""
        return "".join(f"{line}\n" for line, _, _ in self.lines)

    def steps(self) -> tuple[Step | None, ...]:
        """The step of each line, None for lines without one."""
        return tuple(step if isinstance(step, Step) else None for _, _, step in self.lines)


def indices(code: Lines, number: str, rank: int) -> None:
    """Adds lines for the index of element (or row) `number` along each dimension, the last being
    the fastest. For the rows of three dimensions:

        i2 = row % size2
        rest2 = row // size2
        i1 = rest2 % size1
        i0 = rest2 // size1
    """
    rest = number
    for d in range(rank - 1, 0, -1):
        code.add(2, f"i{d} = {rest} % size{d}")
        quotient = "i0" if d == 1 else f"rest{d}"
        code.add(2, f"{quotient} = {rest} // size{d}")
        rest = quotient


def row_places(code: Lines, pointers: Sequence[str], rank: int) -> None:
    """Adds lines for where each array's row begins: `x_row = i0 * x_stride0 + i1 * x_stride1`."""
    for p in pointers:
        steps = (f"{_index(d, rank)} * {p}_stride{d}" for d in range(rank - 1))
        code.add(2, f"{p}_row = {' + '.join(steps)}")


def words_of(dtypes: Sequence[dtype], numbers: Sequence[str], more: int) -> str:
    """The signature: arrays, numbers, then `more` sizes and strides: "*f4 *f4 f8 i8 i8"."""
    return " ".join([*(f"*{WORDS[d]}" for d in dtypes), *numbers, *["i8"] * more])


def _index(d: int, rank: int) -> str:
    """The name of the row's index along dimension d; with one such dimension it is `row` itself."""
    return "row" if rank == 2 else f"i{d}"


def read(r: Read, pointer: str, place: str) -> str:
    """The line that reads an element. A bool is a byte in memory, which is not 0 if it is true."""
    return f"{r.name} = {pointer}[{place}]{' != 0' if r.dtype is dt.bool_ else ''}"


def place(pointer: str, mode: str, variable: str, rank: int) -> str:
    """The offset of an array's element in the innermost loop: `x_row + j`, or `j * x_stride0`."""
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
    """The name of the function that converts to `d`."""
    return "bool_" if d is dt.bool_ else d.name


def number_word(n: Number) -> str:
    """The word of a number's type in a signature."""
    return "f8" if n.kind is float else "i8"


def _literal(text: str) -> Any:
    """The number that stands in T(...)."""
    return float(text) if not text.lstrip("-").isdigit() else int(text)


def _number_text(value: Any, d: dtype) -> str:
    """A number as Python writes it, without ".0": the shortest text that gives this number."""
    if d.category == BOOL:
        return str(bool(value))
    if d.category == INTEGRAL:
        return str(int(value))
    text = str(value if isinstance(value, np.generic) else float(value))
    return text.removesuffix(".0") if "e" not in text else text
