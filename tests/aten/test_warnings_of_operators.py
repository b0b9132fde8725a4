"""A warning names the line that called the operator, whichever way the call took: a function or a
method, for the first time or again, recorded by autograd or not. Some come once in a process, and
always where that is wanted; so they do in all other tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import internals
from internals.core import warn
from tests.answers import answer

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "cov": lambda T, x: T.cov(x[:1]),
    "var": lambda T, x: x[:1].var(),
    "T": lambda T, x: x.view(4, 1, 1).T,
    "mT": lambda T, x: x[0].mT,
    "meshgrid": lambda T, x: T.meshgrid(x, x),
    "range": lambda T, x: T.range(0, 3),
    "scatter": lambda T, x: x.scatter(0, T.tensor([0]), x[:1], reduce="add"),
    "index_reduce": lambda T, x: T.index_reduce(x, 0, T.tensor([0]), x[:1], "mean"),
    "index_fill_": lambda T, x: T.ones(1).expand(3).index_fill_(0, T.tensor([0]), 2),
    "index": lambda T, x: x[T.ones(4, dtype=T.uint8)],
    "to": lambda T, x: (x * 1j).to(T.float32),
    "copy_": lambda T, x: T.ones(4).copy_(x * 1j),
    "solve_triangular": lambda T, x: T.linalg.solve_triangular(
        T.eye(4), (x * 1j).view(4, 1), upper=True
    ),
    "random_": lambda T, x: T.ones(2).random_(0, 2**25),
    "add": lambda T, x: T.add(T.ones(2), 1, out=T.ones(3)),
    "stft": lambda T, x: T.stft(x.repeat(4), 4, return_complex=True),
    "method stft": lambda T, x: x.repeat(4).stft(4, return_complex=True),
    "pairs": lambda T, x: T.stft(x.repeat(4), 4, window=T.ones(4), return_complex=False),
    "istft": lambda T, x: T.istft(T.ones(3, 5, dtype=T.complex64), 4, window=T.ones(4), length=90),
    "istft without": lambda T, x: T.istft(T.ones(3, 5, dtype=T.complex64), 4),
    "cross": lambda T, x: T.cross(x[:3], x[:3]),
    "triangular_solve": lambda T, x: T.triangular_solve(x.view(4, 1), T.eye(4)),
    "qr": lambda T, x: T.qr(x.view(2, 2)),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_the_line_that_called(name: str, requires_grad: bool) -> None:
    x = internals.arange(4.0).requires_grad_(requires_grad)
    for _ in range(3):
        with pytest.warns(UserWarning) as caught:
            CALLS[name](internals, x)
        assert [(w.filename, w.lineno) for w in caught] == [
            (__file__, CALLS[name].__code__.co_firstlineno)
        ]


def test_in_a_script() -> None:
    @internals.jit.script
    def spread(x: internals.Tensor) -> internals.Tensor:
        return x[:1].var()

    with pytest.warns(UserWarning, match="degrees of freedom") as caught:
        spread(internals.ones(2))
    assert caught[0].filename == __file__


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(warn, "_said", set())
    internals.set_warn_always(False)
    yield
    internals.set_warn_always(True)


def test_once_or_always(once: None) -> None:
    assert not internals.is_warn_always_enabled()
    assert [
        how_often(CALLS[name], internals) for name in ("meshgrid", "meshgrid", "to", "copy_", "var")
    ] == [
        1,
        0,
        1,
        0,
        3,
    ]
    internals.set_warn_always(True)
    assert how_often(CALLS["meshgrid"], internals) == 3


@pytest.mark.sampled(1 / 4)
def test_what_comes_once_in_pytorch() -> None:
    def counts(T: Any) -> Any:
        """In a process of its own, which has not warned yet."""
        script = (
            f"import json, {T.__name__} as T, tests.aten.test_warnings_of_operators as t\n"
            "print(json.dumps({name: t.how_often(call, T) for name, call in t.CALLS.items()}))"
        )
        return json.loads(
            subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout
        )

    assert counts(internals) == answer(counts)


def test_the_switch_takes_bools(T: Any) -> None:
    with pytest.raises(RuntimeError, match="setWarnOnlyOnce expects a bool, but got int"):
        T.set_warn_always(1)


def how_often(call: Callable[[Any, Any], Any], T: Any) -> int:
    """How many warnings three calls give."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            call(T, T.arange(4.0))
    return len(caught)
