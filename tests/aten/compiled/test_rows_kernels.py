"""The kernels of rows and columns: as Python against compiled, on any number of threads, beside
PyTorch, and where they fail.
"""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.aten.compiled import (
    extrema,
    moments,
    reductions,
    row_functions as functions,
    scans,
    softmax,
)
from internals.aten.compiled.rows import address, rows_of
from internals.core.tensor_impl import array, from_array
from internals.machine_code import compiled_kernels, get_num_threads, set_num_threads
from internals.machine_code.language import Kernel
from internals.machine_code.llvm import CompileError
from tests.answers import answer
from tests.core.large_results import few_numbers
from tests.side_by_side import check
from tests.support import to_numpy

pytestmark = pytest.mark.sampled(1 / 2)

SINGLE = {"T": np.float32, "W": np.float64}
LARGE = (300, 250)  # beyond every family's threshold


@pytest.fixture
def threads() -> Iterator[None]:
    before = get_num_threads()
    yield
    set_num_threads(before)


def kernel_cases() -> list[Any]:
    """(kernel, signature, units, its arrays and numbers); the last array but those after it is
    compared.
    """
    stream = np.random.default_rng(5)
    x = stream.standard_normal((6, 37)).astype(np.float32)
    x[2, 5], x[4, 0] = np.nan, np.inf
    keys = functions.keys_for(np.float32)
    totals = reductions.totals_of_rows.bind(
        O=np.float32,
        W=np.float64,
        row_total=functions.row_sum,
        term=functions.square,
        finish=reductions.root,
    )
    return [
        (totals, "*f4 *f4 i8 i8 i8 i8 f8", 18, [x], np.empty(18, np.float32), (37, 16, 3, 37, 0.0)),
        (
            reductions.totals_of_columns.bind(W=np.float64, term=functions.identity),
            "*f4 *f8 i8 i8 i8 i8 i8 i8 i8", 2, [x], np.empty((2, 37)), (6, 37, 5, 2, 1, 0, 37),
        ),
        (
            extrema.extremes_of_rows.bind(T=np.float32, row_extreme=functions.row_smallest, **keys),
            "*f4 *f4 i8 i8 i8 i8", 6, [x], np.empty(6, np.float32), (37, 37, 1, 37),
        ),
        (
            scans.scans_of_rows.bind(O=np.float32, W=np.float64, combine=scans.times),
            "*f4 *f4 i8 i8", 6, [x], np.empty_like(x), (37, 1),
        ),
        (
            softmax.results_of_rows.bind(row_result=functions.row_softmax).bind(**SINGLE, **keys),
            "*f4 *f4 i8", 6, [x], np.empty_like(x), (37,),
        ),
        (softmax.gradients_of_rows.bind(row_result=functions.row_log_softmax_backward).bind(
            **SINGLE, term=functions.identity,
        ),
         "*f4 *f4 *f4 i8", 6, [x, -abs(x)], np.empty_like(x), (37,)),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(6))
def test_python_is_the_reference(number: int) -> None:
    """A kernel run as Python, on arrays, gives what its machine code gives, but for the order in
    which sums are added up.
    """
    kernel, signature, units, inputs, out, numbers = kernel_cases()[number]
    expected = np.empty_like(out)
    with np.errstate(all="ignore"):
        kernel(0, units, *(a.reshape(-1) for a in inputs), expected.reshape(-1), *numbers)
    kernel.entry(signature)(0, units, *map(address, inputs), address(out), *numbers)
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)
    assert np.isnan(expected).any() == np.isnan(out).any()


OPERATORS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(1),
    "sum of columns": lambda x: x.sum(0),
    "mean over two": lambda x: x.reshape(50, -1, 50).mean((0, 2)),
    "var": lambda x: x.var(),
    "var of columns": lambda x: x.var(0),
    "norm": lambda x: x.norm(),
    "argmax": lambda x: x.argmax(),
    "amax of columns": lambda x: x.amax(0),
    "cumsum of columns": lambda x: x.cumsum(0),
    "softmax of columns": lambda x: x.softmax(0),
    "logsumexp": lambda x: x.logsumexp((0, 1)),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (x.shape[1],)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_the_same_bits_on_any_number_of_threads(name: str, threads: None) -> None:
    x = from_array(np.random.default_rng(0).standard_normal((1500, 700)).astype(np.float32))
    results = []
    for number in (1, 2, 3):
        set_num_threads(number)
        results.append(to_numpy(OPERATORS[name](x)).tobytes())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape, dim",
    [((1 << 20,), (0,)), ((1 << 19, 2), (0,)), ((3, 1 << 18), (1,)), ((20_000, 40), (0,))],
)
def test_sums_lose_hardly_a_digit(shape: tuple[int, ...], dim: tuple[int, ...], name: str) -> None:
    a = np.random.default_rng(1).uniform(0, 1, shape).astype(name)
    lines = np.moveaxis(a, dim[0], -1).reshape(-1, shape[dim[0]]).astype(np.float64)
    exact = np.array([math.fsum(line) for line in lines])
    for result in (from_array(a).sum(dim), from_array(a).mean(dim) * shape[dim[0]]):
        np.testing.assert_allclose(array(result).reshape(-1), exact, rtol=4 * np.finfo(name).eps)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [LARGE, (20, 50)])
def test_beside_pytorch(name: str, dtype: str, sizes: tuple[int, ...]) -> None:
    rtol = 2e-5 if dtype == "float32" else 1e-12
    check(lambda T, x: few_numbers(T, by_name(name, T, x(*sizes, dtype=dtype))), rtol=rtol)


def by_name(name: str, T: Any, x: Any) -> Any:
    return (
        T.nn.functional.layer_norm(x, (x.shape[1],)) if name == "layer_norm" else OPERATORS[name](x)
    )


@pytest.mark.parametrize("dim", [0, 1])
def test_extremes_beside_pytorch(dim: int) -> None:
    """NaN wins, the first of them; among equals the first. Machine code and numpy, which serves
    small tensors.
    """
    stream = np.random.default_rng(3)
    for sizes in (LARGE, (7, 9)):
        a = stream.integers(-3, 4, sizes).astype(np.float32)
        a[stream.random(sizes) < 2 / sizes[1 - dim]] = np.nan
        x = from_array(a)
        real = answer(
            lambda torch, a=a: [f(torch.from_numpy(a), dim).values for f in (torch.max, torch.min)]
        )
        for ours, theirs in zip((x.max(dim), x.min(dim)), real):
            np.testing.assert_array_equal(array(ours.values), theirs.numpy())
            at = np.take_along_axis(a, np.expand_dims(array(ours.indices), dim), dim).squeeze(dim)
            np.testing.assert_array_equal(at, theirs.numpy())
        np.testing.assert_array_equal(to_numpy(x.argmax(dim)), np.argmax(a, dim))
        np.testing.assert_array_equal(to_numpy(x.argmin(dim)), np.argmin(a, dim))
        assert x.argmax().item() == np.argmax(a) and x.t().argmin().item() == np.argmin(a.T)


def test_signed_zeros() -> None:
    a = np.full(LARGE, -0.0, np.float32)
    assert (
        np.signbit(to_numpy(from_array(a).amax(1))).all()
        and np.signbit(to_numpy(from_array(a).max(0).values)).all()
    )
    a[:, 7] = 0.0
    assert not np.signbit(to_numpy(from_array(a).amax(1))).any()
    assert (to_numpy(from_array(a).argmax(1)) == 0).all()


def test_what_cannot_be_compiled_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Kernel, signature: str, aliasing: bool = False) -> Any:
        raise CompileError("no compiler today")

    monkeypatch.setattr(Kernel, "entry", refuse)
    x = from_array(np.ones(LARGE, np.int32))
    with compiled_kernels(threshold=0):
        with pytest.warns(UserWarning, match="no compiler today.*INTERNALS_COMPILED_KERNELS=0"):
            reductions._plan.cache_clear()
            assert fresh() is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert fresh() is None
    assert x.sum().item() == LARGE[0] * LARGE[1]
    reductions._plan.cache_clear()


def test_results_that_go_where_the_argument_lies() -> None:
    a = np.random.default_rng(4).standard_normal(LARGE).astype(np.float32)
    for call in (
        lambda x: torch.sum(x, 1, out=x[:, 0][: LARGE[0]]),
        lambda x: torch.mean(x, 0, out=x[7]),
        lambda x: torch.prod(x, 1, out=x[:, 3]),
        lambda x: torch.norm(x, 2, 0, out=x[0]),
        lambda x: torch.cumsum(x, 1, out=x),
        lambda x: x.cumsum_(0),
        lambda x: torch.amax(x, 1, out=x[:, 1]),
    ):
        results = []
        for enabled in (False, True):
            with compiled_kernels(enabled):
                results.append(to_numpy(call(from_array(a.copy()))))
        np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-4)


def fresh() -> Any:
    """Ask for a variant that nothing else uses."""
    return reductions._entry(
        np.dtype(np.int16),
        np.dtype(np.int64),
        functions.row_product,
        functions.magnitude,
        reductions.as_it_is,
    )


def test_small_tensors_load_no_compiler() -> None:
    program = (
        "import sys, internals as torch\n"
        "x = torch.ones(64, 10)\n"
        "x.sum(), x.softmax(1), x.max(1), x.var(), x.cumsum(0), torch.nn.functional.layer_norm(x, "
        "(10,))\n"
        "print(*[m for m in sys.modules if m.split('.')[0] in ('numba', 'llvmlite')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_rows_of_layouts() -> None:
    """Merged dimensions, in the order of memory; None where elements have gaps or dimensions take
    turns.
    """

    def of(t: Any, *dims: int) -> Any:
        found = rows_of(t._geometry, dims)
        return found and found[:5]

    x = torch.empty(4, 6, 8)
    assert of(x, 2) == (24, 8, 1, 8, 1)
    assert of(x, 0) == (1, 4, 48, 0, 48)
    assert of(x, 1) == (4, 6, 8, 48, 8)
    assert of(x, 0, 1, 2) == (1, 192, 1, 0, 1)
    assert of(x.permute(2, 0, 1), 0) == (24, 8, 1, 8, 1)
    assert of(x.permute(2, 0, 1), 1, 2) == (1, 24, 8, 0, 8)
    assert of(x[:, :3], 1, 2) == (4, 24, 1, 48, 1)
    assert (
        of(x, 0, 2) is None
        and of(x[:, :, ::2], 2) is None
        and of(x[:, :1].expand(4, 6, 8), 1) is None
    )


def test_moments_of_chunks_are_combined() -> None:
    """A row longer than a chunk, far from zero, where sums of squares would have no digits left."""
    values = 1e6 + np.random.default_rng(2).standard_normal(3 * moments.CHUNK + 17)
    assert from_array(values).var().item() == pytest.approx(values.var(ddof=1), rel=1e-9)
