"""Random numbers on the device: Philox, PyTorch's streams, generators and their states, the
distributions.

Numbers printed by PyTorch on real GPUs, in its documentation and its issues, are written down here;
so is the test vector of Philox's inventors (Random123).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.core.tensor_impl import array
from internals.cuda import backend
from internals.cuda.device_array import flat
from internals.cuda.fallback import fallbacks, no_fallback
from internals.cuda.kernels import distributions, sampling as sampling_kernels
from internals.cuda.kernels.philox import philox
from internals.cuda.language import kernel
from internals.cuda.native.random import _instance, execution_blocks
from internals.cuda.native.sampling import key_bits
from tests.support import oracle


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def values(t: Any) -> Any:
    return np.array(array(t.detach().cpu()))


@kernel
def words(out, seed, subsequence, position):  # type: ignore[no-untyped-def]
    w0, w1, w2, w3 = philox(seed, subsequence, position)
    out[0] = w0
    out[1] = w1
    out[2] = w2
    out[3] = w3


@pytest.mark.parametrize("key, counter, expected", [
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
])  # fmt: skip
def test_philox_gives_the_words_its_inventors_published(
    key: Any, counter: Any, expected: Any
) -> None:
    out = torch.zeros(4, dtype=torch.int64, device="cuda")
    seed, position, subsequence = (
        np.uint64(low | high << 32) for low, high in (key, counter[:2], counter[2:])
    )
    words[1, 1](out, seed, subsequence, position)
    assert tuple(out.tolist()) == expected


def test_the_numbers_of_a_seed_are_those_of_a_real_gpu() -> None:
    expected = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096]
    assert [round(x, 4) for x in torch.rand(10, device="cuda").tolist()] == expected
    torch.cuda.manual_seed(0)
    expected = [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209]
    assert [round(x, 4) for x in torch.randn(5, device="cuda").tolist()] == expected
    torch.cuda.manual_seed(42)
    assert [round(x, 4) for x in torch.randn(3, device="cuda").tolist()] == [
        0.1940,
        2.1614,
        -0.1721,
    ]


def test_which_thread_gets_which_element_is_part_of_the_stream() -> None:
    assert (
        execution_blocks(1, torch.device("cuda", 0)) == 1
        and execution_blocks(257, torch.device("cuda", 0)) == 2
    )
    properties = backend.driver().properties(0)
    full = properties.multi_processor_count * (properties.max_threads_per_multi_processor // 256)
    assert execution_blocks(1 << 30, torch.device("cuda", 0)) == full
    a = torch.rand(300, device="cuda")
    torch.manual_seed(0)
    # the same threads, and a first number each
    assert torch.equal(a[:256], torch.rand(256, device="cuda"))


def test_the_second_number_of_a_thread_is_in_the_same_four() -> None:
    """With more elements than threads a thread fills several: two threads stand for a device that
    holds no more.
    """
    out, once = torch.empty(10, device="cuda"), torch.empty(4, device="cuda")
    uniform = _instance("uniform", distributions.between.bind(T=np.float32, C=np.float32), False)
    seed, start, low, high = np.uint64(7), np.uint64(0), np.float32(0), np.float32(1)
    uniform[1, 2](flat(out), 10, (10,), (1,), seed, start, 2, low, high)
    uniform[1, 1](flat(once), 4, (4,), (1,), seed, start, 1, low, high)
    assert values(out)[0:8:2].tolist() == values(once).tolist() and len(set(out.tolist())) == 10


def test_each_draw_moves_the_offset_on_by_what_it_used() -> None:
    generator = torch.Generator("cuda")
    torch.rand(5, device="cuda", generator=generator)
    assert generator.get_offset() == 4
    torch.empty(5, device="cuda").bernoulli_(
        torch.full((5,), 0.5, device="cuda"), generator=generator
    )
    assert generator.get_offset() == 4 + 12
    torch.randperm(6, device="cuda", generator=generator)
    assert generator.get_offset() == 16 + 4 + 8
    torch.rand(0, device="cuda", generator=generator)
    assert generator.get_offset() == 28


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_uniform(dtype: Any) -> None:
    with no_fallback():
        x = values(torch.empty(3000, dtype=dtype, device="cuda").uniform_(-2, 4)).astype(np.float64)
    assert x.min() >= -2 and x.max() < 4
    assert abs(x.mean() - 1) < 0.15 and abs(x.var() - 3) < 0.3
    histogram, _ = np.histogram(x, 6, (-2, 4))
    assert ((histogram - 500) ** 2 / 500).sum() < 20.5  # chi-square, 5 degrees of freedom, 0.001


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_normal(dtype: Any) -> None:
    with no_fallback():
        x = values(torch.empty(3000, dtype=dtype, device="cuda").normal_(3, 2)).astype(np.float64)
    assert abs(x.mean() - 3) < 0.15 and abs(x.std() - 2) < 0.15
    z = np.sort((x - 3) / 2)
    expected = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in z])
    # Kolmogorov and Smirnov, 0.001
    assert np.abs(expected - np.arange(1, 3001) / 3000).max() < 1.95 / math.sqrt(3000)


def test_complex_normals_share_the_variance() -> None:
    x = values(torch.randn(1000, dtype=torch.complex64, device="cuda"))
    assert abs(x.real.var() - 0.5) < 0.1 and abs(x.imag.var() - 0.5) < 0.1


@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.float32],
    ids=str,
)
def test_integers(dtype: Any) -> None:
    with no_fallback():
        x = values(torch.randint(3, 9, (1200,), dtype=dtype, device="cuda"))
        assert x.dtype == dtype.np
        counts = np.unique(x, return_counts=True)
        assert counts[0].tolist() == [3, 4, 5, 6, 7, 8]
        assert ((counts[1] - 200) ** 2 / 200).sum() < 20.5
        everything = values(torch.empty(500, dtype=dtype, device="cuda").random_())
    assert everything.min() >= 0 and len(np.unique(everything)) > 100


def test_integers_of_64_bits() -> None:
    wide = values(torch.empty(200, dtype=torch.int64, device="cuda").random_(-(1 << 62), 1 << 62))
    assert wide.min() < -(1 << 60) and wide.max() > 1 << 60 and (np.abs(wide) <= 1 << 62).all()
    full = values(torch.empty(200, dtype=torch.int64, device="cuda").random_(-(1 << 63), None))
    assert full.min() < -(1 << 62) and full.max() > 1 << 62


def test_bernoulli() -> None:
    with no_fallback():
        for dtype in (torch.bool, torch.int32, torch.float16, torch.float32, torch.float64):
            x = values(torch.empty(1500, dtype=dtype, device="cuda").bernoulli_(0.3)).astype(float)
            assert set(x) == {0, 1} and abs(x.mean() - 0.3) < 0.05
        p = torch.tensor([[0.0, 1.0, 0.5]] * 400).cuda()
        x = values(torch.bernoulli(p))
    assert x[:, 0].sum() == 0 and x[:, 1].sum() == 400 and 140 < x[:, 2].sum() < 260


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
def test_a_probability_above_one() -> None:
    with pytest.raises(RuntimeError, match="device-side assert triggered"):
        torch.bernoulli(torch.tensor([1.5], device="cuda"))
        torch.cuda.synchronize()


def test_numbers_follow_the_order_of_the_memory() -> None:
    a = torch.rand(6, device="cuda")
    torch.manual_seed(0)
    b = torch.empty(3, 2, device="cuda").t().uniform_()
    assert values(b.t()).reshape(-1).tolist() == a.tolist()


def test_permutations() -> None:
    for dtype in (torch.int64, torch.int32, torch.float32):
        assert sorted(torch.randperm(50, dtype=dtype, device="cuda").tolist()) == list(range(50))
    assert torch.randperm(0, device="cuda").tolist() == []
    firsts = np.array([torch.randperm(3, device="cuda").tolist() for _ in range(300)])
    assert all(60 < (firsts[:, 0] == i).sum() < 140 for i in range(3))
    with pytest.raises(
        RuntimeError, match="value cannot be converted|out of bounds|overflow|n cannot be greater"
    ):
        torch.randperm(1000, dtype=torch.uint8, device="cuda")


def test_keys_of_a_permutation_are_long_enough_to_differ_mostly() -> None:
    for n in (10, 1000, 10**6):
        assert math.exp(-n * n / 2 / 2 ** key_bits(n)) > 0.89


def test_multinomial() -> None:
    weights = torch.tensor([[0.0, 1, 2, 7], [4, 0, 0, 4]]).cuda()
    with_replacement = values(torch.multinomial(weights, 600, True))
    assert (
        np.abs(np.bincount(with_replacement[0], minlength=4) / 600 - [0, 0.1, 0.2, 0.7]).max()
        < 0.08
    )
    assert set(with_replacement[1]) == {0, 3}
    without = values(torch.multinomial(weights, 2))
    assert set(without[1]) == {0, 3} and len(set(without[0])) == 2 and 0 not in without[0]
    with pytest.raises(RuntimeError, match="probability tensor contains either"):
        torch.multinomial(-weights, 1)


def test_dropout_is_made_on_the_device() -> None:
    x = torch.ones(1000, device="cuda", requires_grad=True)
    before = fallbacks()
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    assert fallbacks() == before
    kept = values(y) != 0
    assert 690 < kept.sum() < 810 and np.allclose(values(y)[kept], 1 / 0.75)
    assert np.array_equal(values(x.grad), values(y))


@pytest.mark.parametrize("n", [8, 6, 5])
def test_which_number_drops_which_element(n: int) -> None:
    """Elements in fours take the four numbers of a thread; in twos its first two; else its first,
    as in PyTorch's kernel.
    """
    each = torch.empty(16, device="cuda")
    uniform = _instance("uniform", distributions.between.bind(T=np.float32, C=np.float32), False)
    uniform[1, 4](
        flat(each), 16, (16,), (1,), np.uint64(0), np.uint64(0), 4, np.float32(0), np.float32(1)
    )
    by_thread = values(each).reshape(4, 4).T  # row t: the four numbers of thread t
    at_once = {8: 4, 6: 2, 5: 1}[n]
    x = torch.nn.functional.dropout(torch.ones(n, device="cuda"), 0.4)
    threads = range(min(-(-n // at_once), 4))
    expected = [by_thread[t, k] < np.float32(0.6) for t in threads for k in range(at_once)]
    assert (values(x) != 0).tolist()[: len(expected)] == expected


def test_native_dropout() -> None:
    x = torch.tensor([[1.0, 2, 3], [4, 5, 6]]).t().cuda().requires_grad_()
    with no_fallback():
        y, mask = torch.native_dropout(x, 0.5, True)
        y.sum().backward()
        same, all_of_it = torch.native_dropout(x, 0.5, False)
        nothing, none_of_it = torch.native_dropout(x, 1.0, True)
    assert y.stride() == mask.stride() == x.stride() and mask.dtype == torch.bool
    assert torch.equal(y, x * mask * 2) and torch.equal(x.grad, mask * 2.0)
    assert torch.equal(same, x) and all_of_it.all() and not nothing.any() and not none_of_it.any()


def test_seeds_and_states() -> None:
    torch.cuda.manual_seed(3)
    assert torch.cuda.initial_seed() == 3
    a = torch.rand(3, device="cuda")
    state = torch.cuda.get_rng_state()
    assert (state.device.type, state.dtype, tuple(state.shape)) == ("cpu", torch.uint8, (16,))
    assert array(state).view(np.uint64).tolist() == [3, 4]
    b = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(3, device="cuda"), b) and not torch.equal(a, b)
    torch.manual_seed(5)
    assert torch.cuda.initial_seed() == 5
    torch.cuda.seed()
    assert torch.cuda.initial_seed() != 5
    assert len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()


def test_each_device_has_a_generator(second_device: int) -> None:
    torch.cuda.manual_seed_all(9)
    a, b = torch.rand(4, device="cuda:0"), torch.rand(4, device=f"cuda:{second_device}")
    assert repr(torch.cuda.default_generators) == repr(tuple(torch.cuda.default_generators))
    assert a.tolist() == b.tolist()
    torch.cuda.manual_seed(1)  # of the current device
    assert (
        torch.rand(4, device=f"cuda:{second_device}").tolist()
        != torch.rand(4, device="cuda:0").tolist()
    )
    assert torch.cuda.default_generators[1].initial_seed() == 9


def test_fork_rng_leaves_no_trace() -> None:
    with torch.random.fork_rng():
        torch.rand(3, device="cuda"), torch.rand(3), torch.manual_seed(77)
    assert torch.cuda.get_rng_state().tolist()[:9] == [0] * 9 and torch.initial_seed() == 0
    with torch.random.fork_rng(devices=[0]):
        torch.cuda.manual_seed(4)
    assert torch.cuda.initial_seed() == 0


def test_generators() -> None:
    generator = torch.Generator(device="cuda")
    assert isinstance(generator, torch.Generator) and generator.device == torch.device("cuda", 0)
    assert generator.manual_seed(6) is generator and generator.initial_seed() == 6
    a = torch.rand(3, device="cuda", generator=generator)
    assert torch.equal(
        torch.rand(3, device="cuda", generator=torch.Generator("cuda").manual_seed(6)), a
    )
    copy = generator.clone_state()
    assert torch.equal(
        torch.randn(3, device="cuda", generator=copy),
        torch.randn(3, device="cuda", generator=generator),
    )
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        generator.set_state(torch.zeros(7, dtype=torch.uint8))
    with pytest.raises(TypeError, match="RNG state must be"):
        generator.set_state(torch.zeros(16))


def test_a_generator_belongs_to_a_kind_of_device() -> None:
    with pytest.raises(
        RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"
    ):
        torch.rand(3, device="cuda", generator=torch.Generator())
    with pytest.raises(
        RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"
    ):
        torch.rand(3, generator=torch.Generator("cuda"))


def test_bounds_are_checked_as_on_the_cpu() -> None:
    x = torch.empty(2, device="cuda")
    with pytest.raises(RuntimeError, match=r"expects to return a \[from, to\) range"):
        x.uniform_(2, 1)
    with pytest.raises(RuntimeError, match="normal expects std >= 0.0"):
        x.normal_(0, -1)
    with pytest.raises(RuntimeError, match="bernoulli_ expects p to be in"):
        x.bernoulli_(2)
    with pytest.raises(RuntimeError, match="'from' to be less than 'to'"):
        x.random_(4, 4)


@pytest.mark.gpu
def test_the_streams_are_those_of_pytorch() -> None:
    real = oracle()
    if not real.cuda.is_available():
        pytest.skip("PyTorch is installed without CUDA")
    for n in (5, 1000, 1 << 20):
        for name in ("rand", "randn"):
            real.manual_seed(11), torch.manual_seed(11)
            ours, theirs = (
                values(getattr(torch, name)(n, device="cuda")),
                getattr(real, name)(n, device="cuda").cpu().numpy(),
            )
            np.testing.assert_allclose(
                ours, theirs, rtol=0 if name == "rand" else 1e-4, atol=0 if name == "rand" else 1e-5
            )


def test_the_ends_of_uniform_numbers() -> None:
    """The middles of the first and of the last interval."""
    uniform = distributions.uniform1.function
    assert [uniform(np.uint32(w)) for w in (0, 1, 2**32 - 1)] == [
        2.0**-33,
        np.float32(1.5 * 2.0**-32),
        1.0,
    ]


def test_a_number_that_is_0_in_half_precision_gives_the_first_category() -> None:
    """With this seed the first word is 58, and 58 / 2**32 is nothing in float16. There is nothing
    before the first weight.
    """
    weights = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float16, device="cuda")
    out = torch.full((1,), -7, dtype=torch.int64, device="cuda")
    kernel = sampling_kernels.sample.bind(T=np.float16, C=np.float32)
    seed, first = np.uint64(12121362), np.uint64(0)
    kernel[1, 1](flat(out), flat(weights.cumsum(0)), flat(weights), 1, 3, 1, seed, first)
    assert out.tolist() == [0]
