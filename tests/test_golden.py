"""Hundreds of small expressions that must give what PyTorch 2.13 gives: values, shapes, errors (see
`golden_files`).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden_files import GoldenFile, evaluate, files

FILES = files()
IDS = [f.path.stem for f in FILES]


@pytest.mark.parametrize("golden", FILES, ids=IDS)
def test_every_expression_gives_what_pytorch_gives(golden: GoldenFile, T: Any) -> None:
    names = golden.namespace(T)
    wrong = []
    for expression, expected in golden.entries:
        got = evaluate(expression, names)
        if got != expected:
            wrong.append(f"{expression}\n  expected {expected}\n  got      {got}")
    assert not wrong, f"{len(wrong)} of {len(golden.entries)} differ:\n" + "\n".join(wrong)
