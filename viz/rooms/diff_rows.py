"""What `viz.diff` finds out: which lines of two texts belong together, and which of their words
differ.

How the real one differs: `git diff --word-diff` does the same without knowing what a value is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

WORD = re.compile(r"%?[\w.:]+|\s+|.")
ALIKE, PAIRS = 0.6, 100_000
NUMBER = re.compile(r"%\d+\b(?!\.)")
Span = tuple[int, int]


@dataclass
class DiffRow:
    """`kind`: "equal", "changed", "removed", "added", or "skipped" (`count` equal lines not shown).

    `marks` are the stretches of the left line that the right one does not have, and the other way
    round, in characters.
    """

    kind: str
    left: str = ""
    right: str = ""
    count: int = 0
    marks: tuple[list[Span], list[Span]] = field(default_factory=lambda: ([], []))


def compared(a: list[str], b: list[str]) -> tuple[list[DiffRow], bool]:
    """The lines as rows, and whether it took ignoring the numbers of values to see what is
    equal.
    """
    rows = list(_rows(a, b, a, b))
    blind = list(
        _rows(a, b, [NUMBER.sub("%", line) for line in a], [NUMBER.sub("%", line) for line in b])
    )
    numbers: dict[str, str] = {}
    for row in blind:
        if row.left.startswith("with ") or row.right.startswith("with "):
            numbers = {}  # another graph, with numbers of its own
        _settle(row, numbers)
    renumbered = _changes(blind) < _changes(rows)
    for row in rows:
        row.marks = _marks(row, {})
    return (blind, True) if renumbered else (rows, False)


def folded(rows: list[DiffRow], context: int) -> Iterator[DiffRow]:
    """Equal lines far from any change become one "skipped" row."""
    near = {
        j
        for i, r in enumerate(rows)
        if r.kind != "equal"
        for j in range(i - context, i + context + 1)
    }
    skipped = 0
    for i, r in enumerate(rows):
        if i in near or not near:
            if skipped:
                yield DiffRow("skipped", count=skipped)
                skipped = 0
            yield r
        else:
            skipped += 1
    if skipped:
        yield DiffRow("skipped", count=skipped)


# Lines


def _rows(a: list[str], b: list[str], key_a: list[str], key_b: list[str]) -> Iterator[DiffRow]:
    """Lines with equal keys beside each other."""
    for tag, i, j, k, m in SequenceMatcher(None, key_a, key_b, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (DiffRow("equal", left, right) for left, right in zip(a[i:j], b[k:m]))
        else:
            yield from _paired(a[i:j], b[k:m], key_a[i:j], key_b[k:m])


def _paired(a: list[str], b: list[str], key_a: list[str], key_b: list[str]) -> Iterator[DiffRow]:
    """Lines that were replaced: those that look alike beside each other, in order, so that all in
    all most is alike.
    """
    alike = _likeness(key_a, key_b)
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]  # from line i and line j on
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = max(
                best[i + 1][j],
                best[i][j + 1],
                alike[i][j] + best[i + 1][j + 1] if alike[i][j] else 0.0,
            )
    i = j = 0
    while i < len(a) and j < len(b):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            yield DiffRow("changed", a[i], b[j])
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield DiffRow("removed", a[i])
            i += 1
        else:
            yield DiffRow("added", right=b[j])
            j += 1
    yield from (DiffRow("removed", line) for line in a[i:])
    yield from (DiffRow("added", right=line) for line in b[j:])


def _likeness(a: list[str], b: list[str]) -> list[list[float]]:
    """How much every two lines have in common, indentation aside; 0 where it is little, or the
    kinds of node differ.

    Beyond `PAIRS` pairs of lines nobody would see the difference: nothing is alike.
    """
    if len(a) * len(b) > PAIRS:
        return [[0.0] * len(b) for _ in a]
    left, right = (
        [(_kind(line), Counter(WORD.findall(line.strip())), _defined(line)) for line in t]
        for t in (a, b)
    )
    table = []
    for kind, words, name in left:
        row = []
        for other_kind, other_words, other_name in right:
            common = (
                2 * (words & other_words).total() / ((words.total() + other_words.total()) or 1)
            )
            row.append(
                common + (name == other_name != "")
                if kind == other_kind and common >= ALIKE
                else 0.0
            )
        table.append(row)
    return table


def _defined(line: str) -> str:
    """`%y` of the line `%y : Tensor = ...`; nothing for a value without a name whose number does
    not count.
    """
    found = re.match(r"\s*(%[\w.]+) :", line)
    return found.group(1) if found else ""


def _kind(line: str) -> str:
    """`aten::add` of a node's line."""
    found = re.search(r"= (\^?[\w:]+)", line)
    return found.group(1) if found else ""


def _changes(rows: list[DiffRow]) -> int:
    return sum(r.kind != "equal" for r in rows)


# Numbers of values


def _settle(row: DiffRow, numbers: dict[str, str]) -> None:
    """Whether a row is equal but for its numbers. `numbers` says which on the left is which on the
    right, as far as is known.

    Two that stand in the same place for the first time belong together from then on, one to one. So
    do the results of lines that are alike.
    """
    left, right = NUMBER.findall(row.left), NUMBER.findall(row.right)
    if row.kind == "changed":
        left, right = left[:1], right[:1]
    for mine, other in zip(left, right):
        if mine not in numbers and other not in numbers.values():
            numbers[mine] = other
    if row.left and row.right:
        translated = NUMBER.sub(
            lambda found: numbers.get(found.group(), found.group() + "?"), row.left
        )
        row.kind = "equal" if translated == row.right else "changed"
    row.marks = _marks(row, numbers)


# Words


def _marks(row: DiffRow, numbers: dict[str, str]) -> tuple[list[Span], list[Span]]:
    """What differs. A row without a partner is coloured from its first letter to its last."""
    if row.kind == "equal":
        return [], []
    if row.kind != "changed":
        sides = [_trimmed(t, 0, len(t)) for t in (row.left, row.right)]
        return [s for s in sides[:1] if s[0] < s[1]], [s for s in sides[1:] if s[0] < s[1]]
    left, right = WORD.findall(row.left), WORD.findall(row.right)
    same = [numbers.get(w, w) for w in left]
    spans: tuple[list[Span], list[Span]] = ([], [])
    for tag, i, j, k, m in SequenceMatcher(None, same, right, autojunk=False).get_opcodes():
        if tag != "equal":
            spans[0].append(_stretch(left, i, j))
            spans[1].append(_stretch(right, k, m))
    trimmed = [_trimmed(t, *span) for t, side in zip((row.left, row.right), spans) for span in side]
    if not any(start < end for start, end in trimmed):
        trimmed = spans[0] + spans[1]  # nothing differs but the indentation
    n = len(spans[0])
    return [s for s in trimmed[:n] if s[0] < s[1]], [s for s in trimmed[n:] if s[0] < s[1]]


def _stretch(words: list[str], first: int, last: int) -> Span:
    start = sum(map(len, words[:first]))
    return start, start + sum(map(len, words[first:last]))


def _trimmed(text: str, start: int, end: int) -> Span:
    """Without the space at both ends."""
    part = text[start:end]
    if not part.strip():
        return end, end
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
