"""A browser for the tests of this folder, and pages that tell what went wrong on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tools.browser.chromium import chromium as start_chromium, missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a file's tests.

    Not for the whole session: playwright leaves its event loop running in this thread, and
    `asyncio.run` in another file's test would find it there.
    """
    if reason := missing():
        pytest.skip(reason)
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page of its own for each test, 1280 by 900; it is closed with the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    try:
        yield context.new_page()
    finally:
        context.close()
