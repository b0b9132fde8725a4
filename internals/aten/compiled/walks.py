"""The kernels of elementwise operators: three ways to walk over several operands, for any operation
(`aten/src/ATen/native/cpu/Loops.h`).

    flat    one dimension: for i in a range of elements
    rows    up to four: for each row of a range of rows, for each column
    tiles   up to four, where one operand is written along rows and another lies along columns (`a +
            a.T`): small tiles, so that all elements of each cache line are used before it is
            evicted

The number of operands varies, so the kernels' text is generated: `source("rows", 2)` is the text of

    def rows(begin, end, out, a, b, n1, n2, width, out0, out1, out2, out3, a0, a1, a2, a3, b0, ...):
        out_step, a_step = out3 if OUT_STEP == ANY else OUT_STEP, a3 if A_STEP == ANY else ...
        for row in range(begin, end):
            i, j, k = row // (n1 * n2), row // n2 % n1, row % n2
            out_row, a_row, b_row = i * out0 + j * out1 + k * out2, ...
            for x in range(width):
                a_x, b_x = a[a_row + x * a_step], b[b_row + x * b_step]
                out[out_row + x * out_step] = R(OP(A(a_x), B(b_x)))

The template parameters are filled in by `bind`:

    OP              the function of one element
    A, B, ...       the dtype each operand is converted to on reading; `R`, the one the result is
                    converted to
    A_STEP, ...     the distance of neighbours in a row if it is 1, -1 or 0, since the compiler can
                    make vector instructions then; `ANY` if it is an argument

An operand that is written in place has no pointer of its own: the kernel reads `out` instead, and
the compiler may assume that no two pointers overlap.

How the real one differs: `cpu_kernel_vec` gets one lambda for a number and one for a vector, and
chooses between a vectorised loop and a strided one when it runs; it has no tiles.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from internals.machine_code.language import Kernel, kernel, template

OPERANDS = "abcdef"  # their names in a kernel, so there are six at most
# of a tile: 16 floats are a cache line, and 8 lines fit into the cache whatever their distance
HEIGHT, WIDTH = 16, 8
RANK = 4  # dimensions of `rows` and `tiles`
ANY = 1 << 62  # a step that is not known when the kernel is compiled


@cache
def walk(kind: str, operands: int, in_place: frozenset[int] = frozenset()) -> Kernel:
    """The kernel `kind` ("flat", "rows" or "tiles") for this number of operands; those whose
    position is in `in_place` are `out` itself.
    """
    text = source(kind, operands, in_place)
    steps = [f"{name.upper()}_STEP" for name in ("out", *OPERANDS[:operands])]
    scope: dict[str, Any] = {"ANY": ANY} | {
        n: template(n) for n in ("OP", "R", *OPERANDS[:operands].upper(), *steps)
    }
    exec(compile(text, f"<walk {kind}, {operands} operands>", "exec"), scope)
    function = scope[kind]
    # the cache of machine code asks for the source, which is in no file
    function.__source__, function.__module__ = text, __name__
    return kernel(function)


def source(kind: str, operands: int, in_place: frozenset[int] = frozenset()) -> str:
    """The text of the kernel `walk` makes."""
    names = list(OPERANDS[:operands])
    # the operands with a pointer of their own
    read = [n for i, n in enumerate(names) if i not in in_place]
    return {"flat": _flat, "rows": _rows, "tiles": _tiles}[kind](names, read)


def _flat(names: list[str], read: list[str]) -> str:
    """The text of `flat`: an item of work is an element."""
    return f"""\
def flat(begin, end, {_pointers(read)}, {_each(read, "{0}0")}):
    {_steps(read, 0)}
    for x in range(begin, end):
        {_element(names, read, "x * {0}_step")}
"""


def _rows(names: list[str], read: list[str]) -> str:
    """The text of `rows`: an item of work is a row (i, j, k)."""
    return f"""\
def rows(begin, end, {_pointers(read)}, n1, n2, width, {_each(read, "{0}0, {0}1, {0}2, {0}3")}):
    {_steps(read, 3)}
    for row in range(begin, end):
        i, j, k = row // (n1 * n2), row // n2 % n1, row % n2
        {_each(read, "{0}_row")} = {_each(read, "i * {0}0 + j * {0}1 + k * {0}2")}
        for x in range(width):
            {_element(names, read, "{0}_row + x * {0}_step")}
"""


def _tiles(names: list[str], read: list[str]) -> str:
    """The text of `tiles`: an item of work is a band of `HEIGHT` rows of a plane (i, j)."""
    # the same statement in two loops, of which the first has a size known to the compiler
    element = _element(names, read, "{0}_plane + y * {0}2 + x * {0}_step")
    strides = _each(read, "{0}0, {0}1, {0}2, {0}3")
    return f"""\
def tiles(begin, end, {_pointers(read)}, n1, height, width, {strides}):
    {_steps(read, 3)}
    bands = (height + {HEIGHT - 1}) // {HEIGHT}
    for band in range(begin, end):
        plane, top = band // bands, band % bands * {HEIGHT}
        i, j = plane // n1, plane % n1
        {_each(read, "{0}_plane")} = {_each(read, "i * {0}0 + j * {0}1")}
        for left in range(0, width, {WIDTH}):
            # a whole tile: the compiler knows its size
            if top + {HEIGHT} <= height and left + {WIDTH} <= width:
                for y in range(top, top + {HEIGHT}):
                    for x in range(left, left + {WIDTH}):
                        {element}
            else:
                for y in range(top, min(top + {HEIGHT}, height)):
                    for x in range(left, min(left + {WIDTH}, width)):
                        {element}
"""


def _element(names: list[str], read: list[str], place: str) -> str:
    """The statement that computes one element. `place` is the index of operand {0}."""
    values = [
        f"{n.upper()}({n}[{place.format(n)}])"
        if n in read
        else f"{n.upper()}(out[{place.format('out')}])"
        for n in names
    ]
    return f"out[{place.format('out')}] = R(OP({', '.join(values)}))"


def _steps(read: list[str], last: int) -> str:
    """The lines that set each operand's distance of neighbours in a row: the template parameter if
    it is known, else the argument with the stride of dimension `last`."""
    lines = [
        f"{n}_step = {n}{last} if {n.upper()}_STEP == ANY else {n.upper()}_STEP"
        for n in ("out", *read)
    ]
    return "\n    ".join(lines)


def _pointers(read: list[str]) -> str:
    return ", ".join(("out", *read))


def _each(read: list[str], form: str) -> str:
    """`form` with the name of each operand that has a pointer, joined by commas."""
    return ", ".join(form.format(n) for n in ("out", *read))
