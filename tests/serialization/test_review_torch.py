"""Archives as somebody uses them who has PyTorch beside them: what is written on one side runs on
the other.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import internals
from internals import jit
from tests.answers import answer
from tests.jit.sources import define
from tests.serialization.archives import held, saved_by_pytorch
from tests.support import assert_same


def carriage_return(x: internals.Tensor) -> str:
    return "\r\n\\r\r1"


NORMS = """
def norms(x):
    return torch.norm(x), torch.norm(x, dim=1), torch.norm(x, 1.0), torch.norm(x, 2.0, 1, True)
"""


def test_a_real_load_of_code_with_a_carriage_return() -> None:
    file = io.BytesIO()
    jit.save(jit.script(carriage_return), file)
    data = file.getvalue()

    def run(T: Any) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return T.jit.load(io.BytesIO(data))(T.ones(1))

    assert run(internals) == answer(run, about=held(data), family="archives") == "\r\n\\r\r1"


def test_a_real_archive_with_norm() -> None:
    """`torch.norm` is scripted whole, with the norms of matrices that this call does not want."""

    def ask(torch: Any) -> tuple[bytes, Any]:
        real, file = torch.jit.script(define(NORMS, torch=torch)), io.BytesIO()
        torch.jit.save(real, file)
        return file.getvalue(), real(torch.linspace(-1, 2, 12).reshape(3, 4))

    data, expected = saved_by_pytorch(ask)
    found = jit.load(io.BytesIO(data))(internals.linspace(-1, 2, 12).reshape(3, 4))
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)
