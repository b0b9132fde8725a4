"""Stepping as a reader does: which frames of a `viz.Stepper` on a page are seen, and the keys and
clicks that change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FORM = "form.iv-step"
SEEN = """form => [...form.querySelectorAll('.iv-f > p')]
    .filter(p => p.checkVisibility() && p.getBoundingClientRect().height > 0)
    .map(p => p.textContent)"""


def seen(form: Locator) -> list[str]:
    """The captions of the frames that are visible, such as `["2/5 after the write"]`."""
    return list(form.evaluate(SEEN))


def numbers(form: Locator) -> list[int]:
    """The numbers of the frames that are visible, from 1."""
    return [int(caption.partition("/")[0]) for caption in seen(form)]


def by_keyboard(page: Page, form: Locator) -> list[list[int]]:
    """Focuses the first button, then Tab and Space until the last frame, and Space to go back: what
    was visible after each.
    """
    form.locator("[type=reset]").focus()
    page.keyboard.press("Space")
    views = [numbers(form)]
    for _ in range(form.locator("label").count()):
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        views.append(numbers(form))
    page.keyboard.press("Space")
    views.append(numbers(form))
    return views


def by_clicks(form: Locator) -> list[list[int]]:
    """Clicks the first button, the second, the last, the last again, and the first: what was
    visible after each.
    """
    labels, first = form.locator("label"), form.locator("[type=reset]")
    views = []
    for button in (first, labels.first, labels.last, labels.last, first):
        button.click()
        views.append(numbers(form))
    return views


def expected_by_keyboard(frames: int) -> list[list[int]]:
    """What `by_keyboard` has to see in a stepper of so many frames."""
    return [[n] for n in range(1, frames + 1)] + [[frames - 1]]


def expected_by_clicks(frames: int) -> list[list[int]]:
    """What `by_clicks` has to see: forward to any, back to where one came from, and to the
    start.
    """
    if frames == 2:
        return [[1], [2], [1], [2], [1]]
    return [[1], [2], [frames], [2], [1]]
