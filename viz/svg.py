"""Canvas to SVG. Three properties matter: it says the same in both themes, it has no ids, and the
same canvas gives the same bytes.

Every mark carries its light colour as an attribute and a class that replaces it by a CSS variable.
The variables follow the reader's theme: the system's where nothing else is said, JupyterLab's and
Visual Studio Code's where they say so. Where a viewer removes `<style>`, the light colours on the
light sheet stay.
"""

from __future__ import annotations

from html import escape

from viz.canvas import Box, Canvas, Line, Mark, Rect, Text, arrow_head
from viz.palette import PAINTS

FONTS = {
    "sans": "system-ui,-apple-system,Segoe UI,Roboto,Helvetica Neue,Arial,DejaVu Sans,sans-serif",
    "mono": "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,Liberation Mono,monospace",
}
DARK_PAGES = (
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
    'html[data-theme="dark"]',
)
LIGHT_PAGES = (
    'body[data-jp-theme-light="true"]',
    "body.vscode-light",
    'html[data-theme="light"]',
)


def svg(canvas: Canvas, theme: str = "auto") -> str:
    """The canvas as one `<svg>` element. `theme` is "auto" (follow the reader's), "light" or
    "dark".
    """
    if theme not in ("auto", "light", "dark"):
        raise ValueError(f'theme must be "auto", "light" or "dark", got {theme!r}')
    sheet = canvas.sheet()
    colours = PAINTS["light" if theme == "auto" else theme]
    used: set[str] = set()
    body = "".join(_mark(mark, colours, used) for mark in [_paper(sheet), *canvas.marks])
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" class="iv" role="img" '
        f'aria-label="{escape(canvas.title)}" font-family="sans-serif" width="{_n(sheet.w)}" '
        f'height="{_n(sheet.h)}" viewBox="{_n(sheet.x)} {_n(sheet.y)} {_n(sheet.w)} {_n(sheet.h)}">'
        f"<title>{escape(canvas.title)}</title><desc>{escape(canvas.description)}</desc>"
    )
    style = f"<style>{stylesheet(used)}</style>" if theme == "auto" else ""
    return f"{head}{style}{body}</svg>"


def stylesheet(paints: set[str]) -> str:
    """The CSS that lets these paints follow the reader's theme. Rules of two pictures on one page
    agree.
    """

    def variables(theme: str) -> str:
        return "{" + "".join(f"--iv-{p}:{PAINTS[theme][p]};" for p in sorted(paints)) + "}"

    dark, light = (",".join(f"{page} .iv" for page in pages) for pages in (DARK_PAGES, LIGHT_PAGES))
    rules = [
        f".iv{variables('light')}",
        f"@media(prefers-color-scheme:dark){{.iv{variables('dark')}}}",
        dark + variables("dark"),
        light + variables("light"),
    ]
    rules.append(
        f".iv{{font-family:{FONTS['sans']}}}.iv "
        f"[font-family=monospace]{{font-family:{FONTS['mono']}}}"
    )
    for p in sorted(paints):
        rules.append(f".iv .f-{p}{{fill:var(--iv-{p})}}.iv .s-{p}{{stroke:var(--iv-{p})}}")
    return "".join(rules)


def _paper(sheet: Box) -> Rect:
    return Rect(Box(sheet.x, sheet.y, sheet.w, sheet.h), fill="paper", radius=6)


def _mark(mark: Mark, colours: dict[str, str], used: set[str]) -> str:
    if isinstance(mark, Rect):
        return _rect(mark, colours, used)
    if isinstance(mark, Text):
        return _text(mark, colours, used)
    return _line(mark, colours, used)


def _rect(mark: Rect, colours: dict[str, str], used: set[str]) -> str:
    box = mark.box
    paint = _paint(mark.fill, mark.stroke, colours, used)
    stroke = f' stroke-width="{_n(mark.width)}"' if mark.stroke else ""
    dash = ' stroke-dasharray="4 3"' if mark.dashed else ""
    shape = (
        f'<rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.w)}" height="{_n(box.h)}" '
        f'rx="{_n(min(mark.radius, box.w / 2, box.h / 2))}"{paint}{stroke}{dash}'
    )
    return _close(shape, "rect", mark.tip)


def _text(mark: Text, colours: dict[str, str], used: set[str]) -> str:
    paint = _paint(mark.paint, None, colours, used)
    anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    bold = ' font-weight="600"' if mark.bold else ""
    tip = f"<title>{escape(mark.tip)}</title>" if mark.tip else ""
    mono = ' font-family="monospace"' if mark.font == "mono" else ""
    spaces = ' xml:space="preserve"' if "  " in mark.text or mark.text != mark.text.strip() else ""
    return (
        f'<text x="{_n(mark.x)}" y="{_n(mark.y)}"{mono} font-size="{_n(mark.size)}"'
        f"{anchor}{bold}{paint}{spaces}>{tip}{escape(mark.text, quote=False)}</text>"
    )


def _line(mark: Line, colours: dict[str, str], used: set[str]) -> str:
    points = list(mark.points)
    head = ""
    if mark.arrow:
        tip, left, right = arrow_head(mark)
        points[-1] = ((left[0] + right[0]) / 2, (left[1] + right[1]) / 2)
        corners = " ".join(f"{_n(x)},{_n(y)}" for x, y in (tip, left, right))
        head = f'<polygon points="{corners}"{_paint(mark.stroke, None, colours, used)}/>'
    path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    dash = ' stroke-dasharray="4 3"' if mark.dashed else ""
    shape = (
        f'<polyline points="{path}"{_paint(None, mark.stroke, colours, used)} '
        f'stroke-width="{_n(mark.width)}"{dash}'
    )
    return _close(shape, "polyline", mark.tip) + head


def _paint(fill: str | None, stroke: str | None, colours: dict[str, str], used: set[str]) -> str:
    used.update(p for p in (fill, stroke) if p)
    classes = " ".join(f"{kind}-{paint}" for kind, paint in (("f", fill), ("s", stroke)) if paint)
    attributes = f' fill="{colours[fill]}"' if fill else ' fill="none"'
    if stroke:
        attributes += f' stroke="{colours[stroke]}"'
    return f'{attributes} class="{classes}"'


def _close(shape: str, tag: str, tip: str) -> str:
    return f"{shape}><title>{escape(tip)}</title></{tag}>" if tip else f"{shape}/>"


def _n(value: float) -> str:
    """A coordinate with at most two decimals and no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-0.00", "0") or "0"
