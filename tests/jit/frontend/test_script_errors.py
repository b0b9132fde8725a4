"""Programs that do not compile are refused in PyTorch's words, with the same place marked."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from internals.jit.frontend import builtin_calls, script_function
from tests.answers import answer
from tests.jit.programs import Program, load, place_free
from tests.jit.programs.errors import ERRORS
from tests.jit.programs.errors_of_use import ERRORS_OF_USE


def refusal(program: Program, directory: Path, torch_name: str, compile: Any) -> tuple[str, str]:
    """The name and the text of the error that compiling the program raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python itself finds some of them odd
        f = load(program, directory, torch_name).f
    with pytest.raises(Exception) as refused:
        compile(f)
    return type(refused.value).__name__, place_free(str(refused.value))


@pytest.mark.parametrize("program", [*ERRORS, *ERRORS_OF_USE], ids=lambda p: p.name)
def test_refused_in_pytorchs_words(program: Program, tmp_path: Path) -> None:
    real = answer(
        lambda torch: refusal(program, tmp_path, "torch", torch.jit.script),
        about=program,
        family="jit",
    )
    assert refusal(program, tmp_path, "internals", script_function) == real


@pytest.mark.parametrize("program", [*ERRORS, *ERRORS_OF_USE], ids=lambda p: p.name)
def test_refusals_show_the_place(program: Program, tmp_path: Path) -> None:
    name, text = refusal(program, tmp_path, "internals", script_function)
    assert name in ("RuntimeError", "NotSupportedError", "UnsupportedNodeError", "ValueError")
    assert "<--- HERE" in text or program.name in ("bare list", "comprehension filter")


@pytest.mark.parametrize(
    ("name", "like"),
    [("ab", ["aten::abs"]), ("a", []), ("leluu", ["aten::celu", "aten::relu", "aten::selu"])],
)
def test_a_short_name_is_like_names_that_share_a_letter(name: str, like: list[str]) -> None:
    """No more letters may differ than two, or all but one, as in `findSimilarOperators` of
    PyTorch.
    """
    text = builtin_calls._unknown(f"aten::{name}")
    suggested = [line.strip() for line in text.splitlines() if line.startswith("\taten::")]
    assert all(each in suggested for each in like) and bool(suggested) == bool(like)
    assert all(set(name) & set(each.removeprefix("aten::")) for each in suggested)
