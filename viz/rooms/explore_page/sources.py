"""The panes "source" and "ast": texts divided into the parts that belong to one node of the tree,
and the trees as outlines.

How the real one differs: see `trees.py`.
"""

from __future__ import annotations

from itertools import groupby

from viz.rooms.explore_page.links import Links
from viz.rooms.explore_page.scene import Pane, Part, Row, View, cut
from viz.rooms.explore_page.trees import SourceText, TreeNode, below, owners

LINES_AT_MOST = 1500
NODES_AT_MOST = 1500
NO_SOURCE = "not shown: the graph does not say what text it was made from"


def source_pane(links: Links) -> Pane:
    """All sources in one view, the function explored first: inlining puts several into one
    graph.
    """
    rows: list[Row] = []
    for source in links.sources:
        rows.append(_head(source))
        rows += _used(source, _source_rows(source, links), links)
    rows, hidden = cut(rows, LINES_AT_MOST)
    return Pane("source", "Source", [View("source", rows, "" if rows else NO_SOURCE, hidden)])


def _source_rows(source: SourceText, links: Links) -> list[Row]:
    """A line's own keys are those of the nodes that begin on it; pointing at a line marks these,
    and not all inside them, and the groups in which they run."""
    owner = owners(source)
    rows = []
    starts: dict[int, set[str]] = {}
    lines = list(source.lines())
    line_of = {}
    for n, (start, text) in enumerate(lines):
        line_of.update(dict.fromkeys(range(start, start + len(text) + 1), n))
    for i, node in enumerate(source.tree):
        at = starts.setdefault(line_of.get(node.start, 0), set())
        at.add(f"a{source.number}.{i}")
        at |= links.own.get((source.number, i), set())
    for key, places in links.places.items():
        for number, start, _ in places:
            if number == source.number and start in line_of:
                starts.setdefault(line_of[start], set()).add(key)
    for n, (start, text) in enumerate(lines):
        keys = tuple(sorted(starts.get(n, ())))
        row = Row(
            text,
            keys,
            str(source.first_line + n),
            reach=(*keys, *sorted(links.groups_of(keys).difference(keys))),
        )
        begin = start + len(text) - len(text.lstrip())
        for i, run in groupby(range(begin, start + len(text)), key=lambda c: owner[c]):
            places_of_run = list(run)
            if i >= 0:
                own = (f"a{source.number}.{i}",)
                first, last = places_of_run[0] - start, places_of_run[-1] - start
                row.parts.append(Part(first, last + 1, own, source.tree[i].kind))
        rows.append(row)
    return rows


def _head(source: SourceText) -> Row:
    name = getattr(source.definition, "name", "")
    return Row(
        f"{name}, {source.title}" if name else source.title,
        (f"f{source.number}",),
        kind="head",
        note=source.filename,
    )


def _unused(source: SourceText, links: Links) -> list[int]:
    """Of a text with many definitions, those that no node of the graph comes from."""
    if (
        not source.tree
        or source.tree[0].kind != "Module"
        or (links.main is not None and links.main[0] is source)
    ):
        return []
    used = {i for number, i in links.own if number == source.number}
    return [i for i in source.tree[0].children if used.isdisjoint(below(source.tree, i))]


def _used(source: SourceText, rows: list[Row], links: Links) -> list[Row]:
    """The lines without those of definitions that are not used here."""
    gone: set[int] = set()
    for i in _unused(source, links):
        first = source.text.count("\n", 0, source.tree[i].start)
        gone.update(
            range(
                first, first + source.text.count("\n", source.tree[i].start, source.tree[i].end) + 1
            )
        )
    if not gone:
        return rows
    kept = [row for n, row in enumerate(rows) if n not in gone and row.text.strip()]
    return [
        *kept,
        Row(
            f"… {len(rows) - len(kept)} lines not shown: nothing here comes from them", kind="note"
        ),
    ]


def tree_pane(links: Links) -> Pane:
    """Python's tree and TorchScript's, as outlines."""
    views = []
    for title, letter in (("Python", "a"), ("TorchScript", "t")):
        rows: list[Row] = []
        for source in links.sources:
            nodes = source.tree if letter == "a" else source.typed
            problem = source.problem if letter == "a" or source.problem else source.typed_problem
            rows.append(_head(source))
            unused = (
                {i for top in _unused(source, links) for i in below(source.tree, top)}
                if letter == "a"
                else set()
            )
            rows += [
                _tree_row(source, i, node, letter, links)
                for i, node in enumerate(nodes)
                if i not in unused
            ]
            if problem:
                rows.append(Row(problem, kind="note"))
        rows, hidden = cut(rows, NODES_AT_MOST)
        views.append(View(title, rows, "" if rows else NO_SOURCE, hidden))
    return Pane("ast", "Syntax tree", views)


def _tree_row(source: SourceText, i: int, node: TreeNode, letter: str, links: Links) -> Row:
    key = f"{letter}{source.number}.{i}"
    found = (links.own if letter == "a" else links.typed_own).get((source.number, i), set())
    line = source.first_line + source.text.count("\n", 0, node.start)
    return Row(node.label, tuple(sorted({key, *found})), str(line), node.depth, via=key)
