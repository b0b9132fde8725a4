"""Archives as somebody uses them who has PyTorch beside them: what is written on one side runs on the other."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest

import internals
from internals import jit

torch: Any = pytest.importorskip("torch")


def carriage_return(x: internals.Tensor) -> str:
    return "\r\n\\r\r1"


def norms(x):  # type: ignore[no-untyped-def]
    return torch.norm(x), torch.norm(x, dim=1), torch.norm(x, 1.0), torch.norm(x, 2.0, 1, True)


def test_a_real_load_of_code_with_a_carriage_return() -> None:
    file = io.BytesIO()
    jit.save(jit.script(carriage_return), file)
    for load, ones in ((jit.load, internals.ones), (torch.jit.load, torch.ones)):
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            assert load(file)(ones(1)) == "\r\n\\r\r1"


def test_a_real_archive_with_norm() -> None:
    """`torch.norm` is scripted whole, with the norms of matrices that this call does not want."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        real = torch.jit.script(norms)
        torch.jit.save(real, file)
    x = torch.linspace(-1, 2, 12).reshape(3, 4)
    file.seek(0)
    for ours, theirs in zip(jit.load(file)(internals.tensor(x.tolist())), real(x), strict=True):
        assert internals.allclose(ours, internals.tensor(theirs.tolist()))
