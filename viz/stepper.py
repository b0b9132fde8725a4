"""Stepping through pictures without a kernel, without JavaScript and without ids.

Radio buttons inside a `<form>` choose; CSS `:has()` shows the chosen frame. The form scopes the buttons, so two steppers
on one page do not disturb each other. A viewer that removes the style shows all frames, one under the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from viz.canvas import Canvas
from viz.html import SWAP
from viz.palette import PAGE, PAINTS
from viz.scene import Picture
from viz.svg import stylesheet


class Stepper(Picture):
    """Pictures (or anything that prints) with captions, one shown at a time.

    `frames` are (caption, picture) pairs. Raises ValueError when there are none.
    """

    def __init__(self, frames: Iterable[tuple[str, object]], title: str = "") -> None:
        self.frames = list(frames)
        self.heading = title
        if not self.frames:
            raise ValueError("a stepper needs at least one (caption, picture) frame")

    def text(self) -> str:
        count = len(self.frames)
        blocks = [self.heading] if self.heading else []
        for n, (caption, frame) in enumerate(self.frames):
            body = "\n".join(f"    {line}".rstrip() for line in str(frame).splitlines())
            blocks.append(f"[{n + 1}/{count}] {caption}\n{body}")
        return "\n".join(blocks)

    def canvas(self) -> Canvas:
        """All frames, one under the other."""
        sheet = Canvas(self.heading or "viz.Stepper", "; ".join(caption for caption, _ in self.frames))
        for n, (caption, frame) in enumerate(self.frames):
            head = Canvas()
            head.text(0, 12, f"{n + 1}/{len(self.frames)}  {caption}", 13, bold=True)
            sheet.stack(head, gap=26)
            sheet.stack(frame.canvas() if isinstance(frame, Picture) else _text_canvas(str(frame)))
        return sheet

    def html(self) -> str:
        return f'{self.style()}<form class="iv-step">{self.buttons()}{self.panes()}</form>'

    def style(self) -> str:
        """The rules by which the chosen frame is the one that shows."""
        show = "".join(
            f".iv-step:has(.iv-s{n}:checked) .iv-f{n}{{display:block!important}}" for n in range(len(self.frames))
        )
        chosen = (
            ".iv-step label:has(:checked){outline:2px solid currentColor;border-radius:6px}"
            ".iv-step label:has(:focus-visible){outline-style:dotted}"
        )
        return f"<style>.iv-step .iv-f{{display:none}}{show}{chosen}</style>"

    def buttons(self) -> str:
        """The title, and a button for each frame."""
        buttons = "".join(
            f'<label title="{escape(caption)}" style="cursor:pointer;padding:.1em .5em;margin-right:.3em">'
            f'<input type="radio" name="s" class="iv-s{n}"{" checked" if n == 0 else ""}> {n + 1}</label>'
            for n, (caption, _) in enumerate(self.frames)
        )
        return f'<div style="margin:.3em 0"><b>{escape(self.heading)}</b> {buttons}</div>'

    def panes(self) -> str:
        """The frames, each under its caption."""
        return "".join(
            f'<div class="iv-f iv-f{n}"><p style="font-weight:600;margin:.5em 0">{n + 1}/{len(self.frames)} '
            f"{escape(caption)}</p>{self.frame_html(frame)}</div>"
            for n, (caption, frame) in enumerate(self.frames)
        )

    def frame_html(self, frame: object) -> str:
        return _frame_html(frame)


class LeanStepper(Stepper):
    """A stepper whose frames stand on the page once, as inline SVG with one style sheet for all of them; a viewer that removes
    SVG shows the frames as text."""

    def html(self) -> str:
        return one_style_sheet(super().html(), self.text())

    def frame_html(self, frame: object) -> str:
        if not isinstance(frame, Picture):
            return super().frame_html(frame)
        return f'<div style="overflow-x:auto">{frame.svg()}</div>'


def one_style_sheet(live: str, instead: str) -> str:
    """Many SVG drawings with one style sheet for all of them; where a viewer removes SVG, a text."""
    live = re.sub(r"<style>\.iv\{.*?</style>", "", live)
    used = {
        paint for classes in re.findall(r'class="([^"]*)"', live) for paint in re.findall(r"\b[fs]-([a-z-]+)", classes)
    }
    live = re.sub(r' (?:fill|stroke)="#[0-9a-f]{6}"', "", live)  # said by the style sheet
    live = live.replace('style="cursor:pointer;', 'style="display:inline-block;cursor:pointer;')
    return (
        f'<div class="iv-box"><style>{stylesheet(used & set(PAINTS["light"]))}</style>{SWAP}'
        f'<div class="iv-live" style="display:none">{live}</div>'
        f'<div class="iv-still">{_frame_html(instead)}</div></div>'
    )


def _frame_html(frame: object) -> str:
    if isinstance(frame, Picture):
        return frame.html()
    paper, ink, line = (PAGE["light"][p] for p in ("paper", "ink", "line"))
    style = f"background:{paper};color:{ink};border:1px solid {line};padding:.6em;overflow-x:auto"
    return f'<pre style="{style}">{escape(str(frame))}</pre>'


def _text_canvas(text: str) -> Canvas:
    canvas = Canvas()
    for n, line in enumerate(text.splitlines()):
        canvas.text(0, 12 + 17 * n, line, 12, font="mono")
    return canvas
