"""What is said of PyTorch's operators that are not here, and the page that lists them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import internals as torch
from codegen.model import load
from internals.aten import pytorch_names
from internals.jit.operators import overload_order
from tests.support import oracle
from tools import operators

HERE = {f.schema.name for f in load()}
ABSENT = sorted(
    name for name in pytorch_names.names() if name not in HERE and not name.startswith("_")
)


def absent(place: str) -> list[str]:
    """Names of PyTorch at a place where there is nothing here."""
    owner, prefix = operators.owner_of(place)
    found = [n for n in ABSENT if place in pytorch_names.names()[n]]
    return [n.removeprefix(prefix) for n in found if not hasattr(owner, n.removeprefix(prefix))]


def test_the_page_is_fresh() -> None:
    assert operators.PAGE.read_text(encoding="utf-8") == operators.page(), (
        "python -m tools.operators"
    )


def test_the_lists_are_those_of_the_installed_pytorch() -> None:
    torch = oracle()
    if torch.__version__.partition("+")[0] != "2.13.0":
        pytest.skip(f"the list is of PyTorch 2.13.0, this is {torch.__version__}")
    assert pytorch_names.LIST.read_text(encoding="utf-8") == operators.names_of_pytorch()
    assert overload_order.LIST.read_text(encoding="utf-8") == operators.overloads_of_pytorch()


def test_every_name_stands_on_the_page_once() -> None:
    text = operators.page()
    body = text[text.index("\n## ") : text.index("## Here, but not")]
    for name in pytorch_names.names():
        assert body.count(f"`{name}`") == 1, name


def test_a_missing_function_is_called_one() -> None:
    name = absent("torch")[0]
    with pytest.raises(
        AttributeError,
        match=f"has no attribute '{name}'. PyTorch has an operator '{name}'; here it is not",
    ):
        getattr(torch, name)
    with pytest.raises(AttributeError, match=f"PyTorch has an operator '{name}'"):
        getattr(torch.ops.aten, name)


def test_a_missing_method_is_called_one() -> None:
    name = absent("Tensor")[0]
    t = torch.ones(2)
    with pytest.raises(
        AttributeError,
        match=f"'Tensor' object has no attribute '{name}'. PyTorch has an operator '{name}'",
    ):
        getattr(t, name)
    assert not hasattr(t, name)


def test_the_example_on_the_page_is_missing_and_said_to_be() -> None:
    owners = {"internals": torch, "tensor": torch.ones(1), "internals.ops.aten": torch.ops.aten}
    said = re.findall(
        r"`(internals|tensor|internals\.ops\.aten)\.(\w+)(?:\(\))?`",
        operators.page().partition("\n## ")[0],
    )
    assert [owner for owner, _ in said] == list(owners)
    for owner, name in said:
        with pytest.raises(AttributeError, match=f"PyTorch has an operator '{name}'"):
            getattr(owners[owner], name)


def test_what_nobody_has_is_just_missing() -> None:
    for owner in (torch, torch.ones(2), torch.linalg, torch.fft, torch.special, torch.ops.aten):
        with pytest.raises(AttributeError, match="has no attribute 'frobnicate'$"):
            _ = owner.frobnicate


def test_a_script_that_calls_one_does_not_compile(tmp_path: Path) -> None:
    """As a function, and as a method."""
    function, method = absent("torch")[0], absent("Tensor")[0]
    file = tmp_path / "calls_absent.py"
    head = "import internals as torch\n\n"
    file.write_text(
        f"{head}def f(x):\n    return torch.{function}(x)\n\ndef g(x):\n    return x.{method}()\n"
    )
    calls = runpy.run_path(str(file))
    for name, called in (("f", function), ("g", method)):
        with pytest.raises(
            RuntimeError, match=f"PyTorch has an operator '{called}'; here it is not implemented"
        ):
            torch.jit.script(calls[name])


def test_the_advice_leads_somewhere() -> None:
    root = Path(__file__).parents[2]
    advice = pytorch_names.advice(ABSENT[0])
    assert pytorch_names.PAGE in advice and (root / pytorch_names.PAGE).is_file()
    assert pytorch_names.NOTEBOOK in advice
    assert f"### {pytorch_names.SECTION}\\n" in (root / pytorch_names.NOTEBOOK).read_text(
        encoding="utf-8"
    )
