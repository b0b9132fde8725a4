"""`viz.bytecode`: the instructions a graph compiles to, with their jumps, beside what they stand
for.

How the real one differs: PyTorch prints the list, when asked by a debugging environment variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Box, Canvas, shorten, text_width
from viz.scene import Picture
from viz.text import corrected, plural

ROW = 17.0
SIZE = 11.5
NOTE = 420.0
ROWS_AT_MOST = 120
VALUE_AT_MOST = 60
JUMPS = {
    "JF": "pop; if false, go to {target}",
    "JMP": "go to {target}",
    "LOOP": "next turn, or leave to {target}",
}


@dataclass
class BytecodeRow:
    """One instruction. `target` is where it may jump to; `note` says what it does here; `line` is
    the line in the source.
    """

    pc: int
    text: str
    note: str
    role: str = "free"
    target: int | None = None
    line: int | None = None


@dataclass
class Bytecode(Picture):
    """The scene. `current` is the instruction to be marked, in a stepper; `total` counts those not
    shown, too.
    """

    name: str
    rows: list[BytecodeRow] = field(default_factory=list)
    registers: int = 0
    current: int | None = None
    total: int = 0

    def summary(self) -> str:
        return f"{plural(self.total, 'instruction')}, {plural(self.registers, 'register')}"

    def hidden(self) -> str:
        """What is said about instructions that are not shown."""
        rest = self.total - len(self.rows)
        return f"... {plural(rest, 'more instruction')} not shown" if rest else ""

    def text(self) -> str:
        width = max((len(r.text) for r in self.rows), default=0)
        lines = [f"bytecode of {self.name}: {self.summary()}"]
        for r in self.rows:
            mark = ">" if r.pc == self.current else " "
            lines.append(f"  {mark}{r.pc:4d}  {r.text:<{width}}  {r.note}".rstrip())
        return "\n".join([*lines, *([f"        {self.hidden()}"] if self.hidden() else [])])

    def canvas(self) -> Canvas:
        canvas = Canvas(self.title(), f"bytecode of {self.name}: {self.summary()}")
        canvas.text(0, 13, f"bytecode of {self.name}", 14, bold=True)
        canvas.text(0, 31, self.summary(), 11.5, paint="muted")
        body = Canvas()
        draw_rows(body, self.rows, self.current, self.hidden())
        canvas.stack(body, gap=14)
        return canvas

    def title(self) -> str:
        return f"viz.bytecode: {self.name}"


def bytecode(fn: Any, limit: int = ROWS_AT_MOST) -> Bytecode:
    """The bytecode of a scripted or traced function or module, or of a `Code` of `internals.jit`;
    the first `limit` instructions.

    Raises TypeError for what has none.
    """
    code = code_of(fn)
    rows = rows_of(code)
    return Bytecode(code.name, rows[:limit], code.register_size, total=len(rows))


def code_of(fn: Any) -> Any:
    """The `Code`. Raises TypeError when there is none."""
    code = fn if hasattr(fn, "instructions") else getattr(fn, "bytecode", None)
    if code is None or not hasattr(code, "instructions"):
        raise TypeError(
            corrected(
                f"a {type(fn).__name__} has no bytecode: what jit.script and jit.trace return does",
                "viz.bytecode(f)",
                "viz.bytecode(torch.jit.script(f))",
            )
        )
    return code


def rows_of(code: Any) -> list[BytecodeRow]:
    """The instructions, explained."""
    rows = []
    for pc, instruction in enumerate(code.instructions):
        target = pc + instruction.X if instruction.op in JUMPS else None
        where = code.source[pc].sourceRange() if pc < len(code.source) else None
        place = where.file_line_col() if where is not None else None
        role = (
            "ready" if target is not None else "key" if code.operations[pc] is not None else "free"
        )
        rows.append(
            BytecodeRow(
                pc,
                str(instruction),
                _note(code, pc, instruction),
                role,
                target,
                place[1] if place else None,
            )
        )
    return rows


def window(rows: list[BytecodeRow], visited: Collection[int], around: int = 6) -> list[BytecodeRow]:
    """The rows to show of a long listing: those that were visited, and a few on either side."""
    if len(rows) <= 60:
        return rows
    return rows[max(0, min(visited) - around) : max(visited) + around + 1]


def _note(code: Any, pc: int, instruction: Any) -> str:
    """What an instruction does in this code: names of registers, values of constants, names of
    operators.
    """
    from internals.jit.runtime.code import OPCODES

    op, x, n = instruction.op, instruction.X, instruction.N
    if op in ("LOAD", "MOVE", "STORE", "DROPR"):
        words = {"LOAD": "push", "MOVE": "push, clear", "STORE": "pop into", "DROPR": "clear"}
        return f"{words[op]} %{code.values[x - 1].debugName()}"
    if op == "STOREN":
        return f"pop into {', '.join('%' + v.debugName() for v in code.values[x - 1 : x - 1 + n])}"
    if op in JUMPS:
        return JUMPS[op].format(target=pc + x)
    if op == "LOADC":
        return f"push {value_text(code.constant_table[x])}"
    if op in ("GET_ATTR", "SET_ATTR"):
        name = code.source[pc].s("name")
        return (
            f"pop an object, push its {name}"
            if op == "GET_ATTR"
            else f"pop a value and an object, store its {name}"
        )
    operation = code.operations[pc]
    if op in ("OP", "OPN") and operation is not None:
        return f"{operation.name}: {operation.num_inputs} in, {operation.num_outputs} out"
    return _filled(code, OPCODES[op][1], instruction)


def _filled(code: Any, words: str, instruction: Any) -> str:
    """The general explanation of an opcode, with this instruction's operands: "pop 2 values, push a
    tuple of them".
    """
    x, n = instruction.X, instruction.N
    if "type X" in words:
        words = words.replace("type X", f"type {code.type_table[x].annotation_str}")
    if "function X" in words:
        words = words.replace(
            "function X", f"function {getattr(code.function_table[x], 'name', x)}"
        )
    words = words.replace("X - 1", str(x - 1))
    return re.sub(r"\b[XN]\b", lambda found: str(x if found.group() == "X" else n), words)


def value_text(value: Any) -> str:
    """A value in a few characters: numbers and strings as they are, tensors by their numbers if
    there are few.
    """
    if hasattr(value, "untyped_storage"):
        return _tensor_text(value)
    if isinstance(value, (list, tuple)):
        inside = ", ".join(value_text(v) for v in value[:4]) + (", …" if len(value) > 4 else "")
        one = "," if len(value) == 1 else ""
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{one})"
    if isinstance(value, dict):
        pairs = [f"{value_text(k)}: {value_text(v)}" for k, v in list(value.items())[:4]]
        return "{" + ", ".join(pairs + ["…"] * (len(value) > 4)) + "}"
    if hasattr(value, "original_name"):
        return f"<{value.original_name}>"
    text = (
        repr(value)
        if isinstance(value, (int, float, complex, str, bool, type(None)))
        else str(value)
    )
    return text if len(text) <= VALUE_AT_MOST else f"{text[: VALUE_AT_MOST - 1]}…"


def _tensor_text(t: Any) -> str:
    """`tensor([1., 2.])`; a larger one by its dtype and shape."""
    if t.numel() > 4:
        return f"{str(t.dtype).rpartition('.')[2]} {tuple(t.shape)}"
    numbers = str(t.detach()).partition("(")[2].rpartition(")")[0]
    return f"tensor({' '.join(numbers.partition(', dtype')[0].partition(', size')[0].split())})"


def draw_rows(
    canvas: Canvas, rows: list[BytecodeRow], current: int | None, hidden: str = ""
) -> None:
    """The listing: jumps as arrows on the left, then number, instruction, note."""
    lanes = _lanes(rows)
    left, text_at, note_at, _ = _columns(rows)
    y = {r.pc: ROW * i for i, r in enumerate(rows)}
    for r in rows:
        if r.pc == current:
            box = row_box(rows, r.pc)
            canvas.rect(box.x, box.y, box.w, box.h, "ready-soft", "ready", radius=3)
        canvas.text(left + 24, y[r.pc] + 12.5, str(r.pc), 10.5, "end", "mono", "muted")
        canvas.text(
            text_at, y[r.pc] + 12.5, r.text, SIZE, font="mono", bold=r.role == "key", paint="ink"
        )
        shown = shorten(r.note, NOTE, 11, "sans")
        canvas.text(
            note_at, y[r.pc] + 12.5, shown, 11, paint="muted", tip=r.note if shown != r.note else ""
        )
    if hidden:
        canvas.text(text_at, ROW * len(rows) + 12.5, hidden, 11, paint="muted")
    for r in rows:
        if r.target is not None and r.target in y:
            x = left - 8 - 14 * lanes[r.pc]
            start, end = y[r.pc] + ROW / 2, y[r.target] + ROW / 2
            canvas.line(
                [(left - 2, start), (x, start), (x, end), (left - 2, end)], "ready", 1.2, arrow=True
            )


def row_box(rows: list[BytecodeRow], pc: int) -> Box:
    """Where `draw_rows` puts an instruction."""
    left, _, _, right = _columns(rows)
    at = next(i for i, r in enumerate(rows) if r.pc == pc)
    return Box(left - 4, ROW * at, right - left + 4, ROW)


def _columns(rows: list[BytecodeRow]) -> tuple[float, float, float, float]:
    """Where the numbers, the instructions and the notes begin, and where the notes end."""
    left = 14.0 * (max(_lanes(rows).values(), default=-1) + 1) + 8
    text_at = left + 34
    note_at = text_at + max((text_width(r.text, SIZE, "mono", True) for r in rows), default=0) + 22
    return (
        left,
        text_at,
        note_at,
        note_at + min(NOTE, max((text_width(r.note, 11) for r in rows), default=0)) + 8,
    )


def _lanes(rows: list[BytecodeRow]) -> dict[int, int]:
    """Which of the parallel lines on the left each jump takes: short ones inside."""
    shown = {r.pc for r in rows}
    jumps = sorted(
        (abs(r.target - r.pc), r.pc, r.target)
        for r in rows
        if r.target is not None and r.target in shown
    )
    lanes: dict[int, int] = {}
    taken: list[list[tuple[int, int]]] = []
    for _, pc, target in jumps:
        low, high = min(pc, target), max(pc, target)
        lane = 0
        while lane < len(taken) and any(a <= high and low <= b for a, b in taken[lane]):
            lane += 1
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes[pc] = lane
    return lanes
