"""The handout is printed on two pages, and nothing of it is cut off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

from tools import handout


@pytest.mark.sampled(1 / 4)
def test_two_pages(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "handout.html"
    handout.write(file, handout.page().encode())
    page.goto(file.as_uri())
    page.emulate_media(media="print")
    for section in page.locator("section").all():
        assert section.evaluate(
            "s => s.scrollHeight <= s.clientHeight + 1 && s.scrollWidth <= s.clientWidth + 1"
        )
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
