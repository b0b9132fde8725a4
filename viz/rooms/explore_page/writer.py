"""The scene as one HTML file that needs nothing else: no network, no fonts, no library.

Style and behaviour are files of their own beside this one (`page.css`; `marks.js`, `search.js`,
`state.js`, which run in one function) and are put into the page. Every row is in the page as text,
so that it can be read, searched and printed without the script; the script only hides, marks and
scrolls. What a row reaches is written once for each key, in a table of JSON.

Names and strings may come from an archive that somebody sent. Whatever is shown is escaped,
characters that would not be seen or would turn the text around are written as numbers, and the
page's own policy lets no script run but its own.

How the real one differs: `torch.utils.model_dump` writes a page that fetches its renderer from the
network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from html import escape
from importlib.resources import files

from viz.palette import PAINTS, THEMES
from viz.rooms.explore_page.scene import Page, Pane, Part, Row, View

SCRIPTS = ("marks.js", "search.js", "state.js")
SIGNS = {"added": "+", "removed": "−", "changed": "~", "moved": "↕"}
TOP = ("source", "ir", "archive")
KEYS = (
    ("/", "search"), ("Enter", "pin, or next hit"), ("↑ ↓ ← →", "move in a pane"),
    ("[ ]", "previous, next change"), ("Esc", "unpin"),
)  # fmt: skip
LEAD = "Point at anything: what belongs to it is marked in every pane."
OPERATOR = re.compile(r"((?:aten|prim|prims)::\w+|\^\w+)")


def page_html(page: Page) -> str:
    """The whole file. The same page gives the same text."""
    resources = files(__package__)
    script = "\n".join((resources / name).read_text(encoding="utf-8") for name in SCRIPTS)
    script = f"(() => {{\n'use strict';\n{script}}})();\n"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src "
        f"'sha256-{digest}'"
    )
    style = palette() + (resources / "page.css").read_text(encoding="utf-8")
    title = f"{shown(page.name)}: source, tree, graph, bytecode, kernel"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>\n<body>\n"
        f"{_header(page)}{_slider(page)}{_panes(page)}{_footer(page)}"
        '<script type="application/json" '
        f'id="data">{_data(page)}</script>\n<script>{script}</script>\n</body></html>\n'
    )


def palette() -> str:
    """The colours of all pictures, as variables of both themes."""
    light, dark = (
        "".join(f"--{name}:{value};" for name, value in PAINTS[theme].items()) for theme in THEMES
    )
    return (
        f":root{{color-scheme:light;{light}}}\n"
        "@media (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
        f"@media print{{:root:not([data-theme=x]){{color-scheme:light;{light}}}}}\n"
    )


def shown(text: str) -> str:
    """A text as it may stand in the page: escaped, and nothing in it invisible or able to reorder
    what is around it.
    """
    if not text.isascii() or not text.isprintable():
        text = "".join(_visible(c) for c in text)
    return escape(text)


def _visible(c: str) -> str:
    if c == "\t" or c == " " or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return c
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"


def _data(page: Page) -> str:
    data = {
        "links": {key: " ".join(keys) for key, keys in page.links.items()},
        "phases": [[p.name, p.title, p.view, p.changed, p.summary] for p in page.phases],
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _header(page: Page) -> str:
    return (
        f'<header><h1>{shown(page.name)}</h1><p class="lead">{LEAD if page.links else ""}</p><div '
        'class="search" role="search"><input id="q" type="search" placeholder="Search all panes ( '
        '/ )" aria-label="Search all panes"><output id="count" '
        'aria-live="polite"></output><button id="previous" type="button" aria-label="Previous '
        'hit">↑</button><button id="next" type="button" aria-label="Next '
        'hit">↓</button></div><button id="theme" type="button" aria-label="Switch between light '
        'and dark">◐</button></header>\n'
        "<noscript><p>Without JavaScript nothing is marked here; the panes show the graph after "
        "the last phase.</p></noscript>\n"
    )


def _slider(page: Page) -> str:
    """The phases: a slider with a tick for each, dark where the graph changed."""
    if not page.phases:
        return ""
    last, first = len(page.phases) - 1, max(n for n, p in enumerate(page.phases) if p.changed)
    ticks = "".join(f'<i class="{"changed" if p.changed else ""}"></i>' for p in page.phases)
    shows = (("all", "with changes"), ("changes", "changed only"), ("result", "result"))
    radios = "".join(
        '<label><input type="radio" name="show" '
        f'value="{value}"{" checked" if value == "all" else ""}>{words}</label>'
        for value, words in shows
    )
    return (
        '<section class="phases" aria-label="Phases of the optimiser">'
        '<button id="back" type="button" aria-label="Previous phase that changed '
        'something">‹</button>'
        f'<div class="track"><input id="pass" type="range" min="0" max="{last}" value="{first}" '
        'aria-label="Phase">'
        f'<div class="ticks" aria-hidden="true">{ticks}</div></div>'
        '<button id="ahead" type="button" aria-label="Next phase that changed something">›</button>'
        f'<output id="phase" for="pass" aria-live="polite">{_phase(page, first)}</output>'
        f"<fieldset><legend>Lines of the graph</legend>{radios}</fieldset></section>\n"
    )


def _phase(page: Page, n: int) -> str:
    p = page.phases[n]
    return (
        f"<b>{n}/{len(page.phases) - 1} {shown(p.name)}</b> <span>{shown(p.title)}: "
        f"{shown(p.summary)}</span>"
    )


def _footer(page: Page) -> str:
    swatches = [("storage", "pointed at"), ("shared", "pinned")]
    swatches += [("copied", "+ added"), ("warning", "− removed")] if page.phases else []
    shades = "".join(
        f'<span class="swatch" style="background:var(--{role}-soft)">{words}</span>'
        for role, words in swatches
    )
    keys = "".join(f"<span><kbd>{key}</kbd> {words}</span>" for key, words in KEYS)
    notes = "".join(f"<span>{shown(note)}</span>" for note in page.notes)
    return (
        f'<footer>{notes}{shades}<span class="keys">Every state has a link: copy the '
        f"address.</span>{keys}</footer>\n"
    )


def _panes(page: Page) -> str:
    lines: tuple[list[str], list[str]] = ([], [])
    for pane in page.panes:
        lines[pane.name not in TOP].append(_pane(pane))
    return (
        "<main>"
        + "".join(f'<div class="line">{"".join(line)}</div>' for line in lines if line)
        + "</main>\n"
    )


def _pane(pane: Pane) -> str:
    name, title = pane.name, shown(pane.title)
    choice = ""
    if len(pane.views) > 1 and name != "ir":
        options = "".join(
            f'<option value="{i}"{" selected" if i == pane.first else ""}>{shown(v.title)}</option>'
            for i, v in enumerate(pane.views)
        )
        choice = f'<select class="choice" aria-label="What {title} shows">{options}</select>'
    kind = "pane" if any(view.rows or view.svg for view in pane.views) else "pane empty"
    views = "".join(_view(pane, i, view) for i, view in enumerate(pane.views))
    return (
        f'<section class="{kind}" data-pane="{name}" aria-labelledby="t-{name}"><h2 id="t-{name}">'
        '<button class="fold" type="button" aria-expanded="true" '
        f'aria-controls="b-{name}">{title}</button>'
        f'<span class="linked"></span>{choice}</h2><div class="body" '
        f'id="b-{name}">{views}</div></section>'
    )


def _view(pane: Pane, n: int, view: View) -> str:
    hidden = "" if n == pane.first else " hidden"
    note = f'<p class="note">{shown(view.note)}</p>' if view.note else ""
    if view.svg:
        return (
            f'<div class="view" data-view="{n}"{hidden}>{note}<div '
            f'class="drawing">{view.svg}</div></div>'
        )
    rows = "\n".join(_row(row) for row in view.rows)
    more = f'<p class="note">… {view.hidden:,} more lines not shown</p>' if view.hidden else ""
    plain = "" if any(row.kind in SIGNS for row in view.rows) else " plain"
    label = shown(f"{pane.title}: {view.title}")
    box = (
        f'<div class="rows" role="listbox" tabindex="0" aria-label="{label}">{rows}</div>'
        if view.rows
        else ""
    )
    return f'<div class="view{plain}" data-view="{n}"{hidden}>{note}{box}{more}</div>'


def _row(row: Row) -> str:
    """One line. Its number and its sign are text, so that they can be heard and printed."""
    if row.kind in ("head", "note"):
        keys = f' data-k="{" ".join(row.own)}"' if row.own else ""
        return f'<div class="row {row.kind}"{keys} role="presentation">{shown(row.text)}</div>'
    kind = f" {row.kind}" if row.kind else ""
    indent = f' style="--d:{row.depth}"' if row.depth else ""
    note = f'<span class="nt">{shown(row.note)}</span>' if row.note else ""
    sign = (
        f'<span class="sg" title="{row.kind}">{SIGNS[row.kind]}</span>'
        if row.kind in SIGNS
        else '<span class="sg"></span>'
    )
    return (
        f'<div class="row{kind}" role="option"{_keys(row)}{indent}><span '
        f'class="no">{shown(row.label)}</span>{sign}'
        f'<span class="tx">{_text(row)}</span>{note}</div>'
    )


def _keys(row: Row) -> str:
    """`data-k` are its own keys. What it reaches, where that is not what these reach, is all that
    the key `data-via` does, or its own keys and those in `data-and`."""
    if not row.own:
        return ""
    if row.via:
        return f' data-k="{" ".join(row.own)}" data-via="{row.via}"'
    more = (
        ""
        if row.reach is None
        else f' data-and="{" ".join(key for key in row.reach if key not in row.own)}"'
    )
    return f' data-k="{" ".join(row.own)}"{more}'


def _text(row: Row) -> str:
    if row.pieces:
        return "".join(
            f"<{tag}>{shown(text)}</{tag}>" if tag else _operators(text) for tag, text in row.pieces
        )
    if not row.parts:
        return _commented(row.text)
    text, at = "", 0
    for part in row.parts:
        text += shown(row.text[at : part.start]) + _part(row.text, part)
        at = part.end
    return text + shown(row.text[at:])


def _part(text: str, part: Part) -> str:
    own, code = " ".join(part.own), shown(text[part.start : part.end])
    return f'<span class="p {part.kind}" data-k="{own}">{code}</span>'


def _commented(text: str) -> str:
    """What a kernel's line says about itself recedes."""
    code, mark, comment = text.partition("  # ")
    return _operators(code) + (f'<span class="cm">{shown(mark + comment)}</span>' if mark else "")


def _operators(text: str) -> str:
    """The kinds of nodes stand out."""
    return OPERATOR.sub(r"<b>\1</b>", shown(text))


def page_bytes(page: Page) -> bytes:
    """The file, in UTF-8."""
    return page_html(page).encode("utf-8", "backslashreplace")
