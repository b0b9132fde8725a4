"""The looking itself: `tools.browser.pictures` finds what is missing, empty, cut off, faint or
glaring, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import internals
import viz
from tools.browser.pictures import Look, colours_of, has_picture, look

if TYPE_CHECKING:
    from playwright.sync_api import Page

GOOD = (
    '<svg role="img" aria-label="a box" width="90" height="40"><rect width="90" height="40" '
    'fill="#fff"/>{}</svg>'
)


def seen(page: Page, body: str) -> Look:
    page.set_content(f'<body style="background:white;color:black">{body}</body>')
    return look(page.locator("body"))


def test_a_picture_of_ours_is_fine(page: Page) -> None:
    found = seen(page, viz.memory(a=internals.arange(3)).html())
    assert [(p.tag, p.cut, p.label) for p in found.pictures] == [("svg", False, "viz.memory")]
    assert found.pictures[0].marks > 5 and found.pictures[0].description == "1 storage, 1 view."
    assert (found.faint, found.outside, found.glaring) == ([], [], found.glaring)


def test_what_is_hidden_is_no_picture(page: Page) -> None:
    for style in ("display:none", "visibility:hidden", "opacity:0"):
        assert seen(page, f'<div style="{style}">{GOOD.format("")}</div>').pictures == []


def test_an_empty_picture_has_no_marks(page: Page) -> None:
    assert seen(page, '<svg width="90" height="40"></svg>').pictures[0].marks == 0
    assert (
        seen(page, '<svg width="90" height="40"><rect width="0" height="0"/></svg>')
        .pictures[0]
        .marks
        == 0
    )
    assert (
        seen(page, '<img width="90" height="40" src="data:image/png;base64,AAAA">')
        .pictures[0]
        .marks
        == 0
    )


def test_a_picture_without_a_name_has_no_label(page: Page) -> None:
    assert (
        seen(page, '<svg width="90" height="40"><rect width="9" height="9"/></svg>')
        .pictures[0]
        .label
        == ""
    )
    named = '<svg width="90" height="40"><title>a name</title><rect width="9" height="9"/></svg>'
    assert seen(page, named).pictures[0].label == "a name"


def test_who_cannot_see_a_picture_is_told_what_it_shows(page: Page) -> None:
    """A drawing's `<desc>`, the picture as text, is what the browser gives to a screen reader,
    beside the name.
    """
    picture = viz.memory(a=internals.arange(3))
    page.set_content(picture.html())
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    told = [
        (n["name"]["value"], n["description"]["value"])
        for n in nodes
        if n.get("role", {}).get("value") == "image"
    ]
    assert [(name, text.split()) for name, text in told] == [
        ("viz.memory", picture.canvas().description.split())
    ]


def test_faint_text_is_found(page: Page) -> None:
    grey = GOOD.format(
        '<rect width="90" height="40" fill="#ddd"/><text y="20" fill="{}">words</text>'
    )
    assert seen(page, grey.format("#888888")).faint == [{"text": "words", "ratio": 2.61}]
    assert seen(page, grey.format("#333333")).faint == []
    assert [f["text"] for f in seen(page, '<p style="color:#bbb">words</p>').faint] == ["words"]
    assert (
        seen(page, '<div style="background:#222"><p style="color:#bbb">words</p></div>').faint == []
    )
    assert [
        f["text"] for f in seen(page, '<div style="background:#222"><p>words</p></div>').faint
    ] == ["words"]


def test_what_is_cut_off_is_found(page: Page) -> None:
    wide = GOOD.format('<text x="60" y="20">much too long</text>')
    assert seen(page, wide).outside == ["much too long"]
    frame = '<div style="width:50px;overflow-x:{}">' + GOOD.format("") + "</div>"
    assert [
        seen(page, frame.format(how)).pictures[0].cut for how in ("hidden", "clip", "auto")
    ] == [True, True, False]


def test_a_light_area_is_found(page: Page) -> None:
    box = (
        '<div style="background:#222"><div '
        'style="width:200px;height:100px;background:{}">x</div></div>'
    )
    page.set_content(f'<body style="background:#111">{box.format("#fff")}</body>')
    assert len(look(page.locator("body")).glaring) == 1
    page.set_content(f'<body style="background:#111">{box.format("#333")}</body>')
    assert look(page.locator("body")).glaring == []


def test_a_blank_picture_has_one_colour(page: Page) -> None:
    page.set_content(GOOD.format(""))
    assert colours_of(page.locator("svg")) == 1
    page.set_content(GOOD.format('<rect x="9" y="9" width="20" height="9" fill="red"/>'))
    assert colours_of(page.locator("svg")) == 2


def test_which_outputs_have_pictures() -> None:
    picture = viz.memory(a=internals.arange(3))
    assert has_picture({"data": picture._repr_mimebundle_()}) and has_picture(
        {"data": {"image/png": "AAAA"}}
    )
    assert not has_picture({"data": {"text/plain": "<svg"}}) and not has_picture({"text": "1"})
