"""Writes the text of a kernel with functions of rows in it, such as `relu(layer_norm(x + y))` or `x
- x.mean(-1, keepdim=True)`.

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

A function of a row needs all its values in memory. If they are not an argument, a loop writes them
there: to the row of an output, or to scratch memory as long as a row. There they stay in the cache,
and later loops read them; other values that those loops need are computed again. softmax replaces
its argument by its result. Values of which a row has only one, such as `center`, are computed
between the loops.

How the real one differs: PyTorch 1.0.1 fuses no reductions; Inductor keeps values that it needs
twice in a buffer of the thread.
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
from .loop_nest import LoopNest
from .names import Names
from .steps import Number, Read, Step, Store


def row_text(
    steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number],
    pieces: Sequence[Store], pointers: Sequence[str], walk: LoopNest, names: Names,
) -> KernelText:  # fmt: skip
    """The kernel, whose units of work are rows; the arguments are those of `cpu_text`."""
    return _RowText(steps, reads, numbers, pieces, pointers, walk, names).write()


class _RowText:
    """The lines of the kernel, as they are written step by step.

    where          the array in whose row the values of a step lie
    free           outputs whose rows are not used yet, so that they can hold values: (array, dtype)
    scratch        rows of scratch memory: (array, dtype)
    of_each_row    values of which a row has only one
    read_once      arguments that are read once for each row, before the loops
    """

    def __init__(
        self, steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number],
        pieces: Sequence[Store], pointers: Sequence[str], walk: LoopNest, names: Names,
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
        """Goes through the steps. A step of single elements waits until a loop needs it; functions
        of rows, and values of which a row has one, are written at once.
        """
        self.stores = [self.body.converted(piece.value, d) for piece, _, _, d in self.outputs]
        row_places(self.code, self.pointers, self.rank)
        # arguments with one value for each row, if they are needed outside of loops
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
        """Adds softmax or log_softmax: its argument is written to memory and replaced there."""
        array = self.stored(*step.operands[0])
        function = self.body.function(step.row, step.common)
        self.code.add(2, f"{function}({array}, {array}_row, {self.size})", comment(step), step)
        # whatever lay in that row is overwritten
        self.where = {k: v for k, v in self.where.items() if v != array} | {step: array}

    def reduction(self, step: Step) -> None:
        """Adds a function that gives one number for a row: `center = row_mean(x, x_row, size1)`."""
        (value, d), *others = step.operands
        array = self.array_with(value, d)
        arguments = [array, f"{array}_row", self.size, *(self.body.converted(*o) for o in others)]
        arguments += [self.body.constant(v, dt.float64) for v in step.numbers.values()]
        text = f"{self.body.function(step.row, step.common)}({', '.join(arguments)})"
        text = text if step.dtype is dt.float64 else f"{cast(step.dtype)}({text})"
        self.code.add(2, f"{step.name} = {text}", comment(step), step)

    def array_with(self, value: Any, d: dtype) -> str:
        """The array in whose row `value` lies, with elements of dtype `d`. If there is none, a loop
        writes it.
        """
        if isinstance(value, Read) and value.dtype is d and self.array_of[value][1] == "dense":
            return self.array_of[value][0]
        if value in self.where and value.dtype is d:
            return self.where[value]
        return self.stored(value, d)

    def stored(self, value: Any, d: dtype) -> str:
        """Adds a loop that writes a row of `value` to a free output or to new scratch memory;
        returns the array.
        """
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
        """Adds the lines that write the outputs, except those whose values are already there."""
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
        """Adds a loop over the row. It ends with the lines `last`, as (line, value that it stores),
        which need `values`: these are read from arguments or from memory, or computed.
        """
        # all that `values` depend on, back to values that are in memory or that a row has one of
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
        """The whole kernel: parameters and constants, then the lines of a row."""
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
        # `part` consecutive rows are done by one thread, and share a row of scratch memory
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
    """The values that are computed once for a row: results of reductions, and steps that need only
    such values and `reads`.
    """
    found: set[Any] = set(reads)
    for step in steps:
        operands = [x for x, _ in step.operands if isinstance(x, (Read, Step))]
        if step.row not in IN_PLACE and (step.row or all(x in found for x in operands)):
            found.add(step)
    return found
