"""Numbers without bounds, where the work grows with a number and not with a tensor: answered at
once, or refused by name.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from internals.machine_code import kernel, parallel, pool
from tests.answers import answer

# seconds of the processor for what should take less than one: only what never ends takes as long
PATIENCE = 60
HUGE = [2**31 - 1, 2**31, 2**62, 2**63 - 1]
POLYNOMIALS = [
    f"{kind}chebyshev_polynomial_{letter}" for kind in ("", "shifted_") for letter in "tuvw"
] + [
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
]  # fmt: skip


@pytest.fixture(autouse=True)
def it_ends() -> Iterator[None]:
    """What goes on and on fails instead; Windows has no such alarm."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise AssertionError("it does not end")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


# Each takes a huge number; what is refused names the argument.
REFUSED: dict[str, tuple[Callable[[int], Any], str]] = {
    "tensor_split": (
        lambda n: internals.ones(6).tensor_split(n),
        "number of sections must be at most",
    ),
    "tensor_split, tensor": (
        lambda n: internals.ones(6).tensor_split(internals.tensor(n)),
        "number of sections must be at most",
    ),
    "hsplit": (lambda n: internals.ones(2, 0).hsplit(n), "number of sections must be at most"),
    "vsplit": (lambda n: internals.ones(0, 2).vsplit(n), "number of sections must be at most"),
    "dsplit": (lambda n: internals.ones(1, 1, 0).dsplit(n), "number of sections must be at most"),
    "chunk": (lambda n: internals.ones(0, 2).chunk(n), "chunks must be at most"),
    "unsafe_chunk": (lambda n: internals.ones(0, 2).unsafe_chunk(n), "chunks must be at most"),
    "mvlgamma": (
        lambda n: internals.mvlgamma(internals.ones(2), n),
        "expected p, the number of factors",
    ),
    "multigammaln": (
        lambda n: internals.special.multigammaln(internals.ones(2), n),
        "expected p, the number of factors",
    ),
    "mvlgamma_": (lambda n: internals.ones(2).mvlgamma_(n), "expected p, the number of factors"),
    "combinations": (
        lambda n: internals.combinations(internals.ones(2), n),
        "combinations: expected r,",
    ),
    "legendre": (
        lambda n: internals.special.legendre_polynomial_p(internals.tensor([0.5, 2.0]), n),
        "special_legendre_polynomial_p: expected n to be at most",
    ),
    "laguerre": (
        lambda n: internals.special.laguerre_polynomial_l(internals.tensor([0.5]), n),
        "special_laguerre_polynomial_l: expected n to be at most",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("n", HUGE[:3])
def test_a_huge_number_is_refused_by_name(name: str, n: int) -> None:
    call, words = REFUSED[name]
    with pytest.raises(RuntimeError, match=words):
        call(n)


@pytest.mark.parametrize("n", HUGE)
def test_polygamma_of_a_huge_order(T: Any, n: int) -> None:
    got = T.polygamma(n, T.tensor([0.0, 40.0], dtype=T.float64))
    assert got.dtype == T.float64
    if T is internals:  # PyTorch computes with the last 32 bits of n
        assert got[0].item() == (math.inf if n % 2 else -math.inf) and math.isnan(got[1].item())
    assert T.polygamma(171, T.tensor([1.0], dtype=T.float64)).item() == math.inf
    assert T.polygamma(170, T.tensor([1.0], dtype=T.float64)).item() == pytest.approx(
        -math.factorial(170)
    )


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_high_degrees_as_pytorch(name: str) -> None:
    x = np.array([-2.0, -1.1, -1.0, -0.7, 0.0, 0.2, 0.5, 0.9, 1.0, 1.5, np.inf, -np.inf])
    for n in (0, 1, 2, 8, 9, 10, 127, 128, 129, 512, 513, 1000):
        ours = getattr(internals.special, name)(internals.from_numpy(x.copy()), n).numpy()
        theirs = answer(
            lambda torch, n=n: getattr(torch.special, name)(torch.from_numpy(x.copy()), n)
        )
        np.testing.assert_allclose(ours, theirs.numpy(), 1e-8, 1e-8, err_msg=f"{name} {n}")


@pytest.mark.parametrize("n", [2**31, 2**62])
def test_polynomials_of_huge_degrees(T: Any, n: int) -> None:
    """Where a limit, an angle or an overflow gives the answer; in float64, whose integers reach
    2**62 exactly only if even.
    """
    x = T.tensor([-1.0, 0.0, 1.0, 3.0], dtype=T.float64)
    s = T.special
    nan = math.nan
    for name, expected in {
        "chebyshev_polynomial_t": [1, 1, 1, nan],
        "chebyshev_polynomial_u": [n + 1, 1, n + 1, nan],
        "hermite_polynomial_h": [nan] * 4,
        "hermite_polynomial_he": [nan] * 4,
    }.items():
        got = getattr(s, name)(x, n).numpy()
        if "chebyshev" in name:
            # of an angle that is rounded, so that all that is known is its bound
            assert abs(got[1]) <= 1
            got[1] = expected[1]
        np.testing.assert_allclose(got, expected, 1e-12, err_msg=name)
    ends = T.tensor([-1.0, 1.0], dtype=T.float64)
    assert s.legendre_polynomial_p(ends, n).tolist() == [1, 1]
    assert s.legendre_polynomial_p(ends, n + 1 if n < 2**53 else n).tolist()[1] == 1
    assert s.laguerre_polynomial_l(T.tensor([0.0]), n).item() == 1
    assert s.shifted_chebyshev_polynomial_t(T.tensor([0.0, 1.0]), n).tolist() == [1, 1]


def test_each_element_keeps_its_own_degree(T: Any) -> None:
    x = T.tensor([0.5, 0.5, 2.0, 0.3, -1.0])
    got = T.special.legendre_polynomial_p(x, T.tensor([0.0, 2.0, 1e9, -4.0, 3.0]))
    np.testing.assert_allclose(got.numpy(), [1, -0.125, np.nan, 0, -1], 1e-6)


def test_many_parts_of_few_elements(T: Any) -> None:
    parts = T.arange(3).tensor_split(100_000)
    assert len(parts) == 100_000 and [p.numel() for p in parts[:4]] == [1, 1, 1, 0]
    assert len(T.ones(0, 2).chunk(100_000)) == 100_000


def test_mvlgamma_of_many_factors(T: Any) -> None:
    x = T.tensor([60_000.0, 70_000.5], dtype=T.float64)
    expected = [
        sum(math.lgamma(a - j / 2) for j in range(100_000))
        + 100_000 * 99_999 / 4 * math.log(math.pi)
        for a in x.tolist()
    ]
    np.testing.assert_allclose(T.mvlgamma(x, 100_000).numpy(), expected, 1e-10)


@pytest.mark.parametrize("last", [2**31, 2**62, 2**63 - 2, 2**63 - 1])
def test_bincount_of_a_huge_number_does_not_write_beyond_its_memory(last: int) -> None:
    """numpy's `bincount` does, for the last of these."""
    values = internals.tensor([last, 0, 0])
    if last > 2**31:
        with pytest.raises(RuntimeError, match="overflowed"):
            internals.bincount(values)
        with pytest.raises(RuntimeError, match="overflowed"):
            internals.bincount(values, internals.ones(3))
    with pytest.raises(RuntimeError, match="overflowed"):
        internals.bincount(internals.tensor([1]), minlength=2**62)
    with pytest.raises(RuntimeError, match="overflowed"):
        internals.histc(internals.ones(3), bins=2**62)
    with pytest.raises(RuntimeError, match="overflow"):
        internals.histogramdd(internals.ones(3, 8), bins=[256] * 8)


def test_repeats_whose_sum_overflows() -> None:
    """PyTorch 2.13 writes beyond its memory, and so does numpy's `repeat`."""
    repeats = internals.tensor([2**62] * 4)
    with pytest.raises(RuntimeError, match="the sum of repeats overflows"):
        internals.repeat_interleave(repeats)
    with pytest.raises(RuntimeError, match="the sum of repeats overflows"):
        internals.ones(4).repeat_interleave(repeats)


def test_triangles_far_off(T: Any) -> None:
    far = 2**63 - 1
    square = T.ones(2, 2)
    assert T.tril(square, -far - 1).tolist() == T.triu(square, far).tolist() == [[0, 0], [0, 0]]
    assert T.triu(square, -far - 1).tolist() == T.tril(square, far).tolist() == [[1, 1], [1, 1]]
    assert T.tril_indices(3, 3, -far - 1).shape == (2, 0)
    assert T.tril_indices(2**40, 0).shape == T.triu_indices(0, 2**40).shape == (2, 0)
    with pytest.raises(RuntimeError, match="overflowed"):
        T.tril_indices(2**31, 2**31)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangles_as_numpy(name: str) -> None:
    for row in range(5):
        for column in range(5):
            for offset in range(-6, 7):
                got = getattr(internals, name)(row, column, offset).numpy()
                expected = np.stack(getattr(np, name)(row, offset, column))
                np.testing.assert_array_equal(got, expected)


def test_a_step_that_is_taken_once_may_be_any_size(T: Any) -> None:
    image, weight = T.ones(1, 1, 4, 4), T.ones(1, 1, 2, 2)
    assert T.conv2d(image, weight, stride=2**62).tolist() == [[[[4]]]]
    assert internals.nn.functional.max_pool2d(
        internals.ones(1, 1, 4, 4), 2, stride=2**62
    ).tolist() == [[[[1]]]]
    assert T.conv2d(image, T.ones(1, 1, 1, 1), dilation=2**62).shape == (1, 1, 4, 4)
    assert all(math.isnan(v) for v in T.round(T.tensor([1.5, 0.0]), decimals=2**31 - 1).tolist())
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type int64_t without overflow"
    ):
        T.arange(0, 5, 1e30, dtype=T.int64)


def test_no_more_threads_are_made_than_there_are_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel
    def ones(begin, end, out):  # type: ignore[no-untyped-def]
        for i in range(begin, end):
            out[i] = 1

    out = np.zeros(1000, np.float32)
    fresh = pool.Pool()
    monkeypatch.setattr(pool, "_pool", fresh)
    monkeypatch.setattr(parallel._threads, "number", 10**6)
    ones.entry("*f4").parallel(out.size, 300, out.ctypes.data)
    assert out.all() and fresh.started == 3
    with pytest.raises(ValueError, match="Overflow when unpacking long"):
        internals.set_num_threads(2**31)


GROUPS = 8


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_operator_ends_with_huge_arguments(group: int) -> None:
    pytest.importorskip("resource")
    run = [sys.executable, "-m", "tests.core.huge_arguments", str(group), str(GROUPS)]
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        run,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said = process.communicate(timeout=1200)[0].splitlines()
    except subprocess.TimeoutExpired:
        process.kill()
        said = process.communicate()[0].splitlines()
    assert process.returncode == 0, said[-1]  # the last one that was called
    assert said[-1] == "found: []"
    assert len(said) > 500
