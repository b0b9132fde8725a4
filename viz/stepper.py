"""Stepping through pictures without a kernel, without JavaScript and without ids.

Each frame after the first has a box to tick, and CSS `:has()` shows the last frame that is ticked:
ticking the next goes on, unticking goes back, and the first button resets the form. So every button
is reached with Tab and pressed with Space. Radio buttons would not do: Tab stops at one of a group
only, the others are for the arrow keys, and JupyterLab takes those (and `<details name>`, which
closes the others as one opens, is one group for a whole page).

The rules look inside one `<form>` only, so two steppers on a page do not disturb each other.
`method="dialog"` makes it a form that goes nowhere, should a browser take Enter for submitting it.
Measured in JupyterLab 4.6 and Chromium 150: Tab goes from a cell to its buttons, and without
`data-lm-suppress-shortcuts` the keys pressed there are commands to the notebook (D D deletes the
cell). A viewer that removes the style shows all frames, one under the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from viz.canvas import Canvas
from viz.html import SWAP
from viz.palette import PAINTS
from viz.scene import Picture
from viz.svg import stylesheet

FORM = '<form class="iv-step" method="dialog" data-lm-suppress-shortcuts>'
BUTTONS = (
    ".iv-step label,.iv-step [type=reset]{font:inherit;color:inherit;background:none;"
    "cursor:pointer;border:1px solid;border-radius:6px;padding:.1em .5em}"
    ".iv-step label input{position:absolute;opacity:0}"
    ".iv-step label:has(:checked),.iv-step:not(:has(:checked)) [type=reset]{box-shadow:0 0 0 "
    "1px;font-weight:600}"
    # passed: out of the way, but its place is kept
    ".iv-step label:has(~label :checked){order:1;visibility:hidden}"
    ".iv-step label:has(:checked)::before{content:'\\2039 '}"  # untick it to go back
    # tick it to go on
    ".iv-step :is([type=reset],label:has(:checked))+label:not(:has(:checked))::after{content:' "
    "\\203a'}"
    ".iv-step [type=reset]:focus-visible,.iv-step label:has(:focus-visible){outline:2px "
    "solid;outline-offset:1px}"
)


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
        sheet = Canvas(
            self.heading or "viz.Stepper", "; ".join(caption for caption, _ in self.frames)
        )
        for n, (caption, frame) in enumerate(self.frames):
            head = Canvas()
            head.text(0, 12, f"{n + 1}/{len(self.frames)}  {caption}", 13, bold=True)
            sheet.stack(head, gap=26)
            sheet.stack(frame.canvas() if isinstance(frame, Picture) else _text_canvas(str(frame)))
        return sheet

    def html(self) -> str:
        return f"{self.style()}{FORM}{self.buttons()}{self.panes()}</form>"

    def style(self) -> str:
        """The rules by which the chosen frame is the one that shows: of those that are ticked, the
        last.
        """
        chosen = "".join(
            f".iv-step:has(.iv-s{n}>:checked):not(:has(.iv-s{n}~*>:checked)) "
            f".iv-f{n}{{display:block}}"
            for n in range(1, len(self.frames))
        )
        none = ".iv-step:not(:has(:checked)) .iv-f0{display:block}"
        return f"<style>{BUTTONS}.iv-step .iv-f{{display:none}}{none}{chosen}</style>"

    def buttons(self) -> str:
        """The title, and a button for each frame: the first resets the form, the others are
        ticked.
        """
        first, *others = (escape(caption) for caption, _ in self.frames)
        buttons = f'<input type="reset" value="1" title="{first}">' + "".join(
            f'<label class="iv-s{n}" title="{caption}"><input type="checkbox">{n + 1}</label>'
            for n, caption in enumerate(others, 1)
        )
        row = "display:flex;flex-wrap:wrap;align-items:baseline;gap:.2em .3em;margin:.3em 0"
        return f'<div style="{row}"><b>{escape(self.heading)}</b> {buttons}</div>'

    def panes(self) -> str:
        """The frames, each under its caption."""
        return "".join(
            f'<div class="iv-f iv-f{n}"><p><b>{n + 1}/{len(self.frames)} {escape(caption)}</b></p>'
            f"{self.frame_html(frame)}</div>"
            for n, (caption, frame) in enumerate(self.frames)
        )

    def frame_html(self, frame: object) -> str:
        return _frame_html(frame)


class LeanStepper(Stepper):
    """A stepper whose frames stand on the page once, as inline SVG with one style sheet for all of
    them; a viewer that removes SVG shows the frames as text."""

    def html(self) -> str:
        return one_style_sheet(super().html(), self.text())

    def frame_html(self, frame: object) -> str:
        if not isinstance(frame, Picture):
            return super().frame_html(frame)
        return f'<div style="overflow-x:auto">{frame.svg()}</div>'


def one_style_sheet(live: str, instead: str) -> str:
    """Many SVG drawings with one style sheet for all of them; where a viewer removes SVG, a
    text.
    """
    live = re.sub(r"<style>\.iv\{.*?</style>", "", live)
    used = {
        paint
        for classes in re.findall(r'class="([^"]*)"', live)
        for paint in re.findall(r"\b[fs]-([a-z-]+)", classes)
    }
    live = re.sub(r' (?:fill|stroke)="#[0-9a-f]{6}"', "", live)  # said by the style sheet
    return (
        f'<div class="iv-box"><style>{stylesheet(used & set(PAINTS["light"]))}</style>{SWAP}'
        f'<div class="iv-live" style="display:none">{live}</div>'
        f'<div class="iv-still">{_frame_html(instead)}</div></div>'
    )


def _frame_html(frame: object) -> str:
    if isinstance(frame, Picture):
        return frame.html()
    return (
        '<pre style="border:1px solid '
        f'#8888;padding:.6em;overflow-x:auto">{escape(str(frame))}</pre>'
    )


def _text_canvas(text: str) -> Canvas:
    canvas = Canvas()
    for n, line in enumerate(text.splitlines()):
        canvas.text(0, 12 + 17 * n, line, 12, font="mono")
    return canvas
