"""How much a reader has to read: the functions that four programs enter, and their lines, as
docs/architecture.md tells.

The lanes are closed, graphs are not verified, and a program is run once to warm up; then each
function of `internals` that it enters is noted. A change that makes one of these paths a tenth
longer, or shorter, fails here until the page is changed on purpose.
"""

from __future__ import annotations

import inspect
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import internals as torch
from internals.core.hot import hot
from internals.jit.passes import verify_after_every_pass

ROOT = Path(__file__).parents[2]
PACKAGE = str(Path(torch.__file__).parent)
ROW = re.compile(r"\| `(.+)` \| ([\d,]+) \| ([\d,]+) \|$", re.M)


def told() -> dict[str, tuple[int, int]]:
    """Programs with their functions and lines, from the page."""
    page = (
        (ROOT / "docs" / "architecture.md")
        .read_text(encoding="utf-8")
        .partition("## How much there is to read")[2]
    )
    return {
        name: (int(f.replace(",", "")), int(n.replace(",", ""))) for name, f, n in ROW.findall(page)
    }


def entered(program: Callable[[], Any]) -> set[CodeType]:
    """The functions of `internals` that run; comprehensions and lambdas stand in the lines of
    others.
    """
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(PACKAGE)
            and not code.co_name.startswith("<")
        ):
            found.add(code)

    before = sys.getprofile()
    with hot.paused(), verify_after_every_pass(False):
        program()
        sys.setprofile(note)
        try:
            program()
        finally:
            sys.setprofile(before)
    return found


def lines(functions: set[CodeType]) -> int:
    return sum(len(inspect.getsourcelines(code)[0]) for code in functions)


def first(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x + y
    return z.relu()


def second(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x + y
    return z.relu()


def programs() -> dict[str, Callable[[], Any]]:
    a, b = torch.ones(2, 3), torch.ones(2, 3)
    leaves = iter([torch.ones(2, 3, requires_grad=True) for _ in range(4)])
    functions = iter((first, second))
    scripted = torch.jit.script(third)
    return {
        "a + b": lambda: a + b,
        "(x * y).sum().backward()": lambda: (next(leaves) * next(leaves)).sum().backward(),
        "torch.jit.script(f)": lambda: torch.jit.script(next(functions)),
        "torch.jit.save(f, file)": lambda: torch.jit.save(scripted, io.BytesIO()),
    }


def third(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x + y
    return z.relu()


def test_the_page_tells_them() -> None:
    assert list(told()) == list(programs())


@pytest.mark.parametrize("name", list(told()))
def test_no_way_has_become_longer(name: str) -> None:
    found = entered(programs()[name])
    measured = len(found), lines(found)
    for now, then in zip(measured, told()[name], strict=True):
        assert 0.9 * then <= now <= 1.1 * then, (
            f"{name}: {measured} functions and lines; docs/architecture.md: {told()[name]}"
        )
