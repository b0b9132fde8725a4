"""Expressions and what real PyTorch 2.13 makes of them, in `tests/golden/*.txt`.

Each file starts with Python code (after `#` comments) that both sides run first, and goes on with
entries

    >>> torch.full((2,), 300, dtype=torch.uint8)
    RuntimeError: value cannot be converted to type uint8_t without overflow

The expected text is the repr of the result or the type and first line of the error. A new entry
needs only its `>>>` line: `python -m tests.golden_files` (with real PyTorch installed) writes what
is expected below each.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"


class GoldenFile:
    """A file's set-up code and its entries, pairs of an expression and the expected text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        head, *rest = ("\n" + path.read_text()).split("\n>>> ")
        self.setup = head.strip("\n")
        self.entries = [
            (entry.partition("\n")[0], entry.partition("\n")[2].rstrip("\n")) for entry in rest
        ]

    def namespace(self, module: Any) -> dict[str, Any]:
        """The names the expressions use, with `torch` being `module`."""
        names: dict[str, Any] = {"torch": module}
        exec(self.setup, names)
        return names

    def rewrite(self, module: Any) -> None:
        """Replace what is expected by what `module` does."""
        names = self.namespace(module)
        text = (
            self.setup
            + "\n\n"
            + "".join(f">>> {e}\n{evaluate(e, names)}\n" for e, _ in self.entries)
        )
        temporary = self.path.with_suffix(".new")
        temporary.write_text(text)
        os.replace(temporary, self.path)


def evaluate(expression: str, names: dict[str, Any]) -> str:
    """What an expression gives, its repr or its error, in PyTorch's spelling."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # some are given once in a process, whoever was first: they have tests of their own
        try:
            result = repr(eval(expression, names))
        except Exception as error:
            result = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
    return result.replace("internals.", "torch.").replace("'internals'", "'torch'")


def files() -> list[GoldenFile]:
    return [GoldenFile(path) for path in sorted(FOLDER.glob("*.txt"))]


if __name__ == "__main__":
    import torch

    for golden in files():
        golden.rewrite(torch)
        print(golden.path.name, len(golden.entries))
