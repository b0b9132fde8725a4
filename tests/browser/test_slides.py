"""The slides play: every slide is reached with the space bar, none is wider than the screen, and
nothing is fetched.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

from tools import slides

TOO_WIDE = "(() => { const s = Reveal.getCurrentSlide(); return s.scrollWidth - s.clientWidth })()"


@pytest.mark.sampled(1 / 4)
def test_they_play(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if slides.reveal_folder() is None:
        pytest.skip("reveal.js is not here (make workshop adds it)")
    monkeypatch.setattr("sys.argv", ["slides", "03", "--output", str(tmp_path)])
    assert slides.main() == 0
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on(
        "request",
        lambda request: trouble.append(request.url) if request.url.startswith("http") else None,
    )
    page.goto((tmp_path / "03_zero_copy.slides.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    seen = 1
    while not page.evaluate("Reveal.isLastSlide()") and seen < 100:
        page.keyboard.press("Space")
        seen += 1
        assert page.evaluate(TOO_WIDE) <= 2, f"slide {seen}"
    assert seen == page.evaluate("Reveal.getTotalSlides()") > 20
    assert page.locator("aside.notes").count() > 20
    assert trouble == []
