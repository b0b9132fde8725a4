"""Wrong answers that people bet on, with the reason why each is wrong: a module for each notebook,
`spine.py`, `n07.py`, with a table `BELIEFS`.

They stand here, not in the notebook, because a list of wrong answers gives the right one away.
"""

from __future__ import annotations

import importlib
from typing import Any

Beliefs = dict[str, list[tuple[Any, str]]]


def of(about: str) -> list[tuple[Any, str]]:
    """The wrong answers to "07 what mul keeps": notebook 07, entry "what mul keeps".

    Raises LookupError when the notebook has no such entry.
    """
    notebook, _, entry = about.partition(" ")
    name = f"n{notebook}" if notebook[:1].isdigit() else notebook
    try:
        table: Beliefs = importlib.import_module(f"{__name__}.{name}").BELIEFS
    except ImportError:
        raise LookupError(f"{about!r}: exercises/beliefs has no {name}.py") from None
    if entry not in table:
        raise LookupError(
            f"{about!r}: exercises/beliefs/{name}.py has {', '.join(map(repr, table))}"
        )
    return table[entry]
