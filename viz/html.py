"""A picture as HTML that shows in every viewer, exactly once.

Inline SVG is the best picture in a notebook: its text can be selected and its marks have tooltips.
But viewers that do not trust a notebook remove `<svg>` and `<style>`. So the same picture is there
twice: inline, hidden by an inline style, and as an `<img>`. One `<style>` swaps the two, and
whoever removes the inline picture removes that `<style>` too.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

SWAP = "<style>.iv-live{display:block!important}.iv-still{display:none!important}</style>"


def live_or_still(svg: str, alt: str) -> str:
    """Inline SVG where it is allowed, the same as `<img>` where it is not. `alt` is said where
    neither shows.
    """
    source = "data:image/svg+xml," + quote(svg, safe="-_.!~*'();/?:@=+$,")
    return (
        f'<div class="iv-box" style="overflow-x:auto">{SWAP}'
        f'<div class="iv-live" style="display:none">{svg}</div>'
        f'<div class="iv-still"><img src="{source}" alt="{escape(alt)}" '
        'style="max-width:none"></div>'
        "</div>"
    )


def page(body: str, title: str) -> str:
    """A stand-alone page around a picture, for `.save("picture.html")`."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>:root{{color-scheme:light dark}}"
        "body{margin:1rem;font-family:system-ui,sans-serif}</style></head>"
        f"<body>{body}</body></html>\n"
    )
