"""Canvas to PNG, drawn by matplotlib's Agg renderer (imported on first use). The same canvas gives
the same bytes.
"""

from __future__ import annotations

import io

from viz.canvas import Canvas, Line, Rect, Text, arrow_head
from viz.palette import PAINTS

POINTS = 0.72  # a canvas unit, in points, on a figure of 100 units to the inch


def png(canvas: Canvas, theme: str = "light", scale: float = 2) -> bytes:
    """The canvas as a PNG file's bytes, `scale` pixels to the unit."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch, Polygon

    if theme not in PAINTS:
        raise ValueError(f'theme must be "light" or "dark", got {theme!r}')
    colours, sheet = PAINTS[theme], canvas.sheet()
    figure = Figure(
        figsize=(sheet.w / 100, sheet.h / 100), dpi=100 * scale, facecolor=colours["paper"]
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(sheet.x, sheet.right)
    axes.set_ylim(sheet.bottom, sheet.y)
    order = 0
    for mark in canvas.marks:
        order += 1
        if isinstance(mark, Rect):
            radius = min(mark.radius, mark.box.w / 2, mark.box.h / 2)
            axes.add_patch(
                FancyBboxPatch(
                    (mark.box.x, mark.box.y),
                    mark.box.w,
                    mark.box.h,
                    boxstyle=f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0",
                    facecolor=colours[mark.fill] if mark.fill else "none",
                    edgecolor=colours[mark.stroke] if mark.stroke else "none",
                    linewidth=mark.width * POINTS if mark.stroke else 0,
                    linestyle=(0, (4, 3)) if mark.dashed else "solid",
                    zorder=order,
                )
            )
        elif isinstance(mark, Text):
            axes.text(
                mark.x,
                mark.y,
                mark.text.replace("$", r"\$"),
                fontsize=mark.size * POINTS,
                family="DejaVu Sans Mono" if mark.font == "mono" else "DejaVu Sans",
                weight="bold" if mark.bold else "normal",
                color=colours[mark.paint],
                ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
                va="baseline",
                zorder=order,
            )
        elif isinstance(mark, Line):
            points = list(mark.points)
            if mark.arrow:
                tip, left, right = arrow_head(mark)
                points[-1] = ((left[0] + right[0]) / 2, (left[1] + right[1]) / 2)
                axes.add_patch(
                    Polygon(
                        (tip, left, right),
                        closed=True,
                        color=colours[mark.stroke],
                        linewidth=0,
                        zorder=order,
                    )
                )
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=colours[mark.stroke],
                linewidth=mark.width * POINTS,
                linestyle=(0, (4, 3)) if mark.dashed else "solid",
                solid_capstyle="butt",
                zorder=order,
            )
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()
