"""`viz.ptx`: a kernel's source, and beside each line the instructions that it became.

The compiler reorders, merges and unrolls, so the instructions of one line need not stand together;
the number before each one is its place in the program. Loads and stores are coloured by the memory
they go to. Most of the rest is arithmetic with addresses.

How the real one differs: PTX is not what runs: `ptxas` translates it for one chip. `cuobjdump
--dump-sass` shows that, and Compiler Explorer draws the same picture as this one for it.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas, shorten, text_width
from viz.scene import Picture
from viz.text import plural

FOLD = 8  # instructions of one line that are shown
LINE, SIZE = 17.0, 11.5
SOURCE_WIDTH = 460.0
ROLES = (
    ("storage", "global memory", ("ld.global", "st.global", "atom", "red")),
    ("copied", "shared or local memory", ("ld.shared", "st.shared", "ld.local", "st.local")),
    ("warning", "barrier", ("bar", "barrier", "membar", "fence", "shfl", "vote")),
    ("view", "arithmetic with floats", ()),
    ("ready", "jump", ("bra", "ret", "call", "exit")),
)
FLOATS = (".f16", ".f32", ".f64", ".bf16")


@dataclass
class Step:
    """One instruction: its number in the program, its text, and the role of its colour ("" for the
    others).
    """

    number: int
    text: str
    role: str


@dataclass
class Row:
    """One line of the source, with what it became. `line` is 0 for what belongs to none."""

    line: int
    source: str
    steps: list[Step] = field(default_factory=list)


@dataclass
class PtxPicture(Picture):
    name: str
    target: str
    rows: list[Row]
    counts: dict[str, int]
    fold: int
    ptx: str  # the whole text

    def title(self) -> str:
        return f"viz.ptx: {self.name}"

    def facts(self) -> list[str]:
        """What the kernel is made of."""
        total = sum(self.counts.values())
        most = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        memory = [
            f"{n} {kind}"
            for kind, n in self.counts.items()
            if kind.split(".")[0] in ("ld", "st", "atom", "bar", "red")
        ]
        return [
            f"{plural(total, 'instruction')} for {self.target}",
            f"memory and barriers: {', '.join(memory) or 'none'}",
            f"most frequent: {', '.join(f'{n} {kind}' for kind, n in most[:6])}",
        ]

    def shown(self, row: Row) -> tuple[list[Step], int]:
        """The steps of a row to be drawn, those with a colour first chosen, and how many are left
        out.
        """
        if len(row.steps) <= self.fold:
            return row.steps, 0
        marked = [s for s in row.steps if s.role][: self.fold]
        others = [s for s in row.steps if not s.role][: self.fold - len(marked)]
        return sorted([*marked, *others], key=lambda s: s.number), len(row.steps) - len(
            marked
        ) - len(others)

    def text(self) -> str:
        lines = [f"{self.name}: PTX", *(f"    {fact}" for fact in self.facts())]
        for row in self.rows:
            lines.append(f"{row.line or '':>5}  {row.source}".rstrip())
            steps, hidden = self.shown(row)
            lines += [f"       {'|':>4} {s.number:>4}  {s.text}" for s in steps]
            lines += [f"       {'|':>4}       (and {hidden} more)"] if hidden else []
        return "\n".join(lines)

    def canvas(self) -> Canvas:
        return ptx_canvas(self)


def ptx(
    kernel: Any,
    *argument_types: Any,
    cc: tuple[int, int] = (9, 0),
    fastmath: bool = False,
    fold: int = FOLD,
) -> PtxPicture:
    """Compile `kernel` for arguments of these types (see `internals.cuda.ptx.ptx`) and show its
    source beside the PTX.

    Of each line `fold` instructions are shown; the whole text is `.ptx`. Raises PtxUnavailable (of
    `internals.cuda.ptx`) where there is no compiler, and PtxError if the kernel does not compile.
    """
    from internals.cuda.foreign import as_kernel
    from internals.cuda.ptx import ptx as compiled

    program = as_kernel(kernel)
    text = compiled(program, *argument_types, cc=cc, fastmath=fastmath, lineinfo=True)
    lines, first = inspect.getsourcelines(program.function)
    return scene(text, lines, first, fold)


def scene(text: Any, source: list[str], first: int, fold: int = FOLD) -> PtxPicture:
    """Put the instructions of a `Ptx` beside the lines of `source`, the first of which has the
    number `first`.
    """
    dedented = textwrap.dedent("".join(source)).splitlines()
    start = next((n for n, line in enumerate(dedented) if line.lstrip().startswith("def ")), 0)
    rows = [Row(first + n, line) for n, line in enumerate(dedented) if n >= start and line.strip()]
    rows = _without_docstring(rows)
    at = {row.line: row for row in rows}
    rest = Row(0, "(no line: moved, or of a function in another file)")
    for number, instruction in enumerate(text.instructions()):
        row = at.get(instruction.line) or _line_before(rows, instruction.line) or rest
        row.steps.append(Step(number, instruction.text.rstrip(";"), role_of(instruction.opcode)))
    target = next((line.split()[1] for line in text.splitlines() if line.startswith(".target")), "")
    return PtxPicture(
        text.name, target, rows + ([rest] if rest.steps else []), text.counts(), fold, str(text)
    )


def role_of(opcode: str) -> str:
    """The colour of an instruction; empty for arithmetic with integers and for moves."""
    for role, _, starts in ROLES:
        if any((opcode + ".").startswith(start + ".") for start in starts):
            return role
    return (
        "view"
        if opcode.endswith(FLOATS) and not opcode.startswith(("mov", "cvt", "setp", "selp"))
        else ""
    )


def _without_docstring(rows: list[Row]) -> list[Row]:
    """The rows without the lines of a docstring behind `def`."""
    quotes = '"' * 3
    body = 1 + next(
        (n for n, row in enumerate(rows) if row.source.split("#")[0].rstrip().endswith(":")), 0
    )
    if body < len(rows) and rows[body].source.strip().startswith(quotes):
        end = body
        while not (
            rows[end].source.rstrip().endswith(quotes)
            and (end > body or rows[end].source.count(quotes) > 1)
        ):
            end += 1
        return rows[:body] + rows[end + 1 :]
    return rows


def _line_before(rows: list[Row], line: int) -> Row | None:
    """The row of a statement that goes over several lines: the last one that begins before
    `line`.
    """
    if not rows or not rows[0].line <= line <= rows[-1].line:
        return None
    return [row for row in rows if row.line <= line][-1]


def ptx_canvas(p: PtxPicture) -> Canvas:
    canvas = Canvas(p.title(), "; ".join(p.facts()))
    chip = canvas.chip(0, 0, p.name, "key", 13, "mono", bold=True)
    canvas.text(chip.right + 12, 15, p.facts()[0], 12, paint="muted")
    y = 32.0
    for fact in p.facts()[1:]:
        canvas.text(0, y + 10, fact, 12)
        y += 18
    y += 10
    left = 40.0
    widest = max((text_width(row.source, SIZE, "mono") for row in p.rows if row.line), default=0.0)
    right = left + min(SOURCE_WIDTH, max(220.0, widest)) + 28
    for row in p.rows:
        steps, hidden = p.shown(row)
        tall = max(1, len(steps) + bool(hidden)) * LINE
        if row.line:
            canvas.text(left - 12, y + 13, str(row.line), 10, "end", "mono", "muted")
        room = right - left - 20
        font = "mono" if row.line else "sans"
        canvas.text(
            left,
            y + 13,
            shorten(row.source, room, SIZE, font),
            SIZE,
            font=font,
            paint="ink" if row.line else "muted",
        )
        for n, step in enumerate(steps):
            top = y + n * LINE
            canvas.text(right + 30, top + 13, str(step.number), 9.5, "end", "mono", "muted")
            if step.role:
                box = canvas.rect(
                    right + 38,
                    top + 1,
                    text_width(step.text, 11, "mono") + 12,
                    LINE - 2,
                    f"{step.role}-soft",
                    step.role,
                    2,
                    0.8,
                )
                canvas.text(box.x + 6, top + 13, step.text, 11, font="mono")
            else:
                canvas.text(right + 44, top + 13, step.text, 11, font="mono", paint="muted")
        if hidden:
            canvas.text(
                right + 44, y + len(steps) * LINE + 13, f"and {hidden} more", 10.5, paint="muted"
            )
        y += tall + 6
        canvas.line([(0, y - 3), (right + 330, y - 3)], "line", 0.5)
    used = {step.role for row in p.rows for step in row.steps}
    canvas.key(0, y + 8, [(role, words) for role, words, _ in ROLES if role in used])
    return canvas
