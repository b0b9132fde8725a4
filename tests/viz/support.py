"""What the tests of `viz` share: the geometry of a picture, and the same program run in two fresh
processes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from tests.viz.kept_pictures import assert_as_kept
from viz.canvas import Box, Canvas, Line, Rect
from viz.scene import Picture


def assert_good(picture: Picture, kept: bool = True) -> None:
    """Well-formed, without addresses, drawn without overlapping text; what is the same everywhere
    is as it was kept.
    """
    ElementTree.fromstring(picture.svg())
    for text in (picture.text(), picture.html()):
        assert not re.search("0x[0-9a-f]{10,}", text) and "object at" not in text
    assert picture.text() == picture.text() and picture.html() == picture.html()
    assert_no_overlap(picture.canvas())
    if kept:
        assert_as_kept(picture)


def assert_no_overlap(canvas: Canvas) -> None:
    """No text covers another, leaves the box that it begins in, or is crossed by a line in
    another's colour.
    """
    texts = list(canvas.texts())
    for i, a in enumerate(texts):
        for b in texts[i + 1 :]:
            assert not a.box.overlaps(b.box), f"{a.text!r} overlaps {b.text!r}"
    sheet = canvas.sheet()
    rects = [mark.box for mark in canvas.marks if isinstance(mark, Rect) and mark.stroke]
    for text in texts:
        assert sheet.x <= text.box.x and text.box.right <= sheet.right, (
            f"{text.text!r} leaves the sheet"
        )
        for rect in rects:
            inside = rect.x <= text.box.x and text.box.right <= rect.right + 0.5
            assert inside or not rect.overlaps(text.box), f"{text.text!r} crosses the edge of a box"
    for mark in canvas.marks:
        if isinstance(mark, Line):
            for (x0, y0), (x1, y1) in zip(mark.points, mark.points[1:]):
                stroke = Box(
                    min(x0, x1), min(y0, y1), max(abs(x1 - x0), 0.5), max(abs(y1 - y0), 0.5)
                )
                for text in texts:
                    assert not stroke.overlaps(text.box, 0.3) or covered(canvas, mark, text.box), (
                        f"a line crosses {text.text!r}"
                    )


def covered(canvas: Canvas, line: Line, box: Box) -> bool:
    """Whether a filled box drawn after the line lies between it and the text."""
    after = canvas.marks[canvas.marks.index(line) + 1 :]
    return any(
        isinstance(m, Rect)
        and m.fill
        and m.box.x <= box.x
        and box.right <= m.box.right
        and m.box.overlaps(box)
        for m in after
    )


def same_in_two_processes(program: str) -> str:
    """What `program` prints, after checking that it prints the same under two hash seeds."""
    outputs = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    return outputs[0]
