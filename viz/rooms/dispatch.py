"""`viz.dispatch`: which layers one call went through.

Rows are dispatch keys, highest priority on top; columns are the operator calls in the order they
were made. In each column the call enters at the highest key of its key set and works its way down:
it falls through keys where nothing is registered, runs the kernel of the first one that has a
kernel, and that kernel may redispatch to the keys below.

How the real one differs: PyTorch prints the same walk as text when TORCH_SHOW_DISPATCH_TRACE=1 is
set in a debug build.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas, text_width
from viz.scene import Picture
from viz.text import plural, table

NOT_RUNTIME = ("Undefined", "Autograd", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
CALLS_AT_MOST = 12
ROW = 30.0


@dataclass
class Step:
    """One key of one call: `kind` is "kernel", "composite" or "fallthrough"."""

    key: str
    kind: str
    kernel: str
    rule: str = ""
    left: tuple[str, ...] = ()

    @property
    def falls_back(self) -> bool:
        """Whether its key has no kernel for the operator, and has the CPU do the work on copies."""
        return self.kind != "fallthrough" and self.kernel.endswith("cpu_fallback")


@dataclass
class Call:
    """One operator call: the keys it met, from the top."""

    op: str
    steps: list[Step] = field(default_factory=list)

    @property
    def calls_others(self) -> bool:
        """Whether its last kernel calls other operators: it is made of them
        (CompositeImplicitAutograd), or falls back.
        """
        last = self.steps[-1]
        return (
            last.falls_back or last.rule == "math kernel" if last.rule else last.kind == "composite"
        )

    def at(self, key: str) -> Step | None:
        return next((step for step in self.steps if step.key == key), None)


@dataclass
class Dispatch(Picture):
    function: str
    keys: list[str]  # by priority, highest first
    calls: list[Call]

    def summary(self) -> str:
        """ "3 operator calls", and which of them went to the CPU for want of a kernel."""
        if not self.calls:
            return "no operator was called"
        fallen = list(
            dict.fromkeys(
                call.op.removeprefix("aten::") for call in self.calls if call.steps[-1].falls_back
            )
        )
        return plural(len(self.calls), "operator call") + (
            f"; no CUDA kernel for {', '.join(fallen)}: CPU fallback" if fallen else ""
        )

    def state(self, call: Call, key: str) -> str:
        """ "ran", "fell through", "not in the key set" or "not reached"."""
        step = call.at(key)
        if step is not None:
            return "fell through" if step.kind == "fallthrough" else "ran"
        return "not reached" if key in call.steps[-1].left else "not in the key set"

    def text(self) -> str:
        return dispatch_text(self)

    def canvas(self) -> Canvas:
        return dispatch_canvas(self)


def dispatch(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Dispatch:
    """Call `function(*args, **kwargs)` and show every operator call in it, key by key.

    What `function` raises is raised. While it runs, calls take the readable path through the
    dispatcher.
    """
    import internals

    with internals._dispatch_trace() as steps:
        function(*args, **kwargs)
    return scene(getattr(function, "__name__", type(function).__name__), steps)


def scene(function: str, steps: list[dict[str, Any]]) -> Dispatch:
    """Group the dispatcher's steps into calls: the same operator, going down in priority, is one
    call.
    """
    calls: list[Call] = []
    last: dict[str, Any] | None = None
    for step in steps:
        if last is None or step["op"] != last["op"] or step["key"] >= last["key"]:
            calls.append(Call(step["op"]))
        left = tuple(key.name for key in step.get("left", ()))
        calls[-1].steps.append(
            Step(step["key"].name, step["kind"], step["kernel"], step.get("rule", ""), left)
        )
        last = step
    keys: list[str] = []
    if steps:
        every: list[Any] = sorted(type(steps[0]["key"]).__members__.values(), reverse=True)
        keys = [key.name for key in every if key.name not in NOT_RUNTIME]
    return Dispatch(function, keys, calls)


def dispatch_text(scene: Dispatch) -> str:
    if not scene.calls:
        return f"{scene.function}: no operator was called"
    blocks = [f"{scene.function}: {scene.summary()}"]
    for number, call in enumerate(scene.calls[:CALLS_AT_MOST]):
        rows = []
        for key in scene.keys:
            step, state = call.at(key), scene.state(call, key)
            if state == "not in the key set":
                continue
            kernel = step.kernel if step and state == "ran" else ""
            rule = (
                f"({step.rule})"
                if step and state == "ran" and step.rule not in ("", "kernel")
                else ""
            )
            rule = (
                "(backend fallback: copies its arguments to the CPU)"
                if step and step.falls_back
                else rule
            )
            again = (
                "-> redispatches" if step and state == "ran" and step is not call.steps[-1] else ""
            )
            rows.append([key, state, kernel, rule, again])
        absent = [key for key in scene.keys if scene.state(call, key) == "not in the key set"]
        blocks.append(f"{number + 1}. {call.op}\n" + table(rows, indent=4))
        blocks.append(f"    (not in the key set: {', '.join(absent)})")
    if hidden := len(scene.calls) - CALLS_AT_MOST:
        blocks += [f"({plural(hidden, 'more call')} hidden)"] if hidden > 0 else []
    return "\n".join(blocks)


def dispatch_canvas(scene: Dispatch) -> Canvas:
    canvas = Canvas(f"viz.dispatch: {scene.function}", dispatch_text(scene).split("\n")[0])
    x = canvas.text(0, 13, scene.function, 14, font="mono", bold=True).right
    shown = scene.calls[:CALLS_AT_MOST]
    summary = scene.summary()
    if len(scene.calls) > len(shown):
        summary += f", of which {len(scene.calls) - len(shown)} are hidden"
    canvas.text(x + 12, 13, summary, 12, paint="muted")
    if not scene.calls:
        return canvas
    top, left = 62.0, max(text_width(key, 12, "mono", True) for key in scene.keys) + 20
    canvas.text(0, top - 12, "priority", 11, paint="muted")
    canvas.line([(58, top - 20), (58, top - 8)], arrow=True)
    for n, key in enumerate(scene.keys):
        y = top + n * ROW
        involved = any(call.at(key) for call in shown)
        canvas.text(
            0, y + 19, key, 12, font="mono", bold=involved, paint="ink" if involved else "muted"
        )
    x = left
    previous: tuple[float, float] | None = None
    for number, call in enumerate(shown):
        width = _width(call)
        canvas.text(
            x + width / 2, top - 12, f"{number + 1}. {call.op}", 12, "middle", "mono", bold=True
        )
        exit_ = _draw_call(canvas, scene, call, x, top, width)
        if previous is not None:
            entry = top + scene.keys.index(call.steps[0].key) * ROW + ROW / 2
            middle = x - 17
            points = [previous, (middle, previous[1]), (middle, entry), (x - 1, entry)]
            canvas.line(points, "key", arrow=True, tip="the kernel calls the next operator")
        previous = exit_ if call.calls_others else None
        x += width + 34
    bottom = top + len(scene.keys) * ROW
    for n in range(len(scene.keys) + 1):
        line = [(0.0, top + n * ROW), (x - 34, top + n * ROW)]
        canvas.marks.insert(0, _rule(line))
    roles = [("key", "kernel that ran"), ("free", "fell through")]
    if any(step.falls_back for call in shown for step in call.steps):
        roles.append(("shared", "no kernel: the CPU does the work, on copies"))
    canvas.key(0, bottom + 12, roles)
    return canvas


def _rule(points: list[tuple[float, float]]) -> Any:
    from viz.canvas import Line

    return Line(tuple(points), "line", 0.6)


def _width(call: Call) -> float:
    names = [step.kernel for step in call.steps if step.kind != "fallthrough"]
    widths = [text_width(name, 12, "mono", True) + 20 for name in names]
    return max([120.0, text_width(call.op, 12, "mono") + 44, *widths])


def _draw_call(
    canvas: Canvas, scene: Dispatch, call: Call, x: float, top: float, width: float
) -> tuple[float, float]:
    """One column; the place its last kernel can call others from."""
    where = (0.0, 0.0)
    # the bottom of the step above, and whether it redispatched
    before: tuple[float, bool] | None = None
    for n, key in enumerate(scene.keys):
        y, step = top + n * ROW, call.at(key)
        if step is None:
            if scene.state(call, key) == "not in the key set":
                canvas.rect(
                    x + width / 2 - 2,
                    y + ROW / 2 - 2,
                    4,
                    4,
                    "line",
                    None,
                    2,
                    tip="not in the key set",
                )
            continue
        ran = step.kind != "fallthrough"
        role = "shared" if step.falls_back else "key" if ran else "free"
        tip = f"{call.op} at {key}: {step.rule or step.kind}"
        box = canvas.rect(
            x, y + 4, width, ROW - 8, f"{role}-soft", role, dashed=not ran, width=1.4, tip=tip
        )
        if ran:
            canvas.label(box, step.kernel, 12, bold=True)
        else:
            canvas.label(box, "falls through", 11, "sans", paint="muted")
        if before is not None:
            at = x + 14
            canvas.line([(at, before[0]), (at, y + 4)], "key" if before[1] else "free", arrow=True)
        before = (y + ROW - 4, ran)
        where = (box.right, y + ROW / 2)
    return where
