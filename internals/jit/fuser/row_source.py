"""The text of a kernel with functions of rows in it: `relu(layer_norm(x + y))`, `x - x.mean(-1,
keepdim=True)`.

    for row in range(begin, end):
        ...
        for j in range(size1):
            n4 = x[x_row + j] + y[y_row + j]
            out[out_row + j] = n4
        center = row_mean(out, out_row, size1)
        scale = float32(row_rstd(out, out_row, size1, center, eps))
        for j in range(size1):
            n4 = out[out_row + j]
            t1 = (n4 - float32(center)) * scale
            out[out_row + j] = maximum(t1, zero)

A row of values that somebody needs whole is written to memory, if it is not an argument: to the row
of an output, or to scratch memory as long as a row. It stays in the cache, and later loops read it
from there; what else they need of the steps before, they compute again. softmax puts its result in
the place of its argument. What one row has one of stands between the loops.

How the real one differs: 1.0.1 fuses no reductions; Inductor keeps what it needs twice in a buffer
of the thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core import dtype as dt
from internals.core.dtype import dtype

from .functions import IN_PLACE
from .kernel_source import (
    Body,
    KernelText,
    Lines,
    cast,
    comment,
    indices,
    number_word,
    place,
    read,
    row_places,
    title,
    words_of,
)
from .names import Names
from .steps import Number, Piece, Read, Step
from .walk import Walk


def row_text(
    steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number],
    pieces: Sequence[Piece], pointers: Sequence[str], walk: Walk, names: Names,
) -> KernelText:  # fmt: skip
    """The kernel, whose units of work are rows; the arguments are those of `cpu_text`."""
    return _RowText(steps, reads, numbers, pieces, pointers, walk, names).write()


class _RowText:
    """`where` says in which array the row of a step lies; `free` are outputs whose rows nobody uses
    yet.
    """

    def __init__(
        self, steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number],
        pieces: Sequence[Piece], pointers: Sequence[str], walk: Walk, names: Names,
    ) -> None:  # fmt: skip
        self.steps, self.reads, self.numbers, self.pieces, self.names = (
            steps,
            reads,
            numbers,
            pieces,
            names,
        )
        self.pointers, self.walk, self.rank = list(pointers), walk, len(walk.shape)
        self.modes = walk.modes()
        self.array_of = dict(zip(reads, zip(pointers, self.modes)))
        self.outputs = list(
            zip(pieces, pointers[len(reads) :], self.modes[len(reads) :], walk.dtypes[len(reads) :])
        )
        self.size = f"size{self.rank - 1}"
        self.of_each_row = _of_each_row(
            steps, [r for r, m in zip(reads, self.modes) if m == "same"]
        )
        self.where: dict[Any, str] = {}
        self.free = [
            (p, d)
            for piece, p, m, d in self.outputs
            if m == "dense" and piece.value not in self.of_each_row
        ]
        self.scratch: list[tuple[str, dtype]] = []
        self.body = Body([s for s in steps if not s.row], names)
        self.line_of = dict(zip((s for s in steps if not s.row), self.body.lines))
        self.code = Lines()

    def write(self) -> KernelText:
        self.stores = [self.body.converted(piece.value, d) for piece, _, _, d in self.outputs]
        row_places(self.code, self.pointers, self.rank)
        used = {x for s in self.steps if s in self.of_each_row and not s.row for x, _ in s.operands}
        used.update(x for s in self.steps if s.row for x, _ in s.operands[1:])
        self.read_once = [r for r in self.reads if r in used]
        for r in self.read_once:
            self.code.add(2, read(r, self.array_of[r][0], f"{self.array_of[r][0]}_row"))
        for step in self.steps:
            if step.row in IN_PLACE:
                self.in_place(step)
            elif step.row:
                self.reduction(step)
            elif step in self.of_each_row:
                self.code.add(2, *self.line_of[step])
        self.finish()
        return self.whole()

    def in_place(self, step: Step) -> None:
        """softmax: its argument is written to memory, and its result is there then."""
        array = self.stored(*step.operands[0])
        function = self.body.function(step.row, step.common)
        self.code.add(2, f"{function}({array}, {array}_row, {self.size})", comment(step), step)
        self.where = {k: v for k, v in self.where.items() if v != array} | {step: array}

    def reduction(self, step: Step) -> None:
        """One number of a row."""
        (value, d), *others = step.operands
        array = self.array_with(value, d)
        arguments = [array, f"{array}_row", self.size, *(self.body.converted(*o) for o in others)]
        arguments += [self.body.constant(v, dt.float64) for v in step.numbers.values()]
        text = f"{self.body.function(step.row, step.common)}({', '.join(arguments)})"
        text = text if step.dtype is dt.float64 else f"{cast(step.dtype)}({text})"
        self.code.add(2, f"{step.name} = {text}", comment(step), step)

    def array_with(self, value: Any, d: dtype) -> str:
        """The array in whose row `value` lies, as elements of dtype `d`: there already, or written
        there now.
        """
        if isinstance(value, Read) and value.dtype is d and self.array_of[value][1] == "dense":
            return self.array_of[value][0]
        if value in self.where and value.dtype is d:
            return self.where[value]
        return self.stored(value, d)

    def stored(self, value: Any, d: dtype) -> str:
        """Write a row of `value` to memory that is free."""
        found = next(((p, e) for p, e in self.free if e is d), None)
        if found is not None:
            self.free.remove(found)
        else:
            found = self.names.fresh("work"), d
            self.scratch.append(found)
        array = found[0]
        self.loop([value], [(f"{array}[{array}_row + j] = {self.body.converted(value, d)}", value)])
        if isinstance(value, Step) and value.dtype is d:
            self.where.setdefault(value, array)
        return array

    def finish(self) -> None:
        """Write the outputs."""
        elements, values = [], []
        for (piece, p, m, _), text in zip(self.outputs, self.stores):
            if m == "same" and piece.value in self.of_each_row:
                self.code.add(2, f"{p}[{p}_row] = {text}", step=piece.value)
            elif len(self.pieces) > 1 or self.where.get(piece.value) != p:
                elements.append((f"{p}[{place(p, m, 'j', self.rank)}] = {text}", piece.value))
                values.append(piece.value)
        if elements:
            self.loop(values, elements)

    def loop(self, values: Sequence[Any], last: Sequence[tuple[str, Any]]) -> None:
        """A loop over the row that ends with the lines `last`, which need `values`; each comes with
        what it stores.
        """
        wanted = set(values)
        for step in reversed(self.steps):
            if step in wanted and step not in self.where and step not in self.of_each_row:
                wanted.update(x for x, _ in step.operands)
        self.code.add(2, f"for j in range({self.size}):")
        for r in self.reads:
            if r in wanted and r not in self.read_once:
                p, m = self.array_of[r]
                self.code.add(3, read(r, p, place(p, m, "j", self.rank)))
        for step in self.steps:
            if step in wanted and step in self.where:
                self.code.add(3, f"{step.name} = {self.where[step]}[{self.where[step]}_row + j]")
        for step in self.steps:
            if step in wanted and step not in self.where and step not in self.of_each_row:
                self.code.add(3, *self.line_of[step])
        for line, value in last:
            self.code.add(3, line, step=value)

    def whole(self) -> KernelText:
        """What was written, with all that has to stand before it."""
        pointers, rank, code = self.pointers, self.rank, Lines()
        sizes = [f"size{d}" for d in range(1, rank)]
        strides = [
            f"{p}_stride{d}"
            for p, m in zip(pointers, self.modes)
            for d in range(rank)
            if d < rank - 1 or m == "strided"
        ]
        works = [p for p, _ in self.scratch]
        part = [self.names.fresh("part")] if works else []
        parameters = [*pointers, *works, *(n.name for n in self.numbers), *sizes, *strides, *part]
        code.add(0, f"def {title(self.steps)}(begin, end, {', '.join(parameters)}):")
        for (text, d), name in self.body.constants.items():
            code.add(1, f"{name} = {cast(d)}({text})")
        for p in works:
            code.add(1, f"{p}_row = begin // {part[0]} * {self.size}")
        code.add(1, "for row in range(begin, end):")
        indices(code, "row", rank - 1)
        code.lines += self.code.lines
        dtypes = [*self.walk.dtypes, *(d for _, d in self.scratch)]
        more = len(sizes) + len(strides) + len(part)
        words = words_of(dtypes, [number_word(n) for n in self.numbers], more)
        functions = tuple((local, name, d) for (name, d), local in self.body.functions.items())
        return KernelText(
            title(self.steps),
            code.text(),
            code.code(),
            words,
            functions,
            tuple(d for _, d in self.scratch),
            code.steps(),
        )


def _of_each_row(steps: Sequence[Step], reads: Sequence[Read]) -> set[Any]:
    """What is computed once for a row: numbers that functions of rows give, and what needs only
    such and `reads`.
    """
    found: set[Any] = set(reads)
    for step in steps:
        operands = [x for x, _ in step.operands if isinstance(x, (Read, Step))]
        if step.row not in IN_PLACE and (step.row or all(x in found for x in operands)):
            found.add(step)
    return found
