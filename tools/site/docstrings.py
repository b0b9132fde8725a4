"""A docstring of the house as reStructuredText.

Ours are plain text: paragraphs, lists with `- ` or `1. `, names in `backticks`, and lines that are
indented or aligned by hand. Such lines stay as they are; in the rest, whatever reStructuredText
would read as markup is escaped, so that no docstring can break a page. A name in backticks becomes
a link where `link` knows it.

How the real one differs: PyTorch's docstrings are written in reStructuredText and read by
`sphinx.ext.napoleon`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

Link = Callable[[str], str | None]
BULLET = re.compile(r"(- |\d+\. )")
MARKUP = re.compile(r"([\\*_|`<>\[\]:])")
URL = re.compile(r"https?://[^\s)>,;`]*[^\s)>,;`.]")
# 1. and -x and .. would be more than text
BEGINS_A_BLOCK = re.compile(r"\w+[.)]( |$)|[^\w\s\\`*\"']")
EMPHASIS = re.compile(r"(?<![\w*`])\*([A-Za-z][A-Za-z ]*)\*(?![\w*`])")
ALIGNED = re.compile(r"\S {3,}\S")
DIFFERS = "How the real one differs"


def to_rest(text: str, link: Link = lambda name: None) -> str:
    """The whole docstring. `link(name)` gives the full name of what a page has an entry for, or
    None.
    """
    blocks = [_block(block, link) for block in _blocks(text)]
    return "\n\n".join(_marked(block) for block in blocks)


def inline(text: str, link: Link = lambda name: None) -> str:
    """One paragraph's text: `names` as literals or links, addresses as links, all else escaped."""
    pieces = re.split(r"(`[^`]+`)", text)
    rest = "".join(_name(p[1:-1], link) if i % 2 else _plain(p) for i, p in enumerate(pieces))
    return f"\\{rest}" if BEGINS_A_BLOCK.match(rest) else rest


def literal(lines: list[str]) -> str:
    """Lines that are to stay as they are; in colour if they are Python."""
    head = ".. code-block:: python" if _is_python(lines) else "::"
    return f"{head}\n\n" + "\n".join(f"    {line}" if line else "" for line in lines)


def _is_python(lines: list[str]) -> bool:
    if not any(
        line.startswith((">>> ", "import ", "from ", "with ", "@", "def ", "class "))
        for line in lines
    ):
        return False
    try:
        ast.parse("\n".join(line.removeprefix(">>> ") for line in lines))
    except SyntaxError:
        return lines[0].startswith(">>> ")
    return True


def _blocks(text: str) -> list[list[str]]:
    """Runs of lines that belong together: separated by empty lines, or by where an indented or
    aligned part begins.
    """
    blocks: list[list[str]] = []
    previous = ""
    for line in text.expandtabs().splitlines():
        line = line.rstrip()
        in_example = (
            previous == "as it is"
            and blocks[-1][-1] != ""
            and blocks[-1][0].lstrip().startswith(">>>")
        )
        kind = previous if in_example else _kind(line, previous)
        if not line:
            if previous == "as it is" and blocks:
                blocks[-1].append("")
            else:
                previous = ""
            continue
        if kind == previous and not (kind == "list" and BULLET.match(line)):
            blocks[-1].append(line)
        else:
            blocks.append([line])
        previous = kind
    return blocks


def _kind(line: str, previous: str) -> str:
    if previous == "list" and line.startswith("  "):
        return "list"
    if line.startswith(("  ", ">>>")) or ALIGNED.search(line):
        return "as it is"
    return "list" if BULLET.match(line) else "text"


def _block(lines: list[str], link: Link) -> str:
    while lines and not lines[-1]:
        lines = lines[:-1]
    if _kind(lines[0], "") == "as it is":
        margin = min(len(line) - len(line.lstrip()) for line in lines if line)
        return literal([line[margin:] for line in lines])
    text = " ".join(line.strip() for line in lines)
    bullet = BULLET.match(text)
    if bullet is None:
        return inline(text, link)
    return bullet[0] + inline(text[bullet.end() :], link)


def _marked(block: str) -> str:
    return f".. rst-class:: differs\n\n{block}" if block.startswith(DIFFERS) else block


def _name(text: str, link: Link) -> str:
    target = link(text)
    if target is not None:
        return rf"\ :py:obj:`{text} <{target}>`\ "
    inner = text.strip()
    return rf"\ ``{inner}``\ " if inner and not inner.endswith("\\") else _plain(text)


def _plain(text: str) -> str:
    """Escaped text; *emphasis* and addresses stay."""
    parts, end = [], 0
    for url in URL.finditer(text):
        parts += [_escaped(text[end : url.start()]), rf"\ `{url[0]} <{url[0]}>`__\ "]
        end = url.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    pieces = EMPHASIS.split(text)
    return "".join(rf"\ *{p}*\ " if i % 2 else MARKUP.sub(r"\\\1", p) for i, p in enumerate(pieces))
