"""Statistics and order: names, ties, NaN, nothing, `out=`, errors beside PyTorch; and values beside
numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import internals as torch
from internals.core.tensor_impl import array, from_array
from tests.side_by_side import Case, cases, check, expression

ORDER = """
x.of([]).median()
x.of([], "int64").median()
x.of([[]]).median(0)
x.of([[]]).median(1)
x.of([True]).median()
x.of([1j], "complex64").nanmedian(0)
x.of(3.0).median(0, True).indices
x.of([3, nan, 1, 2]).median(0)
x.of([3, nan, 1, 2]).nanmedian(0)
x.of([nan, nan]).nanmedian(-1, keepdim=True)
x.of([4, 1, 2, 3]).median(dim=0).values
x.of([5, 5, 3, 3], "int32").median(0)[0]
x.of([5, 3, 4]).kthvalue(2)
x.of([5, nan, 4]).kthvalue(3, dim=0, keepdim=True)
x.of([5, 3, 4]).kthvalue(0)
x.of([5, 3, 4]).kthvalue(4)
x.of([]).kthvalue(1)
T.kthvalue(x.of([5, 3, 4]), 1, out=(T.empty(0), T.empty(0, dtype=T.int64)))
x.of([5, 5, 3, 3, 5, 5, 3], "int8").mode()
x.of([1, 2, 2, 1], "int64").mode()
x.of([True, False]).mode(0, True)
x.of([[]]).mode()
x.of([1j], "complex64").mode()
x.of([[3, 1], [2, 4]]).msort()
x.of([1, 3, 3, nan, 3, 1, nan]).cummax(0)
x.of([1, 3, 3, nan, 3, 1, nan]).cummin(0)
x.of([True, False, True], "bool").cummax(-1).indices
x.of(1.0).cummin(0)
x.of([1j], "complex64").cummax(0)
x.of([1j], "complex64").cummax(1)
T.cummax(x.of([1, 2]), 0, out=(T.empty(2), T.empty(2, dtype=T.int64)))
x.of([]).cummax(3)
x.of(1.0).cummin(1)
x.of([-inf, -inf, 1, inf, inf, nan]).logcumsumexp(0)
x.of([3 + 10j, 1, 2, 5 - 3j], "complex64").logcumsumexp(0)
x.of([1], "int64").logcumsumexp(0)
T.logcumsumexp(x.of([1], "int64"), 0, out=T.empty(1))
T.logcumsumexp(x.of([1], "float16"), 0, out=T.empty(1))
x.of([1, 2, nan]).aminmax()
x.of([[1, 2, nan], [1, 2, 3]]).aminmax(dim=1, keepdim=True).max
x.of([]).aminmax()
x.of([1j], "complex64").aminmax(dim=0)
x.of(1j, "complex64").aminmax(dim=0)
x.of([]).aminmax(dim=0)
x.of([]).nanmedian(0)
x.of([1j], "complex64").sort(2)
x.of([1j], "complex64").nansum(2)
x.of([1, nan]).nansum()
x.of([1.5, nan, 1.5]).nansum(0, dtype=T.int64)
x.of([1j], "complex64").nansum()
x.of([[1, nan], [nan, nan]]).nanmean(1, True)
x.of([1], "int64").nanmean()
x.of([[1j, 0, nan]], "complex64").count_nonzero((0, 1))
T.count_nonzero(x.of([[1, 0, nan]]), dim=0)
x(2, 3).count_nonzero((0, 0))
T.searchsorted(x.of([1, 3, 5]), x.of([[0, 1, 2, 5, 6, nan]]), side="right")
T.searchsorted(x.of([1, 3, 5]), 3.5, out_int32=True)
T.searchsorted(sorted_sequence=x.of([1, 3, nan]), input=x.of([4, nan]))
T.searchsorted(x.of([[1, 3, 5], [2, 4, 6]]), x.of([[3, 4], [3, 4]]), right=True)
T.searchsorted(x.of([5, 1, 3]), x.of([2, 4]), sorter=x.of([1, 2, 0], "int64"))
T.searchsorted(x.of([1, 3]), x.of([1]), side="left", right=True)
T.searchsorted(x.of([1, 3]), x.of([1]), side="up")
T.searchsorted(x.of([[1, 3]]), 2)
T.searchsorted(x.of([[1, 3]]), x.of([2]))
T.searchsorted(x.of([1, 3]), x.of([1]), out=T.empty(0))
T.bucketize(x.of([[1, 2, 3]]), x.of([1, 2]), right=True)
T.bucketize(2, x.of([1, 2]))
T.bucketize(x.of([1, 2]), x.of([[1]]))
T.nonzero_static(x.of([[0, 1, 2, 0]]), size=3, fill_value=7)
x.of([0, 1, 2]).nonzero_static(size=1)
x.of([1]).nonzero_static(size=-1)
"""

UNIQUE = """
x.of([3, 1, 2, 3, 1]).unique()
T.unique(x.of([3, 1, 2, 3, 1]), return_counts=True)
x.of([[3, 1, nan], [1, nan, 2]]).unique(True, True, True)
T.unique(x.of([True, False, True], "bool"), sorted=False, return_inverse=True)
T.unique(x.of([[1, 2], [1, 2], [0, 5]]), dim=0, return_inverse=True, return_counts=True)
x.of([[1, 2, 1], [1, 2, 1]]).unique(dim=-1)
x.of(3.0).unique(return_inverse=True)
x.of(3.0).unique(dim=0)
T.unique(T.empty(0, 3), dim=0, return_counts=True)
T.unique(T.empty(0, 3), dim=1)
T.unique(T.empty(0, 0), dim=1)
T.unique(x.of([1j], "complex64"))
T.unique("a")
T.unique_consecutive(x.of([1, 1, 2, 2, 1]), True, True)
x.of(3.0).unique(dim=1)
x.of([[1, 1, 2], [1, 1, 2]]).unique(dim=-1).stride()
x.of([[1, 1, 2], [1, 1, 2]]).unique_consecutive(dim=1).stride()
T.unique_consecutive(x.of(1j, "complex64"), dim=0)
x.of([[1, 1], [1, 1], [2, 2]]).unique_consecutive(dim=0, return_counts=True)
x.of([nan, nan, 1]).unique_consecutive(return_counts=True)
"""

HISTOGRAMS = """
T.histc(x.of([1, 2, 1, 3, nan]), 4, 0, 3)
T.histc(x.of([1, 2, 1, 3, 9, -4]), bins=4)
x.of([1, 1]).histc(4)
T.histc(x.of([1, inf]), 4)
T.histc(x.of([1]), 4, 3, 1)
T.histc(x.of([1], "int64"), 4)
T.histc(x.of([1], "int64"), 4, 2, 1)
T.histogram(x.of([0, 1, 2], "float16"), 4, range=(-1, 3))
T.histogram(x.of([0, 1, 2], "float16"), 4)
T.histogram(x.of([True]).bool(), 4, range=(0, 1))
T.histc(x.of([True]).bool(), 4, 0, 1)
T.histogram(x.of([], "float16"), 4, density=True)
T.histogram(x.of([0, 1, 2], "float16"), x.of([0, 1, 2], "float16"))
T.histogram(x.of([1, 2, 1, 3]), 4).hist
T.histogram(x.of([1, 2, 1, 3]), 4, range=(0, 3), weight=x.of([1, 2, 3, 4]), density=True)
T.histogram(x.of([1, 2, 1, 3]), x.of([0, 1, 2.5, 3]), density=True)
T.histogram(x.of([2, 2]), 4).bin_edges
T.histogram(x.of([1, 2]), x.of([0, 1, 3]), out=(T.empty(0), T.empty(0).double()))
T.histogram(x.of([1, 2]), x.of([0, 1, 3]), out=(T.empty(0).double(), T.empty(0)))
T.histogram(T.empty(0), 4)
T.histogram(x.of([1, nan]), 4)
T.histogram(x.of([1, 2]), 2, range=(3, 0))
T.histogram(x.of([1, 2]), 2, range=(3,))
T.histogram(x.of([1, 2]), 2, weight=x.of([1]))
T.histogram(x.of([1, 2]), x.of([1]))
T.histogram(x.of([1, 2], "int64"), 2)
T.histogram(x.of([1, 2]), 2, out=(T.empty(0), T.empty(0)))
T.histogramdd(x.of([[0, 1], [1, 0], [2, 0], [2, 2]]), bins=[2, 3])
T.histogramdd(x.of([[0, 1], [1, 0], [2, 0], [2, 2]]), bins=3, weight=x.of([1, 2, 3, 4]),
    density=True)
T.histogramdd(x.of([[0, 1], [1, 0], [2, 0]]), bins=[x.of([0, 1, 2]), x.of([0, 1])])
T.histogramdd(x.of([0, 1]), bins=[3])
T.histogramdd(x.of([[0, 1]]), bins=[3])
T.bincount(x.of([1, 2, 1], "int64"), minlength=5)
T.bincount(x.of([1, 2, 1], "uint8"), weights=x.of([0.5, 1, 2]))
x.of([], "int64").bincount(minlength=2)
T.bincount(x.of([1, -2], "int64"))
T.bincount(x.of([1, 2]))
T.bincount(x.of([]))
"""

SAMPLES = """
T.quantile(x.of([1, 2, 3, 4]), 0.3)
T.quantile(x.of([[1, 2, 3, 4], [4, 5, 6, 8]]), x.of([0.3, 0.5]), 1, True)
T.quantile(x.of([[1, 2, 3, 4], [4, 5, 6, 8]]), x.of([0.3, 0.5]), keepdim=True)
x.of([[1, 2, 3, nan], [4, 5, 6, 8]]).quantile(0.5, dim=1)
x.of([[1, 2, 3, nan], [4, 5, 6, 8]]).nanquantile(0.5, dim=1)
x.of([nan, nan]).nanquantile(0.5)
x(2, 3, 4).quantile(x.of([0.5, 0.1]), 1).stride()
[x.of([1, 2, 3, 4]).quantile(0.3, interpolation=i)
    for i in ("lower", "higher", "midpoint", "nearest")]
x.of([1, 2]).quantile(0.3, interpolation="x")
x.of([], "float16").quantile(0.3, interpolation="x")
x.of([1, 2]).quantile(1.3)
x.of([1, 2]).quantile(x.of(1.3))
x.of([1, 2], "float16").quantile(0.3)
x.of([]).quantile(0.3)
T.cov(x.of([[1, 2, 3], [4, 5, 7]]), fweights=x.of([1, 2, 3], "int64"), aweights=x.of([1, 2, 3]))
T.cov(x.of([1, 2, 3]), correction=5)
T.cov(x.of([[1, 2, 3]]), fweights=x.of([-1, 2, 3], "int64"))
x.of([[1j, 2, 3], [4, 5, 7]], "complex64").corrcoef()
T.corrcoef(x.of([1, 2, 3]))
T.cdist(x(2, 1, 3, 2), x(4, 5, 2), p=inf)
T.cdist(x(26, 3), x(4, 3))
T.cdist(x(2, 3), x(4, 3), compute_mode="donot_use_mm_for_euclid_dist")
T.cdist(x.of([[1, 2]]), x.of([[1, 5], [nan, 2], [1, 2]]), 0)
T.cdist(x(2, 3), x(4, 2))
T.cdist(x(2, 3), x(4, 3), compute_mode="x")
T.cdist(x(2, 3), x(4, 3), -1)
F.pdist(x(4, 3), 1.5)
T.pdist(T.empty(3, 0))
T.pdist(x(3))
T.dist(x(2, 1), x(3), p=0)
T.dist(x.of([1], "int64"), x.of([3], "int64"))
T.renorm(x.of([[1, 2], [3, 4]]), 2, -1, 3.0)
T.renorm(x(2, 2), 0, 0, 1)
x(3).renorm_(2, 0, 1)
T.trapezoid(x(2, 3), x.of([1, 2, 4]))
T.trapezoid(x.of([1, 2, 3], "int64"), dx=2, dim=0)
T.trapz(x(2, 3), x(4))
T.cumulative_trapezoid(x(2, 3), dx=0.5, dim=0)
T.cumulative_trapezoid(T.empty(2, 0))
T.trapezoid(x.of([True]).bool())
T.trapz(x.of(1.0), x.of(1.0))
T.cumulative_trapezoid(x.of(1.0))
T.cumulative_trapezoid(x.of([], "bool"))
T.cumulative_trapezoid(x.of([], "int64"))
T.diff(x.of([1, 3, 2]), prepend=x.of([0]), n=2)
T.diff(x.of([True, False, True], "bool"))
T.diff(x.of([1, 3, 2]), 5)
T.diff(x.of([1, 3, 2]), -1)
T.diff(x.of(1.0))
T.gradient(x.of([1, 4, 9, 16]), spacing=2, edge_order=2)
T.gradient(x(3, 4), spacing=[1.0, 2.0])
T.gradient(x(3, 4), dim=(1, 0))
T.gradient(x(3, 4), spacing=(x.of([0, 1, 3]),), dim=0, edge_order=2)
T.gradient(x(3, 4), spacing=[2.0])
T.gradient(x.of([1]))
T.gradient(x.of([1, 2, 3]), edge_order=3)
x(2, 3).sum_to_size(1, 3)
x(2, 3).sum_to_size((3,))
x(2, 3).sum_to_size(2)
"""


@pytest.mark.parametrize("text", cases(ORDER) + cases(UNIQUE) + cases(HISTOGRAMS) + cases(SAMPLES))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_like_pytorch(text: str) -> None:
    check(expression(text))


def median_of_ties(T: Any, x: Any) -> Any:
    t = x.of([2, 1, 2, 3, 2]).requires_grad_()
    (t.median() + t.nanmedian()).backward()
    return t.grad


def running_extrema_of_ties(T: Any, x: Any) -> Any:
    t = x.of([2, 1, 2, 3, 2, 3]).requires_grad_()
    (t.cummax(0)[0] * x.of([1, 2, 3, 4, 5, 6])).sum().backward()
    return t.grad


def extrema_of_ties(T: Any, x: Any) -> Any:
    t = x.of([[2, 1, 2], [1, 1, 2]]).requires_grad_()
    low, high = t.aminmax(dim=1)
    (low + 3 * high).sum().backward()
    return t.grad


def median_of_nan(T: Any, x: Any) -> Any:
    t = x.of([2, nan, 1, nan]).requires_grad_()
    t.median().backward()
    return t.grad


def distances_of_equal_rows(T: Any, x: Any) -> Any:
    t = x.of([[1, 2], [1, 2], [3, 2]]).requires_grad_()
    sum(T.cdist(t, t, p).sum() for p in (0.5, 1, 1.5, 2, 3, inf)).backward()
    return t.grad


def unique_has_no_derivative(T: Any, x: Any) -> Any:
    x(3).requires_grad_().unique().sum().backward()


nan, inf = torch.nan, torch.inf
GRADIENTS = [
    median_of_ties, running_extrema_of_ties, extrema_of_ties, median_of_nan,
    distances_of_equal_rows, unique_has_no_derivative,
]  # fmt: skip


@pytest.mark.parametrize("case", GRADIENTS, ids=lambda f: f.__name__)
def test_gradients_like_pytorch(case: Case) -> None:
    check(case)


@pytest.fixture
def a() -> Any:
    return np.random.default_rng(5).standard_normal((7, 5))


def test_like_numpy(a: Any) -> None:
    t = from_array(a)
    pairs = [
        (t.median(0)[0], np.median(a, 0)),
        (t.quantile(0.3, dim=1), np.quantile(a, 0.3, 1)),
        (torch.cov(t), np.cov(a)),
        (torch.corrcoef(t), np.corrcoef(a)),
        (torch.histogram(t, 6)[0], np.histogram(a, 6)[0]),
        (torch.histogramdd(t, [3] * 5)[0], np.histogramdd(a, 3)[0]),
        (torch.trapezoid(t, dim=0), np.trapezoid(a, axis=0)),
        (torch.diff(t, 2), np.diff(a, 2)),
        (torch.gradient(t, edge_order=2)[0], np.gradient(a, edge_order=2)[0]),
        (torch.cdist(t, t, 3), distance.cdist(a, a, "minkowski", p=3)),
        (t.logcumsumexp(0), np.logaddexp.accumulate(a, 0)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(array(ours), theirs, 1e-12)


def test_unique_of_many_is_sorted_by_machine_code() -> None:
    values = np.random.default_rng(6).integers(-500, 500, 40_000)
    ours = torch.unique(from_array(values), return_inverse=True, return_counts=True)
    for t, expected in zip(ours, np.unique(values, return_inverse=True, return_counts=True)):
        np.testing.assert_array_equal(array(t), expected)


def test_results_have_names() -> None:
    t = torch.tensor([3.0, 1.0, 2.0])
    for name in ("median", "nanmedian", "mode", "cummax", "cummin"):
        assert type(getattr(t, name)(0)) is getattr(torch.return_types, name)
    assert torch.aminmax(t).min.item() == 1
    assert torch.histogram(t, 2).bin_edges.tolist() == [1, 2, 3]


def counted(x: torch.Tensor):  # type: ignore[no-untyped-def]
    return torch.unique(x, return_counts=True), torch.unique(x, True, True, True, dim=0)[1]


def consecutive(x: torch.Tensor):  # type: ignore[no-untyped-def]
    return torch.unique_consecutive(x, return_counts=True)[1], torch.unique_consecutive(x, dim=0)


def distances(x: torch.Tensor):  # type: ignore[no-untyped-def]
    return torch.cdist(x, x, 1.0, "donot_use_mm_for_euclid_dist"), torch.nn.functional.pdist(x)


@pytest.mark.parametrize("function", [counted, consecutive, distances], ids=lambda f: f.__name__)
def test_python_functions_in_scripts_and_traces(function: Any) -> None:
    x = torch.tensor([[1.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    expected = repr(function(x))
    assert repr(torch.jit.script(function)(x)) == expected
    assert repr(torch.jit.trace(function, (x,))(x)) == expected
