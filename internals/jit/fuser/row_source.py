"""The text of a kernel with a function of rows in the middle: `softmax(x * scale + mask) * weights`.

    for row in range(begin, end):
        ...
        for j in range(size1):
            n4 = x[x_row + j] * y[y_row + j]
            out[out_row + j] = n4
        softmax(out, out_row, size1)
        for j in range(size1):
            n5 = out[out_row + j]
            ...

What goes into the function is written to the row of an output, which stays in the cache, and what comes out is read from there.
What the second loop needs of the steps before, it computes again.

How the real one differs: 1.0.1 fuses no reductions; Inductor keeps what it needs twice in a buffer of the thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from .kernel_source import (
    Body,
    KernelText,
    Lines,
    cast,
    comment,
    number_word,
    place,
    read,
    row_indices,
    row_places,
    title,
    words_of,
)
from .names import Names
from .observe import NotFusable, Number, Piece, Read, Step
from .walk import Walk


def row_text(steps: Sequence[Step], reads: Sequence[Read], numbers: Sequence[Number], pieces: Sequence[Piece],
             pointers: Sequence[str], walk: Walk, names: Names) -> KernelText:  # fmt: skip
    """The kernel, whose units of work are rows; the arguments are those of `cpu_text`. Raises NotFusable."""
    (of_row,) = [s for s in steps if s.row]
    before, after = _needed([of_row.operands[0][0]], steps, None), _needed([p.value for p in pieces], steps, of_row)
    if any(_depends(s, of_row) for s in before):
        raise NotFusable("a function of rows of itself")
    body = Body([s for s in steps if s is not of_row], names)
    line_of = dict(zip((s for s in steps if s is not of_row), body.lines))
    rank, modes = len(walk.shape), walk.modes()
    outputs = list(zip(pieces, pointers[len(reads) :], modes[len(reads) :], walk.dtypes[len(reads) :]))
    buffer = next((p for _, p, m, d in outputs if m == "dense" and d is of_row.dtype), None)
    if buffer is None:
        raise NotFusable(f"no output of {of_row.node.kind()} has room for its rows")
    function = body.function(of_row.row, of_row.common)
    stores = [body.converted(piece.value, d) for piece, _, _, d in outputs]
    into = body.converted(*of_row.operands[0])
    sizes = [f"size{d}" for d in range(1, rank)]
    strides = [f"{p}_stride{d}" for p, m in zip(pointers, modes) for d in range(rank) if d < rank - 1 or m == "strided"]
    parameters = [*pointers, *(n.name for n in numbers), *sizes, *strides]
    code = Lines()
    code.add(0, f"def {title(steps)}(begin, end, {', '.join(parameters)}):")
    for (text, d), name in body.constants.items():
        code.add(1, f"{name} = {cast(d)}({text})")
    code.add(1, "for row in range(begin, end):")
    row_indices(code, rank)
    row_places(code, pointers, rank)

    def loop(wanted: Sequence[Step], roots: Sequence[object], last: Sequence[str]) -> None:
        used = {x for s in wanted if s is not of_row for x, _ in s.operands} | set(roots)
        code.add(2, f"for j in range({sizes[-1]}):")
        for r, p, m in zip(reads, pointers, modes):
            if r in used:
                code.add(3, read(r, p, place(p, m, "j", rank)))
        if of_row in used:
            code.add(3, f"{of_row.name} = {buffer}[{buffer}_row + j]")
        for s in wanted:
            if s is not of_row:
                code.add(3, *line_of[s])
        for line in last:
            code.add(3, line)

    loop(before, [of_row.operands[0][0]], [f"{buffer}[{buffer}_row + j] = {into}"])
    code.add(2, f"{function}({buffer}, {buffer}_row, {sizes[-1]})", comment(of_row))
    final = [f"{p}[{place(p, m, 'j', rank)}] = {value}" for (_, p, m, _), value in zip(outputs, stores)]
    if len(pieces) > 1 or pieces[0].value is not of_row:
        loop(after, [p.value for p in pieces], final)
    words = words_of(walk, [number_word(n) for n in numbers], len(sizes) + len(strides))
    functions = tuple((local, name, d) for (name, d), local in body.functions.items())
    return KernelText(title(steps), code.text(), code.code(), words, functions)


def _needed(values: Sequence[object], steps: Sequence[Step], known: Step | None) -> list[Step]:
    """The steps that `values` need, in order, without those that only `known` needs."""
    wanted = set(values)
    for step in reversed(steps):
        if step in wanted and step is not known:
            wanted.update(x for x, _ in step.operands)
    return [s for s in steps if s in wanted]


def _depends(step: Step, other: Step) -> bool:
    return step is other or any(isinstance(x, Step) and _depends(x, other) for x, _ in step.operands)
