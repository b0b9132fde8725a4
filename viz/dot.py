"""Graphs whose layout is left to Graphviz: the DOT text, its rendering, and what to do where no
`dot` is installed.

Nodes are n0, n1, ... in the order they are added, with their text in labels: names such as
`aten::mul` mean something else to DOT when used as ids, and addresses differ in every run. The
renderer is the `graphviz-pure` wheel, which gives the same bytes everywhere; a system `dot` is the
second choice, the DOT text itself the last.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

from viz.canvas import Canvas
from viz.html import live_or_still
from viz.palette import PAINTS, colour
from viz.scene import SUFFIXES, Picture, write_atomically
from viz.svg import stylesheet

NODES_AT_MOST = 80


@dataclass
class Node:
    label: str
    role: str = "view"
    tip: str = ""
    lines: Sequence[str] = ()  # further lines, smaller in meaning


@dataclass
class Edge:
    tail: int
    head: int
    label: str = ""
    dashed: bool = False


@dataclass
class Graph(Picture):
    """A directed graph. `node` returns the number that `edge` takes."""

    name: str = "graph"
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    rankdir: str = "TB"

    def node(self, label: str, role: str = "view", tip: str = "", lines: Sequence[str] = ()) -> int:
        """Add a node in a role's colours (see `viz.palette`); its number."""
        colour(f"{role}-soft")
        self.nodes.append(Node(label, role, tip, lines))
        return len(self.nodes) - 1

    def edge(self, tail: int, head: int, label: str = "", dashed: bool = False) -> None:
        for end in (tail, head):
            if not 0 <= end < len(self.nodes):
                raise IndexError(f"edge to node {end}, but the graph has {len(self.nodes)} nodes")
        self.edges.append(Edge(tail, head, label, dashed))

    @property
    def dot(self) -> str:
        """The graph in the DOT language; the same graph always gives the same text."""
        shown = min(len(self.nodes), NODES_AT_MOST)
        lines = [
            "digraph {",
            f'  rankdir={self.rankdir} bgcolor="{colour("paper")}" fontname="Helvetica" pad=0.2',
            '  node [shape=box style="rounded,filled" fontname="Helvetica" fontsize=12 '
            f'fontcolor="{colour("ink")}"]',
            f'  edge [color="{colour("muted")}" fontname="Helvetica" fontsize=11 '
            f'fontcolor="{colour("muted")}"]',
        ]
        for n, node in enumerate(self.nodes[:shown]):
            text = "\\n".join(quoted(part) for part in (node.label, *node.lines))
            tip = f' tooltip="{quoted(node.tip or node.label)}"'
            paints = f'fillcolor="{colour(node.role + "-soft")}" color="{colour(node.role)}"'
            lines.append(f'  n{n} [label="{text}" {paints}{tip}]')
        for edge in self.edges:
            if max(edge.tail, edge.head) < shown:
                label = f' label="{quoted(edge.label)}"' if edge.label else ""
                dashed = " style=dashed" if edge.dashed else ""
                lines.append(f"  n{edge.tail} -> n{edge.head} [{(label + dashed).strip()}]")
        if hidden := len(self.nodes) - shown:
            lines.append(
                f'  more [label="{hidden} more nodes are hidden" shape=plaintext style=""]'
            )
        return "\n".join([*lines, "}", ""])

    def text(self) -> str:
        lines = [f"{self.name}: {len(self.nodes)} nodes, {len(self.edges)} edges"]
        for n, node in enumerate(self.nodes):
            extra = f" ({', '.join(node.lines)})" if node.lines else ""
            targets = [
                f"n{e.head}" + (f" [{e.label}]" if e.label else "")
                for e in self.edges
                if e.tail == n
            ]
            lines.append(
                f"    n{n}  {node.label}{extra}" + (f" -> {', '.join(targets)}" if targets else "")
            )
        return "\n".join(lines)

    def svg(self, theme: str = "auto") -> str:
        """The drawn graph; the DOT text as a picture where nothing can draw it."""
        if renderer() is None:
            return super().svg(theme)
        return themed(render(self.dot, "svg").decode(), self.name, self.text(), theme)

    def html(self) -> str:
        return live_or_still(self.svg(), alt=self.text())

    def canvas(self) -> Canvas:
        """The DOT text: the picture of last resort."""
        canvas = Canvas(self.name, "Graphviz is not installed; this is the text it would draw")
        for n, line in enumerate(self.dot.splitlines()):
            canvas.text(0, 12 + 17 * n, line, 12, font="mono")
        return canvas

    def png(self, theme: str = "light", scale: float = 2) -> bytes:
        if renderer() is None:
            return super().png(theme, scale)
        return render(recoloured(self.dot, theme), "png", f"-Gdpi={96 * scale:g}")

    def save(self, path: str | os.PathLike[str], theme: str | None = None) -> Path:
        """As `Picture.save`, and `.dot` (or `.gv`) for the DOT text."""
        path = Path(path)
        if path.suffix.lower() in (".dot", ".gv"):
            write_atomically(path, self.dot.encode())
            return path
        if path.suffix.lower() not in SUFFIXES:
            choices = ", ".join(sorted((*SUFFIXES, ".dot", ".gv")))
            raise ValueError(
                f"cannot save a picture as {path.name!r}: the suffix must be one of {choices}"
            )
        return super().save(path, theme)

    def title(self) -> str:
        return self.name


def quoted(text: str) -> str:
    """Text for a double-quoted DOT string; a line break stays one."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@cache
def renderer() -> str | None:
    """The program that draws: `graphviz-pure` of this environment, or one on the PATH, or a system
    `dot`, or None.
    """
    beside = shutil.which("graphviz-pure", path=str(Path(sys.executable).parent))
    return beside or shutil.which("graphviz-pure") or shutil.which("dot")


def render(dot: str, form: str, *options: str) -> bytes:
    """DOT text to an `svg` or `png` file's bytes. Raises RuntimeError with Graphviz's own message
    when it fails.
    """
    program = renderer()
    if program is None:
        raise RuntimeError(
            "no Graphviz: install the graphviz-pure wheel (pip install graphviz-pure) or a system "
            "dot"
        )
    done = subprocess.run(
        [program, f"-T{form}", *options], input=dot.encode(), capture_output=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{Path(program).name} could not draw the graph: {done.stderr.decode().strip()}"
        )
    return done.stdout


def themed(svg: str, name: str, description: str, theme: str) -> str:
    """Graphviz's SVG made ours: no prolog, comments or ids, node names out of the tooltips, colours
    by theme.
    """
    svg = re.sub(r"<!--.*?-->\s*", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r'\s(?:id|class)="[^"]*"', "", svg)
    svg = re.sub(r"<title>[^<]*</title>\s*", "", svg)
    svg = re.sub(r'<a [^>]*?xlink:title="([^"]*)"[^>]*>', r"<g><title>\1</title>", svg).replace(
        "</a>", "</g>"
    )
    if theme != "auto":
        return _titled(recoloured(svg, theme), name, description, "")
    names = {value: paint for paint, value in reversed(PAINTS["light"].items())}
    used: set[str] = set()

    def classes(match: re.Match[str]) -> str:
        colours = re.findall(r'(fill|stroke)="(#[0-9a-f]{6})"', match[0])
        found = [(kind[0], names[value]) for kind, value in colours if value in names]
        used.update(paint for _, paint in found)
        tag = " ".join(f"{kind}-{paint}" for kind, paint in found)
        return match[0].replace(match[1], f'{match[1]} class="{tag}"', 1) if found else match[0]

    svg = re.sub(r"(<(?:path|polygon|polyline|text|ellipse))[^>]*>", classes, svg)
    return _titled(svg, name, description, f"<style>{stylesheet(used)}</style>")


def recoloured(text: str, theme: str) -> str:
    """DOT or SVG text in the light theme's colours, in another theme's."""
    if theme not in PAINTS:
        raise ValueError(f'theme must be "auto", "light" or "dark", got {theme!r}')
    swap = {value: PAINTS[theme][paint] for paint, value in reversed(PAINTS["light"].items())}
    return re.sub(r"#[0-9a-f]{6}", lambda m: swap.get(m[0], m[0]), text)


def _titled(svg: str, name: str, description: str, style: str) -> str:
    head = f'<svg class="iv" role="img" aria-label="{escape(name)}"'
    svg = svg.replace("<svg", head, 1)
    end = svg.index(">", svg.index("<svg")) + 1
    told = f"<title>{escape(name)}</title><desc>{escape(description)}</desc>"
    return f"{svg[:end]}{told}{style}{svg[end:]}".strip()
