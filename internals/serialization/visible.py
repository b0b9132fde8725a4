"""A name from a file, as it may be shown to somebody: nothing in it invisible, and nothing that a
terminal would obey.

Whoever makes a file chooses its names. Printed as they are, `\\x1b[2J` clears the screen,
`\\x1b]0;...` renames the window, a line break writes lines that look like ours, and U+202E turns
the rest of the line around. Here each such character is its escape, as in Python's `repr`; letters
of all languages stay.

How the real one differs: it prints names as they are.
"""

from __future__ import annotations


def visible(text: str, lines: bool = False) -> str:
    """The text with escapes for what is not printable; of a text of several `lines`, line breaks
    and tabs stay.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text
    )
