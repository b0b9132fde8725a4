"""`viz.step`: the interpreter at work on the reader's own input, one instruction at a time.

Every frame shows the state before an instruction: the instruction about to run, what the registers
hold, and the stack. The run is real: it is recorded first, by the interpreter itself, and drawn
after.

How the real one differs: PyTorch's interpreter cannot be stepped; a debugger on the C++ code can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from viz.canvas import Canvas, shorten, text_width
from viz.palette import HUES
from viz.rooms.bytecode import Bytecode, code_of, draw_rows, row_box, rows_of, value_text, window
from viz.stepper import FORM, Stepper, one_style_sheet
from viz.svg import svg
from viz.text import plural

STEPS_AT_MOST = 48
VALUE = 300.0


@dataclass
class Machine(Bytecode):
    """The state before one instruction. `held` are (register, value) pairs, `fresh` those that
    changed in the step before.
    """

    held: list[tuple[str, str]] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)
    stack: list[str] = field(default_factory=list)

    def text(self) -> str:
        current = next((r for r in self.rows if r.pc == self.current), None)
        head = f"next: {current.pc} {current.text}   ({current.note})" if current else "end"
        registers = (
            ", ".join(f"{'*' if n in self.fresh else ''}%{n} = {v}" for n, v in self.held)
            or "empty"
        )
        return f"{head}\nregisters: {registers}\nstack:     {' | '.join(self.stack) or 'empty'}"

    def canvas(self) -> Canvas:
        """The listing, and to its right registers and stack: what moves stands beside what does
        not.
        """
        canvas = self.listing(self.current)
        self._draw_state(canvas, canvas.bounds().right + 34)
        return canvas

    def listing(self, current: int | None = None) -> Canvas:
        """Only the instructions."""
        canvas = Canvas(self.title(), self.text().replace("\n", "; "))
        draw_rows(canvas, self.rows, current)
        return canvas

    def state(self) -> Canvas:
        """Only the registers and the stack."""
        canvas = Canvas(self.title(), self.text().replace("\n", "; "))
        self._draw_state(canvas, 0)
        return canvas

    def _draw_state(self, canvas: Canvas, x: float) -> None:
        y = _heading(canvas, x, 12, "registers", bool(self.held))
        for name, value in self.held:
            text = f"%{name} = {_short(value)}"
            if name in self.fresh:
                canvas.rect(x, y, 14 + text_width(text, 11, "mono"), 16, "ready-soft", "ready")
            canvas.text(
                x + 7, y + 12, text, 11, font="mono", tip=value if _short(value) != value else ""
            )
            y += 19
        y = _heading(canvas, x, y + 26, "stack, top first", bool(self.stack))
        for value in reversed(self.stack):
            y = canvas.chip(x, y, _short(value), "view", font="mono").bottom + 4

    def title(self) -> str:
        return f"viz.step: {self.name}"


class Steps(Stepper):
    """The frames. On a page each listing stands once: a bar moves along it, and registers and stack
    change beside it.
    """

    def html(self) -> str:
        machines: list[Machine] = [frame for _, frame in self.frames]  # type: ignore[misc]
        listings: list[list[int]] = []
        for n, m in enumerate(machines):
            same = next((of for of in listings if machines[of[0]].rows is m.rows), None)
            if same is None:
                listings.append([n])
            else:
                same.append(n)
        left = "".join(_listing_html(machines, numbers) for numbers in listings)
        columns = f'<div style="flex:none">{left}</div><div style="flex:none">{self.panes()}</div>'
        form = (
            f"{self.style()}{FORM}{self.buttons()}"
            f'<div style="display:flex;gap:1em;overflow-x:auto">{columns}</div></form>'
        )
        return one_style_sheet(form, self.text())

    def frame_html(self, frame: object) -> str:
        return svg(frame.state()) if isinstance(frame, Machine) else super().frame_html(frame)


def step(fn: Any, *args: Any, limit: int = STEPS_AT_MOST) -> Stepper:
    """Run a scripted or traced function, or a module, on `args` and show the first `limit` steps.

    The bytecode is that of the graph as written, not optimised. Of a long listing only the part
    around the steps is shown. Raises TypeError for what has none, and what the run raises.
    """
    from internals.jit.runtime.interpreter import record

    code = code_of(fn)
    machines: list[Machine] = []
    codes: list[Any] = []
    captions: list[str] = []
    before: dict[int, dict[str, str]] = {}  # what the registers of each active call held
    steps = record(code, *arguments_of(fn, args))
    for s in islice(steps, limit):
        held = {name: value_text(value) for name, value in s.registers.items()}
        old = before.get(s.depth, {})
        before = {depth: registers for depth, registers in before.items() if depth < s.depth} | {
            s.depth: held
        }
        fresh = {name for name, value in held.items() if old.get(name) != value}
        stack = [value_text(v) for v in s.stack]
        total = len(s.code.instructions)
        machines.append(
            Machine(
                s.code.name, [], s.code.register_size, s.pc, total, list(held.items()), fresh, stack
            )
        )
        codes.append(s.code)
        captions.append(f"{s.pc} {s.instruction}" + (f" in {s.code.name}" if s.depth > 1 else ""))
    for c in {id(c): c for c in codes}.values():
        its = [m for m, of in zip(machines, codes) if of is c]
        rows = window(rows_of(c), {m.current for m in its if m.current is not None})
        for m in its:
            m.rows = rows
    rest = sum(1 for _ in steps)
    title = f"{code.name}, step by step" + (
        f" (the first {limit} steps; {plural(rest, 'more step')} not shown)" if rest else ""
    )
    return Steps(zip(captions, machines), title)


def arguments_of(fn: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of the graph for a call `fn(*args)`: a module comes first, defaults are filled
    in.
    """
    if hasattr(fn, "instructions"):
        return args
    function, leading = (fn, ()) if hasattr(fn, "executor") else (fn.forward.function, (fn,))
    return tuple(function._arguments((*leading, *args), {}))


def _listing_html(machines: list[Machine], numbers: list[int]) -> str:
    """One listing for the frames with these numbers, and a bar on it for each of them."""
    first = machines[numbers[0]]
    canvas = first.listing()
    sheet = canvas.sheet()
    bars = []
    for n in numbers:
        pc = machines[n].current
        box = row_box(first.rows, pc if pc is not None else 0)
        bars.append(
            f'<div class="iv-f iv-f{n}" style="position:absolute;pointer-events:none;'
            f"left:{box.x - sheet.x:g}px;top:{box.y - sheet.y:g}px;"
            f"width:{box.w:g}px;height:{box.h:g}px;background:{HUES['ready']}40;"
            f'outline:1px solid {HUES["ready"]};border-radius:3px"></div>'
        )
    frames = " ".join(f"iv-f{n}" for n in numbers)
    return (
        f'<div class="iv-f {frames}"><div '
        f'style="position:relative">{svg(canvas)}{"".join(bars)}</div></div>'
    )


def _heading(canvas: Canvas, x: float, y: float, text: str, filled: bool) -> float:
    """A title, and "empty" where nothing follows; where the next line's top is."""
    canvas.text(x, y, text, 11.5, bold=True, paint="muted")
    if filled:
        return y + 8
    canvas.text(x + 7, y + 20, "empty", 11, paint="muted")
    return y + 26


def _short(value: str) -> str:
    return shorten(value, VALUE, 11, "mono")
