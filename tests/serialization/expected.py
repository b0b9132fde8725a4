"""The archives that real PyTorch made, and what it computed with them
(`tests/archives/torchscript`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "archives" / "torchscript"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())


def decoded(value: Any, torch: Any) -> Any:
    """A value of `expected.json`; tensors are made with `torch`."""
    if isinstance(value, list):
        return [decoded(v, torch) for v in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return torch.tensor(
            decoded(value["tensor"], torch), dtype=getattr(torch, value["dtype"])
        ).reshape(value["sizes"])
    if "tuple" in value:
        return tuple(decoded(v, torch) for v in value["tuple"])
    if "complex" in value:
        return complex(*value["complex"])
    return {decoded(k, torch): decoded(v, torch) for k, v in value["dict"]}


def assert_same(ours: Any, theirs: Any) -> None:
    """Equal structure, types, dtypes and sizes; numbers that are close."""
    if hasattr(theirs, "tolist"):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(
            np.array(ours.tolist()), np.array(theirs.tolist()), rtol=1e-5, atol=1e-6
        )
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, type(theirs)) and len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            assert_same(mine, other)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    else:
        assert type(ours) is type(theirs) and ours == theirs
