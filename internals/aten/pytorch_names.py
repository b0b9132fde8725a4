"""Knows the names of PyTorch's operators, and gives advice when you use one that is not here.

`pytorch_names.txt` lists the names in PyTorch's `aten/src/ATen/native/native_functions.yaml`, each
with the places where Python finds it; `python -m tools.operators --names` writes it from an
installed PyTorch, and `docs/operators.md` compares it with the operators declared here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from internals.core.dispatcher import dispatcher

LIST = Path(__file__).with_name("pytorch_names.txt")
PAGE = "docs/operators.md"
NOTEBOOK, SECTION = "notebooks/06_aten_dispatcher_codegen.ipynb", "An operator for everybody"


@cache
def names() -> dict[str, frozenset[str]]:
    """Every operator's name, in-place ones included, and where Python finds it: `hypot` has
    {"torch", "Tensor"}. Other places are linalg, fft, special and nn.
    """
    lines = LIST.read_text(encoding="utf-8").splitlines()
    rows = (line.split(" ") for line in lines if not line.startswith("#"))
    return {name: frozenset(places) for name, *places in rows}


def is_pytorchs(name: str) -> bool:
    """Whether PyTorch declares an operator of this name; out= variants share that of their
    operator."""
    return name in names()


def advice(name: str) -> str:
    """The advice about an operator of PyTorch that is not here; "" if PyTorch has no operator of
    this name, or if it is here.
    """
    if not is_pytorchs(name) or dispatcher.operators.names(f"aten::{name}"):
        return ""
    return (
        f"PyTorch has an operator {name!r}; here it is not implemented. {PAGE} lists what is; "
        f'"{SECTION}" in {NOTEBOOK} shows how to add one.'
    )


def missing_attribute(owner: str, name: str, prefix: str = "", place: str = "") -> AttributeError:
    """The error for `owner.name`: Python's own words, and the advice if PyTorch has an operator
    `prefix + name` at `place` ("" for any).
    """
    text = f"{owner} has no attribute {name!r}"
    full = prefix + name
    if (
        not name.startswith("__")
        and is_pytorchs(full)
        and (not place or place in names()[full])
        and advice(full)
    ):
        text += f". {advice(full)}"
    return AttributeError(text)
