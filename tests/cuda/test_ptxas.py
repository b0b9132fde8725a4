"""The binding of nvJitLink: what is said where it, or its library, is missing."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from internals.cuda.ptx import PtxUnavailable
from internals.cuda.ptxas import nvjitlink, registers_of

NAME = "cuda.bindings.nvjitlink"


def without_library() -> None:
    raise RuntimeError("libnvJitLink.so.13 cannot be opened")  # found by the first call only


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (None, "halted; None in sys.modules"),
        (SimpleNamespace(version=without_library), "cannot be opened"),
    ],
    ids=["binding", "library"],
)
def test_what_is_missing_is_named_with_the_fix(
    module: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for parent in ("cuda", "cuda.bindings"):
        monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    monkeypatch.setitem(sys.modules, NAME, module)
    for call in (nvjitlink, lambda: registers_of("", (9, 0))):
        with pytest.raises(PtxUnavailable, match=f"nvJitLink is not here: .*{why}"):
            call()
