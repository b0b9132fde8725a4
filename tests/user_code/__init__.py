"""Sessions at the Python prompt, as PyTorch's users type them, with what PyTorch 2.13 answers.

Each `.txt` file here holds sessions in doctest's form, one after another; a line `# title` begins a
new one, with fresh names. `torch`, `F` (torch.nn.functional), `np`, `copy`, `pickle` and `math` are
there from the start. A warning is shown as `UserWarning: its first line`, an exception as
`RuntimeError: its first line`.

The answers are recorded from real PyTorch, never written by hand: `python -m tests.user_code`
(after `make oracle`) runs every session in it and rewrites the files. `test_user_code.py` replays
them in `internals`, with or without PyTorch.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import io
import math
import pickle
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")


@dataclass
class Session:
    """A title, and pairs of what was typed and what was answered."""

    title: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(
            [f"# {self.title}", *(show(typed) + answer for typed, answer in self.steps)]
        )


def read(path: Path) -> list[Session]:
    """The sessions of a file."""
    sessions: list[Session] = []
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            sessions.append(Session(line[2:]))
            continue
        if not line.strip():
            continue
        steps = sessions[-1].steps
        if line.startswith(">>> "):
            steps.append((line[4:] + "\n", ""))
        elif line.startswith("..."):
            steps[-1] = (steps[-1][0] + line[4:] + "\n", "")
        else:
            steps[-1] = (steps[-1][0], steps[-1][1] + line + "\n")
    return sessions


def replay(session: Session, torch: Any) -> list[tuple[str, str]]:
    """Type the session's lines with `torch` as the library; what was typed, and what was
    answered.
    """
    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "np": np,
        "copy": copy,
        "pickle": pickle,
        "math": math,
    }
    package = torch.__name__
    steps = []
    with displayhook(), default_printing(torch):
        for typed, _ in session.steps:
            steps.append((typed, answer(typed, names).replace(package, "torch")))
    return steps


def answer(typed: str, names: dict[str, Any]) -> str:
    """What one statement prints, displays, warns of or raises."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings(
            "ignore", category=RuntimeWarning, module=r"internals\."
        )  # as internals/__init__.py asks
        try:
            exec(compile(typed, "<session>", "single"), names)
        except Exception as error:
            print(f"{type(error).__name__}: {first_line(error)}")
    said = "".join(f"{w.category.__name__}: {first_line(w.message)}\n" for w in caught)
    text = (said + out.getvalue()).replace("\n\n", "\n<BLANKLINE>\n")
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def first_line(message: Any) -> str:
    """The first line of a warning or error; where in PyTorch's own source it was raised is left
    out.
    """
    line = (str(message).strip().splitlines() or [""])[0]
    return re.sub(r" \((Triggered internally at|function ).*", "", line).rstrip()


def same(a: str, b: str) -> bool:
    """Equal text, or text that differs in the last printed digit of some numbers: sums depend on
    the processor's loops.
    """
    if a == b:
        return True
    if " ".join(NUMBER.sub("#", a).split()) != " ".join(NUMBER.sub("#", b).split()):
        return False
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b))
    return all(
        abs(float(x) - float(y)) <= 1.5 * max(last_digit(x), last_digit(y)) for x, y in pairs
    )


def last_digit(number: str) -> float:
    """What a one in the last printed digit is worth: 0.01 in 3.14."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def show(typed: str) -> str:
    first, *rest = typed.splitlines()
    return "".join(
        f"{mark} {line}".rstrip() + "\n"
        for mark, line in [(">>>", first), *(("...", line) for line in rest)]
    )


@contextlib.contextmanager
def displayhook() -> Iterator[None]:
    """Values are shown on standard output as it is now, and `_` is left alone."""
    outer, underscore = sys.displayhook, getattr(builtins, "_", None)
    sys.displayhook = lambda value: None if value is None else print(repr(value))
    try:
        yield
    finally:
        sys.displayhook = outer
        if underscore is not None:
            builtins._ = underscore  # type: ignore[attr-defined]


@contextlib.contextmanager
def default_printing(torch: Any) -> Iterator[None]:
    """Sessions may change how tensors print, and the default dtype."""
    try:
        yield
    finally:
        torch.set_printoptions(profile="default", sci_mode=None)
        torch.set_default_dtype(torch.float32)
