"""How a `viz.pyobject` scene reads and how it is drawn."""

from __future__ import annotations

from viz.canvas import Canvas, text_width
from viz.rooms.pyobject import Field, PyObject
from viz.text import table

ROW = 26.0


def pyobject_text(scene: PyObject) -> str:
    size = "" if scene.size is None else f", {scene.size} bytes"
    lines = [f"{scene.type_name}: struct {scene.struct}{size}", _rows(scene.fields)]
    if scene.array_note:
        lines.append(scene.array_note)
    if scene.array:
        lines.append(_rows(scene.array))
    lines += [f"({note})" for note in scene.notes]
    return "\n".join([*lines, "", scene.declaration])


def _rows(fields: list[Field]) -> str:
    rows = [
        [_offset(f), f.nbytes, f"{f.ctype}{'' if f.pointer else ' '}{f.name}", f.value]
        for f in fields
    ]
    return table(rows, ["offset", "bytes", "field", "value"], indent=4, right=[0, 1])


def _offset(field: Field) -> str:
    return "varies" if field.offset is None else f"+{field.offset}"


def pyobject_canvas(scene: PyObject) -> Canvas:
    canvas = Canvas(
        f"viz.pyobject: {scene.struct}", "; ".join(f"{f.name} = {f.value}" for f in scene.fields)
    )
    size = "" if scene.size is None else f"{scene.size} bytes"
    x = canvas.text(0, 13, scene.type_name, 14, font="mono", bold=True).right
    canvas.text(
        x + 12, 13, f"struct {scene.struct}" + (f", {size}" if size else ""), 12, paint="muted"
    )
    names = (
        max(
            (text_width(_name(f), 12, "mono", True) for f in [*scene.fields, *scene.array]),
            default=0,
        )
        + 20
    )
    values = (
        max((text_width(f.value, 12, "mono") for f in [*scene.fields, *scene.array]), default=0)
        + 22
    )
    widths = (names, min(values, 420.0))
    top = 28.0
    y = _draw_rows(canvas, scene.fields, top, widths)
    if scene.array_note:
        canvas.text(0, y + 24, scene.array_note, 12, font="mono", paint="muted")
        y = _draw_rows(canvas, scene.array, y + 34, widths)
    left = 52 + sum(widths)
    code = scene.declaration.splitlines()
    wide = max(text_width(line, 12, "mono") for line in code) + 24
    beside = left + 24 + wide <= 900
    x, cy = (left + 24, top) if beside else (0.0, y + 18)
    canvas.rect(x, cy, wide, 18 * len(code) + 16, "panel", "line", 4)
    for n, line in enumerate(code):
        canvas.text(x + 12, cy + 21 + 18 * n, line, 12, font="mono")
    y = max(y, cy + 18 * len(code) + 16)
    for note in scene.notes:
        canvas.text(0, y + 18, note, 11, paint="muted")
        y += 17
    canvas.key(0, y + 14, [("python", "bytes of the Python object"), ("view", "pointer")])
    return canvas


def _name(field: Field) -> str:
    return f"{field.ctype}{'' if field.pointer else ' '}{field.name}"


def _draw_rows(canvas: Canvas, fields: list[Field], y: float, widths: tuple[float, float]) -> float:
    """The struct as a column of boxes, first byte on top; what a field holds stands to its
    right.
    """
    left, (names, values) = 52.0, widths
    for field in fields:
        canvas.text(left - 8, y + 17, _offset(field), 10.5, "end", "mono", "muted")
        tip = f"{field.nbytes} bytes"
        box = canvas.rect(left, y, names, ROW, "python-soft", "python", 0, tip=tip)
        ctype = field.ctype if field.pointer else field.ctype + " "
        x = canvas.text(box.x + 10, y + 17, ctype, 12, font="mono", paint="muted").right
        canvas.text(x, y + 17, field.name, 12, font="mono", bold=True)
        role = "view" if field.pointer and field.value != "NULL" else "python"
        value = canvas.rect(left + names, y, values, ROW, "paper", "python", 0)
        canvas.label(
            value,
            field.value,
            12,
            anchor="start",
            pad=10,
            paint=f"{role}-text" if role == "view" else "ink",
        )
        y += ROW
    return y
