"""`viz.Stepper` on a page without a server: by mouse, by keyboard, two on a page, and where the
style is removed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import internals
import viz
from tools.browser.notebook import listen
from tools.browser.stepper import (
    FORM,
    by_clicks,
    by_keyboard,
    expected_by_clicks,
    expected_by_keyboard,
    numbers,
    seen,
)
from viz.stepper import LeanStepper

if TYPE_CHECKING:
    from playwright.sync_api import Page


def a_stepper(frames: int, kind: type[viz.Stepper] = viz.Stepper) -> viz.Stepper:
    a = internals.arange(6)
    return kind([(f"frame <{n}>", viz.memory(a=a[n:])) for n in range(frames)], "Steps")


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("kind", [viz.Stepper, LeanStepper])
@pytest.mark.parametrize("frames", [2, 5])
def test_it_steps_by_mouse_and_by_keyboard(
    page: Page, kind: type[viz.Stepper], frames: int
) -> None:
    page.set_content(a_stepper(frames, kind).html())
    form = page.locator(FORM)
    assert seen(form) == [f"1/{frames} frame <0>"]
    assert by_clicks(form) == expected_by_clicks(frames)
    assert by_keyboard(page, form) == expected_by_keyboard(frames)


def test_a_single_frame_shows(page: Page) -> None:
    page.set_content(a_stepper(1).html())
    assert numbers(page.locator(FORM)) == [1]


def test_two_copies_on_a_page_are_independent(page: Page) -> None:
    page.set_content(a_stepper(4).html() * 2)
    first, second = page.locator(FORM).all()
    first.locator("label").nth(2).click()
    assert (numbers(first), numbers(second)) == ([4], [1])
    second.locator("label").first.click()
    second.locator("label").nth(1).click()
    assert (numbers(first), numbers(second)) == ([4], [3])
    second.locator("[type=reset]").click()
    assert (numbers(first), numbers(second)) == ([4], [1])


@pytest.mark.sampled(1 / 4)
def test_the_rules_of_one_do_not_touch_another(page: Page) -> None:
    """The styles of all steppers hold for the whole page: whichever comes last, each form shows its
    own last tick.
    """
    page.set_content(
        a_stepper(5).html() + a_stepper(2).html() + a_stepper(6).html() + a_stepper(1).html()
    )
    for form, frames in zip(page.locator(FORM).all(), (5, 2, 6)):
        assert by_clicks(form) == expected_by_clicks(frames)
        assert by_keyboard(page, form) == expected_by_keyboard(frames)
    assert [numbers(form) for form in page.locator(FORM).all()] == [[4], [1], [5], [1]]


@pytest.mark.sampled(1 / 4)
def test_submitting_it_does_not_leave_the_page(page: Page, tmp_path: Path) -> None:
    """As a browser may do at Enter; the page would be loaded anew, with every stepper on its first
    frame.
    """
    path = tmp_path / "page.html"
    a_stepper(3).save(path)
    page.goto(path.as_uri())
    moved: list[str] = []
    page.on("framenavigated", lambda frame: moved.append(frame.url))
    form = page.locator(FORM)
    form.locator("label").first.click()
    page.keyboard.press("Enter")
    form.evaluate("form => form.requestSubmit()")
    page.wait_for_timeout(300)
    assert moved == [] and numbers(form) == [2]
    form.evaluate("form => { form.method = 'get'; form.requestSubmit(); }")
    page.wait_for_timeout(300)
    assert len(moved) == 1  # any other form does


def test_passed_buttons_keep_their_place(page: Page) -> None:
    """The row of buttons stays as high as it was, so that the picture below does not move from
    frame to frame.
    """
    page.set_viewport_size({"width": 500, "height": 600})
    page.set_content(
        a_stepper(5).html().replace("Steps", "A title that leaves room for few buttons in the row")
    )
    form = page.locator(FORM)
    tops = set()
    for n in range(4):
        form.locator("label").nth(n).click()
        tops.add(form.locator(".iv-f > p:visible").bounding_box()["y"])  # type: ignore[index]
    assert len(tops) == 1


def test_without_its_style_all_frames_show_one_under_the_other(page: Page) -> None:
    page.set_content(re.sub(r"<style>.*?</style>", "", a_stepper(3).html()))
    form = page.locator(FORM)
    assert numbers(form) == [1, 2, 3]
    tops = [p.bounding_box()["y"] for p in form.locator(".iv-f > p").all()]  # type: ignore[index]
    assert tops == sorted(tops) and len(set(tops)) == 3


def test_it_asks_for_nothing_and_complains_of_nothing(page: Page) -> None:
    problems: list[str] = []
    listen(page, problems)
    page.set_content(a_stepper(3).html())
    by_clicks(page.locator(FORM))
    assert problems == []
    # an address that no one has: RFC 5737
    page.evaluate("() => fetch('http://192.0.2.1/x').catch(() => null)")
    assert any("192.0.2.1" in problem for problem in problems)
