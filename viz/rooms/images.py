"""`viz.images`: the numbers of a tensor as small pictures: a batch of digits, the filters of a
convolution.

Black is the largest number of the batch and white the smallest (on a dark page the other way
round), in five shades, so that a picture can be compared with another of the same batch. Pass `low`
and `high` to compare batches.

How the real one differs: PyTorch has no pictures; `torchvision.utils.make_grid` puts a batch into
one tensor for others to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from typing import Any

from viz.canvas import Canvas, shorten, text_width
from viz.scene import Picture
from viz.text import plural

SHADES = ("paper", "free-soft", "free", "free-text", "ink")
LETTERS = " .+#@"
AT_MOST = 64


@dataclass
class Images(Picture):
    """Each image as rows of shades, 0 to 4."""

    shades: list[list[list[int]]]
    captions: list[str]
    columns: int
    low: float
    high: float
    hidden: int = 0

    def text(self) -> str:
        height, width = len(self.shades[0]), len(self.shades[0][0])
        head = (
            f"{plural(len(self.shades), 'image')} of {height} x {width}, values from "
            f"{self.low:.4g} to {self.high:.4g}"
        )
        blocks = []
        for start in range(0, len(self.shades), self.columns):
            row, wide = (
                self.shades[start : start + self.columns],
                max(2 * width, *map(len, self.captions or [""])),
            )
            lines = [
                [caption.ljust(wide) for caption in self.captions[start : start + self.columns]]
            ]
            lines += [
                ["".join(2 * LETTERS[s] for s in image[y]).ljust(wide) for image in row]
                for y in range(height)
            ]
            blocks.append(
                "\n".join("    " + "  ".join(line).rstrip() for line in lines if line).rstrip()
            )
        more = f"\n    ({plural(self.hidden, 'more image')} hidden)" if self.hidden else ""
        return "\n".join([head, *blocks]) + more

    def canvas(self) -> Canvas:
        return images_canvas(self)


def images(
    batch: Any,
    captions: Sequence[object] = (),
    columns: int = 10,
    low: float | None = None,
    high: float | None = None,
) -> Images:
    """The pictures in `batch`, a tensor or array `(N, H, W)`, `(N, 1, H, W)` or `(H, W)`, with a
    caption above each.

    `low` and `high` are the values of white and black; by default the extremes of the batch. At
    most 64 are shown. Raises ValueError for other shapes, for an empty batch, for numbers that are
    not finite, for another number of captions.
    """
    values = batch.detach() if hasattr(batch, "detach") else batch
    sizes = tuple(values.shape)
    if len(sizes) == 4 and sizes[1] == 1:
        values = values.reshape(sizes[0], *sizes[2:])
    elif len(sizes) == 2:
        values = values.reshape(1, *sizes)
    elif len(sizes) != 3:
        raise ValueError(
            f"viz.images draws (N, H, W), (N, 1, H, W) or (H, W), got a shape of {sizes}"
        )
    if 0 in sizes:
        raise ValueError(f"viz.images has nothing to draw in a shape of {sizes}")
    if captions and len(captions) != len(values):
        raise ValueError(
            f"viz.images got {len(captions)} captions for {plural(len(values), 'image')}"
        )
    rows = [[[float(v) for v in line] for line in image] for image in values[:AT_MOST].tolist()]
    numbers = [v for image in rows for line in image for v in line]
    if not all(map(isfinite, numbers)):
        raise ValueError("viz.images cannot draw nan and infinity")
    low, high = min(numbers) if low is None else low, max(numbers) if high is None else high
    shades = [[[_shade(v, low, high) for v in line] for line in image] for image in rows]
    return Images(
        shades,
        [str(c) for c in captions][:AT_MOST],
        columns,
        low,
        high,
        max(0, len(values) - AT_MOST),
    )


def _shade(value: float, low: float, high: float) -> int:
    if high <= low:
        return 0
    return max(0, min(4, int(5 * (value - low) / (high - low))))


def images_canvas(scene: Images) -> Canvas:
    canvas = Canvas("viz.images", scene.text().splitlines()[0])
    height, width = len(scene.shades[0]), len(scene.shades[0][0])
    pixel = max(1.0, min(14.0, 56 / max(height, width)))
    wide = max([pixel * width, *(text_width(caption, 11) for caption in scene.captions)])
    wide = min(wide, pixel * width + 60)
    top = 18.0 if scene.captions else 0.0
    for n, image in enumerate(scene.shades):
        x, y = (n % scene.columns) * (wide + 14), (n // scene.columns) * (pixel * height + top + 14)
        if scene.captions:
            caption = scene.captions[n]
            canvas.text(x, y + 10, shorten(caption, wide, 11), 11, tip=caption)
        canvas.rect(
            x - 0.5, y + top - 0.5, pixel * width + 1, pixel * height + 1, "paper", "line", radius=0
        )
        for i, j, w, h, shade in patches(image):
            canvas.rect(
                x + i * pixel, y + top + j * pixel, w * pixel, h * pixel, SHADES[shade], radius=0
            )
    if scene.hidden:
        canvas.text(
            0,
            canvas.bounds().bottom + 18,
            f"{plural(scene.hidden, 'more image')} hidden",
            11,
            paint="muted",
        )
    return canvas


def patches(image: list[list[int]]) -> list[tuple[int, int, int, int, int]]:
    """Rectangles (x, y, width, height, shade) that cover all but the white: runs of a row, joined
    with equal ones below.
    """
    heights: dict[tuple[int, int, int, int], int] = {}
    growing: dict[tuple[int, int, int], tuple[int, int, int, int]] = {}
    for j, line in enumerate(image):
        here, i = {}, 0
        for shade, run in groupby(line):
            length = len(list(run))
            if shade:
                place = (i, length, shade)
                patch = here[place] = growing.get(place, (i, j, length, shade))
                heights[patch] = heights.get(patch, 0) + 1
            i += length
        growing = here
    return [(i, j, w, h, shade) for (i, j, w, shade), h in heights.items()]
