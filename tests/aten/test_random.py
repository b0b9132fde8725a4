"""Random numbers: PyTorch's own streams, whatever dtype, size and layout; and they are distributed
as they should be.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.core.generator import DEFAULT_SEED
from tests.answers import answer, oracle
from tests.support import examples

FLOATING = ["float16", "float32", "float64", "complex64", "complex128"]
EVERY = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
LAST_BITS = {
    "float16": 4e-3,
    "float32": 1e-6,
    "complex64": 1e-6,
    "float64": 4e-15,
    "complex128": 4e-15,
}
N = 20_000


def both(call: Any, seed: int = 3, exact: bool = True, repeat: int = 3) -> None:
    """`call(module)` gives the same from both modules, several times in a row, and leaves both
    generators in the same state.
    """

    def drawn(m: Any) -> Any:
        m.manual_seed(seed)
        return [call(m) for _ in range(repeat)], state(m)

    all_ours, state_here = drawn(torch)
    all_theirs, state_there = answer(drawn, family="random")
    for a, b in zip(all_ours, all_theirs, strict=True):
        ours, theirs = np.asarray(a), b.numpy()
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if exact:
            np.testing.assert_array_equal(ours, theirs)
        else:
            tolerance = LAST_BITS[ours.dtype.name]
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert state_here == state_there


def state(m: Any) -> str:
    """A checksum of the generator's state but for the kept normal number behind it, which may
    differ in its last bit.
    """
    return hashlib.sha1(np.asarray(m.get_rng_state())[:5016].tobytes()).hexdigest()


# What PyTorch 2.13 gives after manual_seed(0), for those who have no PyTorch to compare with.


def test_the_numbers_of_seed_zero() -> None:
    torch.manual_seed(0)
    expected = [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688]
    assert torch.rand(4).tolist() == expected
    torch.manual_seed(0)
    assert torch.rand(2, dtype=torch.float64).tolist() == [0.9700530018065531, 0.707819864399788]
    torch.manual_seed(0)
    np.testing.assert_allclose(
        torch.randn(4).tolist(),
        [1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991],
    )
    torch.manual_seed(0)
    np.testing.assert_allclose(
        torch.randn(17)[:3].tolist(),
        [-1.1258398294448853, -1.6959311962127686, 0.5666506290435791],
        rtol=1e-5,
    )
    torch.manual_seed(0)
    assert torch.randint(10, (8,)).tolist() == [4, 9, 3, 0, 3, 9, 7, 3]
    torch.manual_seed(0)
    assert torch.randperm(8).tolist() == [4, 0, 7, 3, 2, 5, 1, 6]


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("n", [0, 1, 5, 15, 16, 17, 40, 1000])
def test_rand_agrees_bit_for_bit(name: str, n: int) -> None:
    both(lambda m: m.rand(n, dtype=getattr(m, name)), repeat=1 if n == 1000 else 3)


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("n", [0, 1, 5, 15, 16, 17, 40, 1000])
def test_randn_agrees_to_the_last_bits(name: str, n: int) -> None:
    both(lambda m: m.randn(n, dtype=getattr(m, name)), exact=False, repeat=1 if n == 1000 else 3)


@pytest.mark.parametrize("name", EVERY)
def test_integers_agree(name: str) -> None:
    both(lambda m: m.empty(30, dtype=getattr(m, name)).random_())
    both(lambda m: m.empty(30, dtype=getattr(m, name)).random_(0, None))
    both(lambda m: m.randint(2, (30,), dtype=getattr(m, name)))


@pytest.mark.parametrize("span", [1, 7, 2**28 - 1, 2**28, 2**32, 2**40, 2**63])
def test_randint_agrees_for_every_range(span: int) -> None:
    both(lambda m: m.randint(-5, span - 5, (30,)))


@pytest.mark.parametrize("n", [0, 1, 2, 10, 1000])
def test_randperm_agrees(n: int) -> None:
    both(lambda m: m.randperm(n))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.empty(6, 4).t().normal_(1, 2),
        lambda m: m.zeros(6, 4)[:, ::2].normal_(),
        lambda m: m.rand_like(m.ones(3, 4).t()),
        lambda m: m.randn_like(m.ones(3, 4, 5).permute(2, 0, 1)),
        lambda m: m.normal(m.arange(20.0), m.arange(20.0)),
        lambda m: m.normal(m.arange(5.0), 2.0),
        lambda m: m.normal(2.0, m.arange(5.0)),
        lambda m: m.normal(2.0, 3.0, (7,)),
        lambda m: m.randn(3, generator=m.Generator().manual_seed(4)),
    ],
)
def test_normals_agree_in_every_layout(call: Any) -> None:
    both(call, exact=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.zeros(6, 4, 3).permute(2, 0, 1).uniform_(-1, 1),
        lambda m: m.empty(50).uniform_(-0.3, 0.7),
        lambda m: m.empty(50, dtype=m.float16).uniform_(-2, 3),
        lambda m: m.bernoulli(m.arange(40.0) / 40),
        lambda m: m.bernoulli(m.arange(40.0, dtype=m.float64) / 40),
        lambda m: m.zeros(4, 6, dtype=m.int64).bernoulli_(m.full((6,), 0.3)),
        lambda m: m.randint_like(m.ones(3, 4).t(), 2, 90),
        lambda m: m.multinomial(m.arange(1.0, 33.0).view(4, 8), 50, replacement=True),
        lambda m: m.multinomial(m.arange(1.0, 33.0, dtype=m.float64), 9, True),
    ],
)
def test_other_draws_agree_bit_for_bit(call: Any) -> None:
    both(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.empty(30).bernoulli_(0.4),
        lambda m: m.empty(30, dtype=m.bool).bernoulli_(),
        lambda m: m.bernoulli(m.ones(30), 0.7),
        lambda m: m.multinomial(m.arange(1.0, 9.0), 5),
        lambda m: m.multinomial(m.arange(1.0, 33.0).view(4, 8), 1),
    ],
)
def test_draws_that_mkl_makes_on_some_processors(call: Any) -> None:
    real = oracle()
    real.manual_seed(0)
    real.empty(6).bernoulli_(0.5)
    after = real.rand(1)
    real.manual_seed(0)
    real.rand(6, dtype=real.float64)
    if not real.equal(after, real.rand(1)):
        pytest.skip("PyTorch draws these from MKL's own stream on this processor")
    both(call)


def test_a_state_moves_between_us_and_pytorch() -> None:
    torch.manual_seed(5)
    torch.rand(700), torch.randn(3)
    ours = np.array(torch.get_rng_state())

    def go_on(real: Any) -> Any:
        real.set_rng_state(real.from_numpy(ours))
        return real.rand(5), real.randn(3), real.get_rng_state(), real.randint(100, (9,))

    uniform, normal, theirs, integers = answer(go_on, about=ours[:5016].tobytes(), family="random")
    assert torch.rand(5).tolist() == uniform.tolist()
    np.testing.assert_allclose(torch.randn(3).tolist(), normal.tolist(), rtol=1e-6)
    torch.set_rng_state(torch.from_numpy(theirs.numpy().copy()))
    assert torch.randint(100, (9,)).tolist() == integers.tolist()


# Generators


@given(
    st.integers(-(2**63), 2**64 - 1), st.lists(st.integers(0, 40), max_size=5), st.integers(1, 30)
)
@examples(30)
def test_a_state_brings_the_same_numbers_again(seed: int, before: list[int], n: int) -> None:
    g = torch.Generator().manual_seed(seed)
    for k in before:
        torch.randn(k, generator=g)
    state, twin = g.get_state(), g.clone_state()
    first = torch.randn(n, generator=g).tolist()
    assert torch.randn(n, generator=g.set_state(state)).tolist() == first
    assert torch.randn(n, generator=twin).tolist() == first
    assert g.initial_seed() == seed % 2**64


def test_looking_at_the_state_does_not_change_it() -> None:
    g = torch.Generator().manual_seed(3)
    for n in (0, 1, 624):
        torch.randn(n, generator=g)
        assert torch.equal(g.get_state(), g.get_state()) and torch.equal(
            g.clone_state().get_state(), g.get_state()
        )


def test_generators_do_not_disturb_each_other() -> None:
    torch.manual_seed(1)
    expected = torch.rand(6).tolist()
    g = torch.Generator()
    assert g.initial_seed() == DEFAULT_SEED
    torch.manual_seed(1)
    first = torch.rand(3).tolist()
    torch.rand(100, generator=g)
    assert first + torch.rand(3).tolist() == expected


def test_seed_starts_somewhere_new() -> None:
    seeds = {torch.seed() for _ in range(5)}
    assert len(seeds) == 5 and torch.initial_seed() in seeds
    torch.manual_seed(0)


@given(st.lists(st.integers(0, 50), max_size=6), st.sampled_from(["rand", "randint"]))
@examples(30)
def test_many_draws_and_one_large_draw_are_the_same_stream(sizes: list[int], name: str) -> None:
    def draw(n: int) -> list[Any]:
        return (torch.rand(n) if name == "rand" else torch.randint(1000, (n,))).tolist()

    torch.manual_seed(11)
    pieces = [x for n in sizes for x in draw(n)]
    torch.manual_seed(11)
    assert pieces == draw(sum(sizes))


# Distributions: means and variances within five standard errors, with a fixed seed.


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_uniform_moments(name: str) -> None:
    torch.manual_seed(0)
    u = np.asarray(torch.empty(N, dtype=getattr(torch, name)).uniform_(-1, 3), np.float64)
    assert u.min() >= -1 and u.max() <= 3
    assert abs(u.mean() - 1) < 5 * 4 / math.sqrt(12 * N) and abs(u.var() - 16 / 12) < 0.05


@pytest.mark.parametrize("layout", ["contiguous", "strided"])
def test_normal_moments(layout: str) -> None:
    torch.manual_seed(0)
    t = torch.empty(N // 100, 200)[:, ::2] if layout == "strided" else torch.empty(N)
    x = np.asarray(t.normal_(2, 3), np.float64).reshape(-1)
    assert abs(x.mean() - 2) < 5 * 3 / math.sqrt(N) and abs(x.std() - 3) < 0.1
    assert abs(((x - 2) ** 3).mean()) < 2 and 0.66 < (abs(x - 2) < 3).mean() < 0.70


def test_complex_normals_have_variance_one() -> None:
    torch.manual_seed(0)
    x = np.asarray(torch.randn(N, dtype=torch.complex128))
    assert abs((abs(x) ** 2).mean() - 1) < 0.05 and abs(x.real.var() - 0.5) < 0.03


@given(st.integers(-50, 50), st.integers(1, 100), st.integers(0, 1000))
@examples(20)
def test_randint_stays_in_its_range_and_uses_all_of_it(low: int, span: int, seed: int) -> None:
    torch.manual_seed(seed)
    x = np.asarray(torch.randint(low, low + span, (span * 20,)))
    assert x.min() >= low and x.max() < low + span
    assert len(np.unique(x)) >= 0.9 * span


@given(st.integers(0, 300), st.integers(0, 1000))
@examples(30)
def test_randperm_is_a_permutation(n: int, seed: int) -> None:
    torch.manual_seed(seed)
    assert sorted(torch.randperm(n).tolist()) == list(range(n))


def test_bernoulli_frequencies() -> None:
    torch.manual_seed(0)
    p = torch.tensor([0.0, 0.1, 0.5, 1.0])
    drawn = np.asarray(torch.bernoulli(p.expand(N, 4)), np.float64).mean(0)
    np.testing.assert_allclose(drawn, [0, 0.1, 0.5, 1], atol=0.02)
    assert abs(np.asarray(torch.empty(N).bernoulli_(0.3)).mean() - 0.3) < 0.02


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_frequencies(replacement: bool) -> None:
    torch.manual_seed(0)
    weights = torch.tensor([1.0, 0.0, 3.0, 6.0])
    drawn = np.asarray(torch.multinomial(weights.expand(N, 4), 2, replacement))
    first = np.bincount(drawn[:, 0], minlength=4) / N
    np.testing.assert_allclose(first, [0.1, 0, 0.3, 0.6], atol=0.02)
    if not replacement:
        assert (drawn[:, 0] != drawn[:, 1]).all()


def test_random_tensors_write_through_views_and_count_as_writes() -> None:
    t = torch.zeros(4, 4)
    t[:, 1].fill_(5)
    before = t._version
    t[:, 1].uniform_(2, 3)
    assert t._version == before + 1
    a = np.asarray(t)
    assert ((a[:, 1] >= 2) & (a[:, 1] <= 3)).all() and not a[:, [0, 2, 3]].any()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1).expand(3).uniform_()


def test_random_factories_take_the_usual_options() -> None:
    t = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    assert t.requires_grad and t.dtype is torch.float64
    out = torch.empty(2, 2, dtype=torch.float64)
    torch.manual_seed(0)
    assert torch.randn(2, 2, out=out) is out
    torch.manual_seed(0)
    assert out.tolist() == torch.randn(2, 2, dtype=torch.float64).tolist()
    assert tuple(torch.randn(2, 3, device="meta").shape) == (2, 3)
