"""The page of `viz.explore` in a browser: pointing, the slider, search, links to a state, both
themes, two widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import internals as torch
import viz

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

TEXT = """
def scale(a, k: float):
    return a * k + 1

def blend(x, y):
    z = scale(x, 2.0)
    w = torch.sigmoid(z) * y
    return w - x
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "blend.html"
    with torch.no_grad():
        viz.explore(TEXT, torch.ones(4, 8), torch.ones(8)).save(path)
    return path.as_uri()


@pytest.fixture
def shown(page: Page, address: str) -> Iterator[Page]:
    """The page; afterwards, that it asked for nothing and complained of nothing."""
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    yield page
    assert {url.partition("#")[0] for url in asked} == {address} and not said


def pane(page: Page, name: str) -> Locator:
    return page.locator(f".pane[data-pane={name}]")


def row(page: Page, name: str, text: str) -> Locator:
    return pane(page, name).locator(".view:not([hidden]) .row", has_text=text).first


def marked(page: Page, name: str, mark: str = "on") -> list[str]:
    """The texts of the marked rows that a pane shows, without their numbers and signs."""
    found = pane(page, name).locator(f".view:not([hidden]) .row.{mark} .tx")
    return [text.strip() for text in found.all_text_contents()]


def phase(page: Page) -> str:
    return page.locator("#phase b").inner_text()


@pytest.mark.sampled(1 / 4)
def test_pointing_marks_what_belongs_together(shown: Page) -> None:
    row(shown, "source", "torch.sigmoid").locator(".no").hover()
    assert marked(shown, "source") == ["w = torch.sigmoid(z) * y"]
    assert "value: BinOp op=Mult" in marked(shown, "ast")
    ir = marked(shown, "ir")
    assert any("aten::sigmoid" in text for text in ir) and not any(
        "aten::sub" in text for text in ir
    )
    assert any("sigmoid(" in text for text in marked(shown, "kernel"))
    assert re.search(r"\d+ linked", pane(shown, "ir").locator(".linked").inner_text())
    for each in shown.locator(".pane").all():
        words, arrow = each.locator(".linked").inner_text(), each.evaluate(OUT_OF_SIGHT)
        assert words.endswith(arrow) and (arrow or not re.search("[↑↓]", words))
    row(shown, "ir", "aten::sub").hover()
    assert marked(shown, "source") == ["return w - x"]
    words = pane(shown, "source").locator(".p.on").all_text_contents()
    assert "".join(words) == "w - x"
    shown.locator("h1").hover()
    assert not marked(shown, "source")


def test_a_part_of_a_line_marks_less_than_the_line(shown: Page) -> None:
    part = row(shown, "source", "torch.sigmoid").locator(".p", has_text="sigmoid")
    part.hover()
    ir = marked(shown, "ir")
    assert any("aten::sigmoid" in text for text in ir) and not any(
        "aten::mul" in text for text in ir
    )


@pytest.mark.sampled(1 / 4)
def test_a_click_pins_and_the_pin_stays_through_the_phases(shown: Page) -> None:
    row(shown, "source", "torch.sigmoid").locator(".no").click()
    shown.locator("h1").hover()
    for position in range(int(shown.locator("#pass").get_attribute("max") or 0) + 1):
        shown.locator("#pass").fill(str(position))
        assert sum("aten::sigmoid" in text for text in marked(shown, "ir", "pin")) == 1, phase(
            shown
        )
    assert marked(shown, "source", "pin") == ["w = torch.sigmoid(z) * y"]
    assert shown.locator("[aria-selected=true]").count() == 1
    shown.keyboard.press("Escape")
    assert not marked(shown, "source", "pin")


def test_the_slider_by_keyboard(shown: Page) -> None:
    slider = shown.locator("#pass")
    slider.focus()
    shown.keyboard.press("Home")
    assert phase(shown).startswith("0/") and "compiled" in phase(shown)
    shown.keyboard.press("ArrowRight")
    assert (
        "inline" in phase(shown)
        and slider.get_attribute("aria-valuetext")
        == "inline: " + shown.locator("#phase span").inner_text().partition(": ")[2]
    )
    view = pane(shown, "ir").locator(".view:not([hidden])")
    assert view.locator(".row.removed").count() == 1 and view.locator(".row.added").count() > 2
    assert view.locator(".row.removed .sg").inner_text() == "−"
    shown.keyboard.press("]")
    after = phase(shown)
    assert (
        after != "inline"
        and shown.locator(".ticks i.here").get_attribute("class") == "changed here"
    )
    shown.keyboard.press("[")
    assert "inline" in phase(shown)


def test_only_what_changed(shown: Page) -> None:
    shown.locator("#pass").fill("1")
    view = pane(shown, "ir").locator(".view:not([hidden])")
    everything = view.locator(".row:visible").count()
    shown.get_by_text("changed only").click()
    kinds = view.locator(".row:visible").evaluate_all("rows => rows.map(row => row.className)")
    assert 0 < len(kinds) < everything and all(
        re.search("added|removed|changed|moved", kind) for kind in kinds
    )
    shown.get_by_text("result", exact=True).click()
    assert view.locator(".row.removed:visible").count() == 0 and "show=result" in shown.url


def test_the_keyboard_goes_through_a_pane(shown: Page) -> None:
    pane(shown, "source").locator(".rows").focus()
    for key in ("Home", "ArrowDown", "ArrowDown"):
        shown.keyboard.press(key)
    assert marked(shown, "source") == ["w = torch.sigmoid(z) * y"] and any(
        "sigmoid" in t for t in marked(shown, "ir")
    )
    box = pane(shown, "source").locator(".rows")
    active = shown.locator(f"#{box.get_attribute('aria-activedescendant')}")
    assert "torch.sigmoid" in active.inner_text()
    shown.keyboard.press("ArrowRight")
    assert marked(shown, "ast") and shown.locator(".p.active").inner_text() == "w"
    shown.keyboard.press("Enter")
    assert shown.locator(".p.pin").count() >= 1 and "part=1" in shown.url


def test_search(shown: Page) -> None:
    shown.keyboard.press("/")
    shown.keyboard.type("sigmoid")
    count = shown.locator("#count")
    total = int(count.inner_text())
    assert total == shown.locator(".view:not([hidden]) .row.hit").count() > 4
    for expected in ("1 of", "2 of"):
        shown.keyboard.press("Enter")
        assert count.inner_text() == f"{expected} {total}"
    assert "sigmoid" in shown.locator(".row.at").inner_text()
    shown.keyboard.press("Shift+Enter")
    shown.keyboard.press("Shift+Enter")
    assert count.inner_text() == f"{total} of {total}"
    assert shown.evaluate("CSS.highlights.get('found').size") >= total
    assert "q=sigmoid" in shown.url
    shown.keyboard.press("Control+a")
    shown.keyboard.type("<nothing>")
    assert count.inner_text() == "none"
    shown.keyboard.press("Escape")
    assert count.inner_text() == "" and not shown.locator(".row.hit").count()


@pytest.mark.sampled(1 / 4)
def test_a_link_restores_what_was_shown(shown: Page, address: str) -> None:
    shown.locator("#pass").fill("1")
    row(shown, "ir", "aten::sigmoid").click()
    pane(shown, "ast").locator(".fold").click()
    pane(shown, "kernel").locator(".choice").select_option(
        label=pane(shown, "kernel").locator("option").nth(1).inner_text()
    )
    shown.locator("#theme").click()
    link = shown.url
    for part in ("pass=1", "pane=ir", "closed=ast", "view=kernel:1", "theme=dark"):
        assert part in link
    state = [marked(shown, name, "pin") for name in ("source", "ir", "bytecode")]
    shown.goto("about:blank")
    shown.goto(link)
    assert (
        phase(shown).startswith("1/")
        and [marked(shown, name, "pin") for name in ("source", "ir", "bytecode")] == state
    )
    assert (
        "aten::sigmoid" in "".join(state[1])
        and not pane(shown, "ast").locator(".body").is_visible()
    )
    assert pane(shown, "kernel").locator(".choice").input_value() == "1"
    assert shown.evaluate("document.documentElement.dataset.theme") == "dark"
    shown.goto(f"{address}#pass=0&line=7&pane=source")  # the number that stands before it
    assert marked(shown, "source", "pin") == ["return w - x"]
    # whatever somebody writes there
    shown.goto(f"{address}#pass=99&line=999&pane=<img>&view=x:y&closed=z")
    assert not marked(shown, "source", "pin") and not shown.locator("img").count()


def test_panes_fold(shown: Page) -> None:
    before = pane(shown, "source").bounding_box()
    pane(shown, "ir").locator(".fold").click()
    after = pane(shown, "source").bounding_box()
    assert (
        before
        and after
        and after["width"] > 2 * before["width"]
        and not pane(shown, "ir").locator(".row").first.is_visible()
    )
    assert pane(shown, "ir").locator(".fold").get_attribute("aria-expanded") == "false"


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("width", [1280, 800])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_both_themes_and_widths(
    chromium: Browser, address: str, width: int, scheme: str
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        page.goto(address)
        row(page, "source", "torch.sigmoid").locator(".no").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for each in page.locator(".pane").all():
            box = each.bounding_box()
            assert box is not None and box["width"] > 150 and box["height"] > 200
        dark = page.evaluate(LUMINANCE, "body")
        assert (dark < 0.2) == (scheme == "dark")
        assert page.evaluate(CONTRAST) >= 4.5
        assert len(page.screenshot()) > 20_000
        page.locator("#theme").click()
        assert (page.evaluate(LUMINANCE, "body") < 0.2) != (scheme == "dark")
    finally:
        context.close()


def test_paper_has_everything_and_no_buttons(shown: Page, tmp_path: Path) -> None:
    shown.emulate_media(media="print")
    assert not shown.locator("#pass").is_visible() and not shown.locator("#q").is_visible()
    for name in ("source", "ast", "ir", "bytecode", "kernel"):
        body = pane(shown, name).locator(".body")
        assert body.evaluate("e => e.scrollHeight <= e.clientHeight + 1"), name
    assert len(shown.pdf()) > 20_000


# An arrow if rows of the pane are marked and none of them is in sight: where they are.
OUT_OF_SIGHT = """pane => {
  const frame = pane.querySelector('.body').getBoundingClientRect();
  const rows = [...pane.querySelectorAll('.view:not([hidden]) .row:is(.on, .pin, :has(.on))')];
  const boxes = rows.map(row => row.getBoundingClientRect());
  const inSight = box => box.top >= frame.top && box.bottom <= frame.bottom;
  if (!boxes.length || boxes.some(inSight)) return '';
  return boxes.every(box => box.top < frame.top) ? '↑' : '↓';
}"""
LUMINANCE = """selector => {
  const color = getComputedStyle(document.querySelector(selector)).backgroundColor;
  const [r, g, b] = color.match(/[0-9.]+/g).map(Number);
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}"""
# The least contrast between the words of rows and the paper of their pane, by the formula of WCAG.
CONTRAST = """() => {
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = text => {
    const [r, g, b] = text.match(/[0-9.]+/g).map(Number);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const paper = light(getComputedStyle(document.querySelector('.pane')).backgroundColor);
  const words = '.row .tx, .row .no, .row .nt, .row .p, .note';
  const ratios = [...document.querySelectorAll(words)].map(e => {
    const ink = light(getComputedStyle(e).color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
  return Math.min(...ratios);
}"""
