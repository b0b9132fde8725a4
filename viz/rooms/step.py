"""`viz.step`: the interpreter at work on the reader's own input, one instruction at a time.

Every frame shows the state before an instruction: the instruction about to run, what the registers hold, and the stack. The run
is real: it is recorded first, by the interpreter itself, and drawn after.

How the real one differs: PyTorch's interpreter cannot be stepped; a debugger on the C++ code can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from viz.canvas import Canvas, shorten, text_width
from viz.rooms.bytecode import Bytecode, code_of, draw_rows, rows_of, value_text
from viz.stepper import Stepper
from viz.text import plural

STEPS_AT_MOST = 48
VALUE = 300.0


@dataclass
class Machine(Bytecode):
    """The state before one instruction. `held` are (register, value) pairs, `fresh` those that changed in the step before."""

    held: list[tuple[str, str]] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)
    stack: list[str] = field(default_factory=list)

    def text(self) -> str:
        current = next((r for r in self.rows if r.pc == self.current), None)
        head = f"next: {current.pc} {current.text}   ({current.note})" if current else "end"
        registers = ", ".join(f"{'*' if n in self.fresh else ''}%{n} = {v}" for n, v in self.held) or "empty"
        return f"{head}\nregisters: {registers}\nstack:     {' | '.join(self.stack) or 'empty'}"

    def canvas(self) -> Canvas:
        """The listing, and to its right registers and stack: what moves stands beside what does not."""
        canvas = Canvas(f"viz.step: {self.name}", self.text().replace("\n", "; "))
        draw_rows(canvas, self.rows, self.current)
        x = canvas.bounds().right + 34
        y = _heading(canvas, x, 12, "registers", bool(self.held))
        for name, value in self.held:
            text = f"%{name} = {_short(value)}"
            if name in self.fresh:
                canvas.rect(x, y, 14 + text_width(text, 11, "mono"), 16, "ready-soft", "ready")
            canvas.text(x + 7, y + 12, text, 11, font="mono")
            y += 19
        y = _heading(canvas, x, y + 26, "stack, top first", bool(self.stack))
        for value in reversed(self.stack):
            y = canvas.chip(x, y, _short(value), "view", font="mono").bottom + 4
        return canvas


def step(fn: Any, *args: Any, limit: int = STEPS_AT_MOST) -> Stepper:
    """Run a scripted or traced function, or a module, on `args` and show the first `limit` steps.

    The bytecode is that of the graph as written, not optimised. Raises TypeError for what has none, and what the run raises.
    """
    from internals.jit.runtime.interpreter import record

    code = code_of(fn)
    leading = (fn,) if hasattr(fn, "original_name") else ()
    frames: list[tuple[str, Machine]] = []
    before: dict[str, str] = {}
    steps = record(code, *leading, *args)
    for s in islice(steps, limit):
        held = {name: value_text(value) for name, value in s.registers.items()}
        fresh = {name for name, value in held.items() if before.get(name) != value}
        rows = rows_of(s.code)
        machine = Machine(
            s.code.name, rows, s.code.register_size, s.pc, list(held.items()), fresh, [value_text(v) for v in s.stack]
        )
        where = f" in {s.code.name}" if s.depth > 1 else ""
        frames.append((f"{s.pc} {s.instruction}{where}", machine))
        before = held
    rest = sum(1 for _ in steps)
    title = f"{code.name}, step by step" + (
        f" (the first {limit} steps; {plural(rest, 'more step')} not shown)" if rest else ""
    )
    return Stepper(frames, title)


def _heading(canvas: Canvas, x: float, y: float, text: str, filled: bool) -> float:
    """A title, and "empty" where nothing follows; where the next line's top is."""
    canvas.text(x, y, text, 11.5, bold=True, paint="muted")
    if filled:
        return y + 8
    canvas.text(x + 7, y + 20, "empty", 11, paint="muted")
    return y + 26


def _short(value: str) -> str:
    return shorten(value, VALUE, 11, "mono")
