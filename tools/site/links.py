"""Whether the finished pages hold together: every link leads somewhere, and nothing is fetched from
another host.

The pages are read as a browser would read them: addresses, the ids that they name, style sheets and
scripts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
}
LOADED_LINKS = {
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "prefetch",
    "manifest",
    "preconnect",
}
CSS_ADDRESS = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")
SOURCE = "<main>"  # where the code begins on a page of source code


@dataclass
class Page:
    """What one page names: `links` and `loads` as (address, line)."""

    ids: set[str] = field(default_factory=set)
    links: list[tuple[str, int]] = field(default_factory=list)
    loads: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class Report:
    """`problems` as "PAGE, line N: what is wrong"; `external`: each address of another host, and a
    page that links to it.
    """

    pages: int = 0
    links: int = 0
    problems: list[str] = field(default_factory=list)
    external: dict[str, str] = field(default_factory=dict)


class Reader(HTMLParser):
    """Fills a `Page` while it is fed with HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.in_style = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        line = self.getpos()[0]
        self.in_style = tag == "style"
        self.page.ids.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and "href" in given:
            self.page.links.append((given["href"], line))
        elif tag == "link":
            loaded = LOADED_LINKS & set(given.get("rel", "").split())
            (self.page.loads if loaded else self.page.links).append((given.get("href", ""), line))
        elif tag in LOADED and LOADED[tag] in given:
            self.page.loads.append((given[LOADED[tag]], line))
        for address in CSS_ADDRESS.findall(given.get("style", "")):
            self.page.loads.append((address, line))

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.page.loads += [
                (address, self.getpos()[0]) for address in CSS_ADDRESS.findall(data)
            ]

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False


def check(site: Path) -> Report:
    """Reads every page and style sheet below `site`."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    report = Report(len(pages))
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for address, line in page.loads:
            report.links += 1
            if address.startswith("data:"):
                continue
            problem = _elsewhere(address) or _missing(address, path, site, pages)
            if problem:
                report.problems.append(f"{name}, line {line}: {problem}")
        for address, line in page.links:
            report.links += 1
            parts = urlsplit(address)
            if parts.scheme in ("http", "https") or parts.netloc:
                report.external.setdefault(address, name)
            elif not parts.scheme:
                problem = _missing(address, path, site, pages)
                if problem:
                    report.problems.append(f"{name}, line {line}: {problem}")
    for path in sorted(site.rglob("*.css")):
        for address in CSS_ADDRESS.findall(path.read_text(encoding="utf-8")):
            report.problems.append(f"{path.relative_to(site).as_posix()}: {_elsewhere(address)}")
    return report


def read(path: Path) -> Page:
    """What one page names."""
    text = path.read_text(encoding="utf-8")
    head, source, code = text.partition(SOURCE) if path.name.count(".") > 1 else (text, "", "")
    reader = Reader()
    reader.feed(head)
    if source:  # lines of code with nothing but ids: quicker without a parser
        reader.page.ids.update(re.findall(r' id="([^"]+)"', code))
    return reader.page


def _elsewhere(address: str) -> str:
    parts = urlsplit(address)
    return (
        f"fetches {address} from another host"
        if parts.netloc or parts.scheme in ("http", "https")
        else ""
    )


def _missing(address: str, path: Path, site: Path, pages: dict[Path, Page]) -> str:
    parts = urlsplit(address)
    target = (path.parent / unquote(parts.path)) if parts.path else path
    target = Path(*_normal(target))
    if not target.is_relative_to(site):
        return f"{address} leads out of the site"
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return f"{address} leads nowhere"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids and anchor != "top":
        return f"{address}: there is no {anchor} on that page"
    return ""


def _normal(path: Path) -> list[str]:
    """The parts of a path without `..`; cheaper than resolve(), which asks the disk."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return parts
