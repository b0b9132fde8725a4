"""What can be seen of an output in the browser: its pictures, and the texts that are faint or cut
off.

`look.js`, evaluated on an element of the page, measures; here are the names for what it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Locator

LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8").partition("\nasync")
LOOK_AT = f"async{LOOK[2]}"
MARKS = ("<svg", "<img")  # in an output's HTML: there is a picture


@dataclass
class Drawn:
    """A picture that is visible: an svg, img or canvas.

    `label` is its name for who cannot see it and `description` what such a reader is told; `marks`
    counts the shapes that have an extent, and `cut` is True when a part can neither be seen nor
    scrolled to.
    """

    tag: str
    width: float
    height: float
    label: str
    description: str
    marks: int
    cut: bool


@dataclass
class Look:
    """One look at an element. `faint` are texts whose contrast with what is under them is too low
    (below 4.5, or 3 when big), `outside` those cut off, and `glaring` large areas that are nearly
    white."""

    pictures: list[Drawn]
    faint: list[dict[str, Any]]
    outside: list[str]
    glaring: list[str]


def look(element: Locator) -> Look:
    """What a reader sees in this element."""
    seen = element.evaluate(LOOK_AT)
    return Look(
        [Drawn(**p) for p in seen["pictures"]], seen["faint"], seen["outside"], seen["glaring"]
    )


def has_picture(output: dict[str, Any]) -> bool:
    """Whether an output (of nbformat) has a picture among its forms."""
    data = output.get("data", {})
    html = "".join(data.get("text/html", ""))
    return any(kind.startswith("image/") for kind in data) or any(mark in html for mark in MARKS)


def colours_of(element: Locator) -> int:
    """How many colours the element has on the screen; a blank one has one."""
    from PIL import Image

    image = Image.open(BytesIO(element.screenshot(animations="disabled"))).convert("RGB")
    return len(image.getcolors(image.width * image.height) or [])
