"""The system's Chromium, driven by playwright, cut off from everything but this machine.

playwright (the extra `workshop`) brings no browser: one of `NAMES` is looked for on the PATH,
unless CHROMIUM names another.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
ARGUMENTS = [
    "--no-sandbox",  # which a browser of the superuser, as in containers, does not start without
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",  # a colour on the screen is the colour that the page says
]


def executable() -> str | None:
    """The browser's path, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def missing() -> str | None:
    """What this environment lacks to drive a browser, and what adds it; None when nothing is
    missing.
    """
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed: make workshop"
    if executable() is None:
        return (
            f"none of {', '.join(NAMES)} is on the PATH: install the system's Chromium, or set "
            "CHROMIUM to its path"
        )
    return None


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window; it ends with the block, whatever happens in it.

    Raises RuntimeError when something is missing.
    """
    if reason := missing():
        raise RuntimeError(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
