"""`array(t)` does not keep the memory of `t` alive, so nobody may take it of a tensor that is gone
in the next moment.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import internals

ROOT = Path(internals.__file__).parent
VIEWS = {"detach", "expand", "unfold"}  # whose memory is another tensor's


@pytest.mark.parametrize(
    "text",
    [
        "array(f(x))",
        "array(x + 1)",
        "array(x.cpu()).copy()",
        "map(array, f(x))",
        "[array(t) for t in f(x)]",
    ],
)
def test_a_temporary_tensor_is_found(text: str) -> None:
    assert temporaries(text) and not temporaries(text.replace("array", "numpy.array"))
    assert not temporaries("array(x.detach())") and not temporaries("array(x)")
    assert not temporaries("map(array, x)") and not temporaries("[array(t) for t in (x, y)]")


def test_no_array_of_a_temporary_tensor() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in ROOT.rglob("*.py")
        if "import array" in (text := path.read_text(encoding="utf-8")) or ", array" in text
        # its memory is numpy's, which keeps it while there is an array
        if path.name != "in_400_lines.py"
        for line in temporaries(text)
    }
    assert not found


def temporaries(text: str) -> list[int]:
    """The lines in which `array` is called with something that is neither a variable nor a view of
    one.
    """
    found = []
    for node in ast.walk(ast.parse(text)):
        if is_call_of("array", node) and node.args:
            keeps = kept(node.args[0])
        elif (
            is_call_of("map", node)
            and isinstance(node.args[0], ast.Name)
            and node.args[0].id == "array"
        ):
            keeps = all(held(i) for i in node.args[1:])
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            looked_at = any(is_call_of("array", part) for part in ast.walk(node.elt))
            keeps = not looked_at or all(held(loop.iter) for loop in node.generators)
        else:
            continue
        found += [] if keeps else [node.lineno]
    return found


def is_call_of(name: str, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def held(tensors: ast.expr) -> bool:
    """Whether several tensors are a variable, or a list of such as are kept."""
    return (
        all(kept(t) for t in tensors.elts)
        if isinstance(tensors, (ast.Tuple, ast.List))
        else kept(tensors)
    )


def kept(argument: ast.expr) -> bool:
    if isinstance(argument, ast.Call):
        name = (
            argument.func.attr
            if isinstance(argument.func, ast.Attribute)
            else getattr(argument.func, "id", "")
        )
        return name in VIEWS
    return isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript))
