"""What viewers that do not trust a notebook leave of an output's HTML.

JupyterLab, for a notebook that did not run here and was not signed, keeps inline styles and drops
`<style>`, `<script>` and `<svg>` (measured in Lab 4.6; the words inside an `<svg>` stay). GitHub
drops the styles as well (as xarray and dask report of their own pictures), and what forms are made
of. nbviewer and nbconvert drop nothing.

How the real ones differ: they have long lists of what may stay; this one drops what our pictures
are made of.
"""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

VOID = {"img", "br", "hr", "input", "meta", "link", "wbr", "source", "col"}
DROPPED = {"style", "script", "iframe", "object"}  # with what is in them
UNWRAPPED = {
    "lab": {
        "svg",
        "path",
        "rect",
        "text",
        "tspan",
        "g",
        "polyline",
        "polygon",
        "line",
        "circle",
        "title",
        "desc",
    },
    "github": {"form", "input", "label", "button"},
}
KEPT = {
    "lab": {"src", "alt", "title", "href", "style", "class", "open", "colspan", "rowspan", "type"},
    "github": {"src", "alt", "title", "href", "open", "colspan", "rowspan"},
}


def sanitised(html: str, viewer: str) -> str:
    """The HTML as `viewer` shows it: "lab" (a notebook that is not trusted) or "github"."""
    parser = _Sanitiser(viewer)
    parser.feed(html)
    parser.close()
    return "".join(parser.kept)


class _Sanitiser(HTMLParser):
    def __init__(self, viewer: str) -> None:
        super().__init__(convert_charrefs=True)
        self.kept: list[str] = []
        self.dropped = DROPPED | ({"svg"} if viewer == "github" else set())
        self.unwrapped, self.attributes = UNWRAPPED[viewer], KEPT[viewer]
        self.inside: list[str] = []  # elements that are dropped with what is in them

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.dropped:
            self.inside.append(tag)
        if self.inside or tag in self.unwrapped:
            return
        kept = "".join(
            f' {name}="{escape(value or "")}"' for name, value in attrs if name in self.attributes
        )
        self.kept.append(f"<{tag}{' disabled' if tag == 'input' else ''}{kept}>")

    def handle_endtag(self, tag: str) -> None:
        if self.inside:
            if tag == self.inside[-1]:
                self.inside.pop()
        elif tag not in self.unwrapped | VOID:
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.kept.append(escape(data, quote=False))
