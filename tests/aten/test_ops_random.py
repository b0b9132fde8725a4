"""Distributions beyond uniform and normal: PyTorch's very numbers, its errors, and that they are
distributed as they say.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import internals as torch
from internals.core.generator import one_by_one, uniform64
from tests.answers import HAS_TORCH
from tests.side_by_side import cases, check, expression
from tests.support import oracle

N = 4000

NUMBERS = """
T.empty(99, dtype=DTYPE).cauchy_()
T.empty(99, dtype=DTYPE).cauchy_(3, 0.5)
T.empty(6, 7, dtype=DTYPE).t().cauchy_()
T.empty(99, dtype=DTYPE).log_normal_()
T.empty(98, dtype=DTYPE).log_normal_(0.1, 0.3)
T.empty(99, dtype=DTYPE).geometric_(0.3)
T.empty(99, dtype=DTYPE).geometric_(0.999)
T.zeros(6, 4, dtype=DTYPE)[:, ::2].geometric_(0.01)
T.poisson(T.full((50,), 0.2, dtype=DTYPE))
T.poisson(T.tensor([0, 0.5, 3, 9.99, 10, 11, 40, 1e3, 6e4], dtype=DTYPE).expand(8, 9))
T.poisson(T.arange(60, dtype=DTYPE).view(6, 10).t())
"""

BINOMIALS = """
T.binomial(T.tensor([0, 1, 5, 30, 100, 1e4, 1e8], dtype=DTYPE).expand(9, 7),
    T.full((1,), 0.3, dtype=DTYPE))
T.binomial(T.full((7,), 40, dtype=DTYPE), T.tensor([-1, 0, 1e-7, 0.2, 0.5, 0.8, 1], dtype=DTYPE))
T.binomial(T.tensor([-3, 10.5, 1e3], dtype=DTYPE), T.tensor(0.9, dtype=DTYPE))
T.binomial(T.full((2, 3), 50, dtype=DTYPE).t(), T.tensor([nan, 0.25], dtype=DTYPE))
"""

EXPONENTIAL = """
T.empty(99, dtype=DTYPE).exponential_()
T.empty(99, dtype=DTYPE).exponential_(lambd=2.5)
T.empty(3, dtype=DTYPE).exponential_(inf)
"""

OVERLOADS = """
T.rand(3, generator=G), T.rand((2, 2), generator=G, out=T.empty(0))
T.randn(3, 2, generator=G), T.randn(2, generator=G, out=T.empty(0))
T.randint(5, (4,), generator=G), T.randint(2, 5, (4,), generator=G, out=T.empty(0, dtype=T.int64))
T.randperm(6, generator=G), T.randperm(6, generator=G, out=T.empty(0, dtype=T.int64))
T.rand_like(T.ones(2), generator=G), T.randn_like(T.ones(2), generator=G)
T.randint_like(T.ones(4), 9, generator=G), T.randint_like(T.ones(4), 3, 9, generator=G)
T.randint_like(T.ones(4), T.tensor(7)), T.randint_like(T.ones(4), T.tensor(7.5), generator=G)
T.randint_like(T.ones(4), T.tensor([7]))
T.multinomial(T.ones(5), 9, True, generator=G), T.bernoulli(T.full((6,), 0.4), generator=G)
T.poisson(T.full((6,), 4.0), generator=G), T.poisson(T.full((6,), 4.0), G)
T.binomial(T.full((6,), 4.0), T.full((6,), 0.5), G), T.zeros(5).geometric_(0.3, generator=G)
T.bernoulli(T.full((6,), 0.4), out=T.empty(6, dtype=T.int64)),
    T.bernoulli(T.full((6,), 0.4), out=T.empty(0).double())
T.normal(0.0, 2.0, (3,), out=T.empty(0)), T.normal(0.0, 2.0, (3,), generator=G),
    T.normal(mean=1.0, std=2.0, size=(3,))
T.normal(T.zeros(3), T.ones(3), out=T.empty(3).double()),
    T.normal(T.zeros(3).double(), 1.0, out=T.empty(3))
T.normal(T.zeros(3), 1.0, out=T.empty(2, 3)),
    T.normal(T.zeros(2, 3), 1.0, generator=G, out=T.empty(3))
T.normal(2.0, T.ones(3), out=T.empty(0)), T.normal(mean=2, std=T.ones(2)),
    T.normal(T.zeros(3), std=T.ones(3))
T.normal(T.zeros(3), 1.0, out=T.empty(2))
T.normal(T.zeros(3), T.ones(3), out=T.empty(3, dtype=T.int64))
T.normal(T.zeros(3), -T.ones(3))
T.normal(T.zeros(3), T.ones(3) + 0j)
"""

ERRORS = """
T.empty(3).exponential_(0)
T.empty(3).exponential_(nan)
T.empty(3, dtype=T.int64).exponential_()
T.empty(3, dtype=T.complex64).exponential_()
T.empty(0, dtype=T.int64).exponential_()
T.empty(3).cauchy_(0, -1)
T.empty(3, dtype=T.int64).cauchy_()
T.empty(0, dtype=T.bool).cauchy_()
T.empty(3).log_normal_(0, 0)
T.empty(3, dtype=T.uint8).log_normal_()
T.empty(0, dtype=T.uint8).log_normal_()
T.empty(3).geometric_(0)
T.empty(3).geometric_(1.0)
T.empty(3).geometric_(nan)
T.empty(3).geometric_()
T.empty(3, dtype=T.bool).geometric_(0.5)
T.empty(3, 1).expand(3, 2).exponential_()
T.poisson(x.of([1.0, -1.0]))
T.poisson(x.of([1.0, nan]))
T.poisson(x.of([1, 2], "int64"))
T.poisson(x(0, dtype="int64"))
T.poisson(x(2, dtype="complex64"))
T.binomial(x.of([1, 2], "int64"), x.of([0.5, 0.5]))
T.binomial(x.of([1, 2]), x.of([1, 0], "int64"))
T.binomial(x.of([1, 2]), x.of([0.5, 0.5], "float64"))
T.binomial(x.of([1, 2], "float16"), x.of([0.5, 0.5], "float16"))
T.binomial(x(2), x.uniform(3))
T.empty(3).uniform_(-3e38, 3e38)
T.Generator().get_offset()
T.Generator().set_offset(4)
T.Generator().graphsafe_get_state()
"""


def seeded(text: str, dtype: str = "float32") -> Any:
    """The case `text`, with a seed before and a number after it, which shows where the stream then
    is.
    """
    case = expression(
        text.replace("DTYPE", f"T.{dtype}").replace("G", "T.Generator().manual_seed(4)")
    )

    def run(T: Any, x: Any) -> Any:
        T.manual_seed(2)
        return case(T, x), T.rand(3)

    return run


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("text", cases(NUMBERS))
def test_the_same_seed_gives_pytorchs_numbers(text: str, dtype: str) -> None:
    check(seeded(text, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", cases(BINOMIALS))
def test_the_same_seed_gives_pytorchs_binomials(text: str, dtype: str) -> None:
    check(seeded(text, dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("text", cases(EXPONENTIAL))
def test_exponential_numbers_agree_where_mkl_does_not_draw_them(text: str, dtype: str) -> None:
    if HAS_TORCH and mkl_draws(oracle()):
        pytest.skip("PyTorch draws these from MKL's own stream on this processor")
    check(seeded(text, dtype))


def mkl_draws(torch: Any) -> bool:
    """Whether exponential numbers leave the generator elsewhere than as many uniform ones do."""
    torch.manual_seed(0)
    torch.empty(6).exponential_()
    after = torch.rand(1)
    torch.manual_seed(0)
    torch.rand(6, dtype=torch.float64)
    return not torch.equal(after, torch.rand(1))


@pytest.mark.parametrize("text", cases(OVERLOADS))
def test_overloads(text: str) -> None:
    check(seeded(text))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", cases(ERRORS))
def test_what_is_refused(text: str) -> None:
    check(expression(text))


# What PyTorch 2.13 gives after manual_seed(0), for those who have no PyTorch to compare with.


def test_the_numbers_of_seed_zero() -> None:
    def drawn(call: Any) -> list[float]:
        torch.manual_seed(0)
        return call().tolist()

    np.testing.assert_allclose(
        drawn(lambda: torch.empty(3).exponential_()), [3.508326, 1.230385, 0.615044], rtol=1e-6
    )
    assert drawn(lambda: torch.empty(3).geometric_(0.3)) == [1, 1, 3]
    assert drawn(lambda: torch.poisson(torch.tensor([1.0, 2.0]).half())) == [2, 3]
    assert drawn(lambda: torch.binomial(torch.tensor([10.0, 3.0]), torch.tensor(0.5))) == [7, 2]


# That they are distributed as they say: with a fixed seed, a test that a true sample fails once in
# ten thousand.

CONTINUOUS = [
    (lambda t: t.exponential_(2.0), stats.expon(scale=0.5)),
    (lambda t: t.cauchy_(1.0, 3.0), stats.cauchy(1, 3)),
    (lambda t: t.log_normal_(0.5, 0.7), stats.lognorm(0.7, scale=math.exp(0.5))),
]
COUNTS = [
    *[(lambda t, r=r: torch.poisson(t.fill_(r)), stats.poisson(r)) for r in (0.3, 4.0, 10.0, 55.0)],
    *[
        (lambda t, n=n, p=p: torch.binomial(t.fill_(n), torch.full((), p)), stats.binom(n, p))
        for n, p in ((5, 0.3), (40, 0.5), (60, 0.9), (2000, 0.02))
    ],
    (lambda t: t.geometric_(0.2), stats.geom(0.2)),
]


@pytest.mark.parametrize("fill, law", CONTINUOUS)
def test_continuous_laws(fill: Any, law: Any) -> None:
    torch.manual_seed(1)
    assert stats.kstest(np.asarray(fill(torch.empty(N))), law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("fill, law", COUNTS)
def test_laws_of_counts(fill: Any, law: Any) -> None:
    torch.manual_seed(1)
    drawn = np.asarray(fill(torch.empty(N)))
    edges = np.unique(law.ppf(np.linspace(0.05, 0.95, 12)))
    expected = np.diff(law.cdf(edges), prepend=0, append=1) * N
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    kept = expected > 1e-9
    assert stats.chisquare(seen[kept], expected[kept]).pvalue > 1e-4
    assert abs(drawn.mean() - law.mean()) < 5 * law.std() / math.sqrt(N)


# Streams and gradients


def test_numbers_drawn_one_by_one_leave_the_stream_where_the_last_one_was() -> None:
    g = torch.Generator().manual_seed(9)
    for count in (0, 1, 63, 64, 65, 1000):
        twin = g.clone_state()
        with one_by_one(g) as uniform:
            drawn = [uniform() for _ in range(count)]
        assert drawn == uniform64(twin, count).tolist()
        assert torch.equal(g.get_state(), twin.get_state())


def test_a_count_that_is_no_number_ends() -> None:
    drawn = torch.binomial(torch.tensor([math.nan, math.inf]), torch.full((2,), 0.3)).tolist()
    assert math.isnan(drawn[0]) and drawn[1] == math.inf
    assert torch.poisson(torch.tensor([math.inf])).tolist() == [math.inf]


def test_what_goes_in_has_no_influence_on_what_is_drawn() -> None:
    for name, arguments in (
        ("exponential_", ()),
        ("cauchy_", ()),
        ("log_normal_", ()),
        ("geometric_", (0.3,)),
    ):
        x = torch.ones(3, requires_grad=True)
        y = getattr(x * 2, name)(*arguments)
        assert type(y.grad_fn).__name__ == name.strip("_").title().replace("_", "") + "Backward0"
        y.sum().backward()
        assert x.grad.tolist() == [0, 0, 0]
    rate = torch.ones(3, requires_grad=True)
    torch.poisson(rate).sum().backward()
    assert rate.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="derivative for aten::binomial is not implemented"):
        torch.binomial(
            torch.full((3,), 5.0), torch.full((3,), 0.5, requires_grad=True)
        ).sum().backward()


def test_fork_rng_leaves_no_trace() -> None:
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.poisson(torch.full((9,), 30.0))
        torch.manual_seed(8)
    first = torch.rand(2).tolist()
    assert first == torch.rand(2, generator=torch.Generator().manual_seed(3)).tolist()
