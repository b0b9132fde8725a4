"""Aligned text: the tables and strips of which every picture's plain form is made."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table(
    rows: Sequence[Sequence[object]],
    header: Sequence[str] = (),
    indent: int = 0,
    right: Collection[int] = (),
) -> str:
    """Rows in columns as wide as they need to be. Columns whose number is in `right` are
    right-aligned.

    >>> print(table([["a", 4], ["view", 16]], right=[1]))
    a      4
    view  16
    """
    lines = [[str(cell) for cell in row] for row in ([header] if header else []) + list(rows)]
    if not lines:
        return ""
    columns = max(map(len, lines))
    lines = [line + [""] * (columns - len(line)) for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(columns)]

    def cell(text: str, i: int) -> str:
        return text.rjust(widths[i]) if i in right else text.ljust(widths[i])

    return "\n".join(
        " " * indent + "  ".join(cell(t, i) for i, t in enumerate(line)).rstrip() for line in lines
    )


def plural(count: int, noun: str) -> str:
    """ "1 byte", "20,000,000 bytes"."""
    if noun.endswith("ex"):
        many = noun[:-2] + "ices"
    else:
        many = (
            noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else noun + "s"
        )
    return f"{count:,} {noun if count == 1 else many}"


def and_list(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))


def size_in_words(nbytes: int) -> str:
    """ "96 bytes", "73.5 MiB (77,070,336 bytes)"."""
    if nbytes < 1024:
        return plural(nbytes, "byte")
    power = min((nbytes.bit_length() - 1) // 10, 4)
    return f"{nbytes / 1024**power:.1f} {'KMGT'[power - 1]}iB ({nbytes:,} bytes)"


def corrected(why: str, wrong: str, right: str) -> str:
    """The text of an error, as those of `internals` are written."""
    from internals.core.corrected import corrected

    return corrected(why, wrong, right)
