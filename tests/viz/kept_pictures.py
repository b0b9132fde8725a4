"""What pictures looked like when somebody last looked: `tests/golden/pictures`, a file for each
file of tests.

Kept are a picture's text and, by kind and colour, how many marks are on its sheet, with a checksum
of what they say and where they are: what changes is seen in a diff, and not only whether anything
did. After a change on purpose

    INTERNALS_KEEP_PICTURES=1 python -m pytest tests/viz tests/cuda/test_viz_*.py

keeps what is drawn now: look at the diff, and at the pictures. What a test draws for random inputs
is not kept.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hypothesis

from viz.canvas import Line, Mark, Rect, Text
from viz.scene import Picture

FOLDER = Path(__file__).parents[1] / "golden" / "pictures"
KEEP = bool(os.environ.get("INTERNALS_KEEP_PICTURES"))
LINES = 20  # of a picture's text that are kept in full
# what is measured and what lies where differs from the simulated one's
ON_GPU = bool(os.environ.get("INTERNALS_CUDA"))
_drawn: list[str] = []  # the test that drew last, once for each picture


def assert_as_kept(picture: Picture | str) -> None:
    """The `n`-th picture of this test is the one that was kept."""
    if hypothesis.currently_in_test_context() or ON_GPU:
        return
    file, _, test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].partition("::")
    path = FOLDER.joinpath(*Path(file).parts[1:]).with_suffix(".txt")
    if test not in _drawn:
        _drawn.clear()
    title = f"{test} {len(_drawn)}"
    _drawn.append(test)
    now = list(described(picture))
    if KEEP:
        _keep(path, title, now)
    kept = _kept(path).get(title)
    assert kept is not None, f"{path.name} has no picture {title!r}: see tests/viz/kept_pictures.py"
    assert now == kept, f"not as it was kept in {path.name}: see tests/viz/kept_pictures.py"


def described(picture: Picture | str) -> Iterator[str]:
    """What is kept of a picture, line by line."""
    lines = (picture if isinstance(picture, str) else picture.text()).splitlines()
    yield from (f"    {line}".rstrip() for line in lines[:LINES])
    if lines[LINES:]:
        yield f"    ({len(lines) - LINES} more lines, {_checksum(lines[LINES:])})"
    if isinstance(picture, Picture):
        canvas = picture.canvas()
        yield f"title: {canvas.title}; {canvas.description}".replace("\n", " ")
        alike: dict[str, list[str]] = defaultdict(list)
        for mark in canvas.marks:
            alike[_kind(mark)].append(_said(mark))
        yield from (f"{kind}: {len(marks)}, {_checksum(marks)}" for kind, marks in alike.items())
        if dot := getattr(picture, "dot", "").splitlines():
            yield f"dot: {len(dot)} lines, {_checksum(dot)}"


def _kind(mark: Mark) -> str:
    if isinstance(mark, Rect):
        return f"rect {mark.fill} {mark.stroke}"
    return f"text {mark.paint}" if isinstance(mark, Text) else f"line {mark.stroke}"


def _said(mark: Mark) -> str:
    """All of a mark, its numbers to a tenth."""
    values: list[object] = [mark.tip]
    if isinstance(mark, Line):
        values += [
            mark.width,
            mark.dashed,
            mark.arrow,
            *(x for point in mark.points for x in point),
        ]
    elif isinstance(mark, Text):
        values += [mark.x, mark.y, mark.text, mark.size, mark.anchor, mark.font, mark.bold]
    else:
        box = mark.box
        values += [box.x, box.y, box.w, box.h, mark.radius, mark.width, mark.dashed]
    return " ".join(f"{v:.1f}" if isinstance(v, float) else str(v) for v in values)


def _checksum(lines: list[str]) -> str:
    return f"{zlib.crc32(chr(10).join(lines).encode()):08x}"


@cache
def _kept(path: Path) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        if line.startswith("== "):
            lines = kept[line[3:]] = []
        else:
            lines.append(line)
    return kept


def _keep(path: Path, title: str, lines: list[str]) -> None:
    kept = _kept(path)
    kept[title] = lines
    path.parent.mkdir(exist_ok=True)
    sections = ("\n".join([f"== {name}", *kept[name]]) + "\n" for name in sorted(kept))
    path.write_text("".join(sections), encoding="utf-8")
