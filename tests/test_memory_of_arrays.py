"""`array(t)` does not keep the memory of `t` alive, so nobody may take it of a tensor that is gone in the next moment."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import internals

ROOT = Path(internals.__file__).parent
VIEWS = {"detach", "expand", "unfold"}  # whose memory is another tensor's


@pytest.mark.parametrize("text", ["array(f(x))", "array(x + 1)", "array(x.cpu()).copy()"])
def test_a_temporary_tensor_is_found(text: str) -> None:
    assert temporaries(text) and not temporaries(text.replace("array(", "numpy.array("))
    assert not temporaries("array(x.detach())") and not temporaries("array(x)")


def test_no_array_of_a_temporary_tensor() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in ROOT.rglob("*.py")
        if "import array" in (text := path.read_text(encoding="utf-8")) or ", array" in text
        for line in temporaries(text)
    }
    assert not found


def temporaries(text: str) -> list[int]:
    """The lines in which `array` is called with something that is neither a variable nor a view of one."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "array" and c.args and not kept(c.args[0])]


def kept(argument: ast.expr) -> bool:
    if isinstance(argument, ast.Call):
        name = argument.func.attr if isinstance(argument.func, ast.Attribute) else getattr(argument.func, "id", "")
        return name in VIEWS
    return isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript))
