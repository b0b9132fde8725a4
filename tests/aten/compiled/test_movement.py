"""Copies, casts, joining and indexing as machine code move the same elements as numpy, on both
sides of the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import internals
from internals.aten.compiled import copying, gathering
from internals.machine_code import compiled_kernels
from tests.answers import answer
from tests.aten.compiled.test_elementwise import assert_same_bits, both
from tests.core.large_results import fingerprint

pytestmark = pytest.mark.sampled(1 / 3)

T = internals
DTYPES = [
    T.float32, T.float64, T.float16, T.complex64, T.complex128, T.int64, T.int32, T.int16, T.int8,
    T.uint8, T.bool,
]  # fmt: skip
LONGEST = 1 << 15


def filled(shape: tuple[int, ...], dtype: Any) -> Any:
    return T.arange(int(np.prod(shape))).reshape(shape).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_order_in_memory_changes_and_values_do_not(dtype: Any) -> None:
    x = filled((3, 4, 20, 30), dtype)
    for call in (
        lambda: x.permute(0, 2, 3, 1).contiguous(), lambda: x.transpose(2, 3).contiguous(),
        lambda: x[:, ::2, ::3, ::2].clone(),
        lambda: x.contiguous(memory_format=T.channels_last), lambda: x[0, 0].t().contiguous(),
        lambda: x.flip(3),
        lambda: x.flip(0, 2),
        lambda: x.roll([5, -1], [3, 1]), lambda: x.roll(7),
        lambda: x[:1, :1].expand(3, 4, 20, 30).contiguous(), x.clone,
        lambda: T.empty(30, 20, dtype=dtype).t().copy_(x[1, 2]), lambda: T.cat([x, x[:, :1]], 1),
        lambda: T.stack([x, x + x], 2),
    ):  # fmt: skip
        assert_same_bits(call)


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_casts(to: Any) -> None:
    for of in DTYPES:
        x = (
            (filled((40, 7), T.int64) * 3 - 100).to(T.float32).div(2).to(of)
            if of.is_floating_point
            else filled((40, 7), T.int64) * 333
        )
        x = x.to(of)
        assert_same_bits(x.to, to)
        assert_same_bits(x.t().to, to)
        if not of.is_complex or to.is_complex:
            assert_same_bits(lambda source: T.zeros(9, 40, 7, dtype=to).copy_(source), x)


def test_casts_of_what_does_not_fit() -> None:
    """NaN, infinities and numbers out of range: whatever numpy makes of them, and nothing compiled
    where compilers differ.
    """
    for of in (T.float32, T.float64):
        x = T.tensor(
            [np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, -1e19, 0.9, -0.9, -0.0] * 7, dtype=of
        )
        for to in (T.int64, T.int32, T.int16, T.int8, T.uint8, T.bool):
            assert_same_bits(x.to, to)
        assert copying._conversion(T.int8, of) is None


def test_copies_inside_one_storage() -> None:
    def shifted() -> Any:
        x = filled((64, 64), T.float32)
        x[:, ::2].copy_(x[:, 1::2])
        x[:32].copy_(x[32:])
        with pytest.raises(RuntimeError, match="single memory location"):
            x.copy_(x.t())
        return x

    assert_same_bits(shifted)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_copy(data: Any) -> None:
    sizes = tuple(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=5)))
    order = data.draw(st.permutations(range(len(sizes))))
    steps = tuple(slice(None, None, data.draw(st.integers(1, 3))) for _ in sizes)
    of, to = (
        data.draw(st.sampled_from(DTYPES[:3] + DTYPES[5:])),
        data.draw(st.sampled_from(DTYPES[:3] + DTYPES[5:])),
    )
    x = filled(sizes, T.int64).remainder(100).to(of).permute(order)[steps]
    assert_same_bits(lambda: x.contiguous())
    assert_same_bits(lambda: x.to(to))
    assert_same_bits(lambda: T.cat([x, x], len(sizes) - 1))


def indices(shape: tuple[int, ...], n: int, dtype: Any = None, seed: int = 0) -> Any:
    return T.tensor(np.random.default_rng(seed).integers(0, n, shape)).to(dtype or T.int64)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize(
    "dtype", [T.float32, T.float16, T.complex64, T.int8, T.bool, T.int64], ids=str
)
def test_reading(dim: int, dtype: Any) -> None:
    x = filled((5, 6, 7), dtype)
    index, line = indices((5, 6, 7), 5), indices((9,), 5, T.int32)
    expanded = indices((5, 1, 1), 5).expand(5, 6, 7)
    for call in (
        lambda: x.gather(dim, index), lambda: x.gather(dim, expanded),
        lambda: x.index_select(dim, line), lambda: x.transpose(0, 2).index_select(dim, line),
        lambda: x.gather(dim, indices((5, 6, 7), 5, T.int32)[:2]),
        lambda: x[(slice(None),) * dim + (line.long() - 4,)],
        lambda: x[(slice(None),) * dim + (index[0] - 2,)],
        lambda: x.index_select(dim, indices((18,), 5)[::2]),
    ):  # fmt: skip
        assert_same_bits(call)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize(
    "dtype", [T.float32, T.float64, T.float16, T.int8, T.uint8, T.bool, T.int64], ids=str
)
@pytest.mark.filterwarnings("ignore:The reduce argument")
def test_writing(dim: int, dtype: Any) -> None:
    x, src = filled((5, 6, 7), dtype), filled((5, 6, 7), T.int64).remainder(50).to(dtype)
    index, line = indices((5, 6, 7), 5), indices((9,), 5, T.int32)
    rows = filled(tuple(9 if d == dim else n for d, n in enumerate(x.shape)), dtype)
    for call in (
        lambda: x.scatter(dim, index, src), lambda: x.scatter(dim, index, 1),
        lambda: x.scatter_add(dim, index, src),
        lambda: x.scatter(dim, index, src, reduce="multiply"),
        lambda: x.clone().scatter_(dim, index[:, :3], src.clone()),
        lambda: x.scatter(dim, indices((5, 1, 1), 5).expand(5, 6, 7), src),
        lambda: x.index_add(dim, line, rows),
        lambda: x.index_put([None] * dim + [line.long() - 5], rows, accumulate=True),
    ):  # fmt: skip
        expected, found = both(call)
        if dtype.is_floating_point:  # numpy's path may add rows in another order
            assert T.allclose(found, expected, rtol=1e-3, equal_nan=True)
        else:
            assert T.equal(found, expected)


def test_sums_come_in_the_order_of_the_index() -> None:
    """As in PyTorch, so the bits are the same, with any number of threads."""
    stream = np.random.default_rng(0)
    x, rows = (
        stream.standard_normal((10, 300)).astype(np.float32),
        stream.standard_normal((200, 300)).astype(np.float32),
    )
    line, index = stream.integers(0, 10, 200), stream.integers(0, 10, (200, 300))

    def sums(T: Any) -> Any:
        added = T.tensor(x).index_add(0, T.tensor(line), T.tensor(rows))
        scattered = T.tensor(x).scatter_add(0, T.tensor(index), T.tensor(rows))
        return fingerprint(added), fingerprint(scattered)

    theirs = answer(sums)
    before = internals.get_num_threads()
    try:
        for threads in (1, 2):
            internals.set_num_threads(threads)
            with compiled_kernels(threshold=0):
                assert sums(T) == theirs
    finally:
        internals.set_num_threads(before)


def test_wrong_indices_are_named_and_nothing_is_written_elsewhere() -> None:
    """What other indices say may be written by then, as in PyTorch."""
    x = filled((50, 60), T.float32).abs() + 1
    memory = T.full((70, 60), -1.0)
    y = memory[10:60]
    for bad in (-1, 60, 1 << 40):
        index, line = indices((50, 60), 50), indices((50,), 50)
        index[7, 3] = line[20] = bad
        for call, error in (
            (lambda index, _: x.gather(1, index), RuntimeError),
            (lambda index, _: y.scatter_(1, index, x), RuntimeError),
            (lambda index, _: y.scatter_add_(0, index, x), RuntimeError),
            (lambda _, line: x.index_select(0, line), IndexError),
            (lambda _, line: x.index_select(1, line), RuntimeError),
            (lambda _, line: y.index_add_(0, line, x), IndexError),
        ):  # fmt: skip
            messages = []
            for setting in ({"enabled": False}, {"threshold": 0}):
                y.zero_()
                with compiled_kernels(**setting), pytest.raises(error) as raised:  # type: ignore[arg-type]
                    call(index, line)
                messages.append(str(raised.value))
            assert messages[0] == messages[1]
            assert (memory[:10] == -1).all() and (memory[60:] == -1).all()
    line[20] = -51
    with (
        compiled_kernels(threshold=0),
        pytest.raises(IndexError, match="index -51 is out of bounds for dimension 0 with size 50"),
    ):
        x[line]
    with (
        compiled_kernels(threshold=0),
        pytest.raises(IndexError, match="index -51 is out of bounds"),
    ):
        y.index_put_([line], x, accumulate=True)


def test_a_scatter_with_a_wrong_index_is_half_done_as_in_pytorch() -> None:
    def written(module: Any) -> int:
        y, index = module.zeros(50, 60), module.arange(60).repeat(50, 1)
        index[25, 30] = 60
        with pytest.raises(
            RuntimeError, match="index 60 is out of bounds for dimension 1 with size 60"
        ):
            y.scatter_(1, index, module.ones(50, 60))
        return int(y.count_nonzero())

    with compiled_kernels(threshold=0):
        assert 25 * 60 < written(T) < 50 * 60
    assert answer(lambda torch: 0 < written(torch) < 50 * 60), (
        "how many depends on the number of threads"
    )


def test_nothing_to_read_or_write() -> None:
    none = T.zeros(0, dtype=T.int64)
    x = filled((3, 4), T.float32)
    for call in (
        lambda: x.index_select(0, none), lambda: x.gather(0, none.reshape(0, 4)),
        lambda: x.scatter(0, none.reshape(0, 4), 1.0), lambda: T.cat([x[:0], x[:0]]),
        lambda: x.index_add(0, none, x[:0]), lambda: T.tensor(3.0).flip(0),
        lambda: T.tensor(3.0).index_select(0, T.tensor([0])),
        lambda: T.tensor(3.0).gather(0, T.tensor([0])), lambda: x[:, :0].t().contiguous(),
    ):  # fmt: skip
        assert_same_bits(call)


def test_meta_tensors_have_no_memory() -> None:
    x, index = T.empty(300, 300, device="meta"), T.zeros(300, 300, dtype=T.int64)
    layer_norm = T.nn.functional.layer_norm
    with compiled_kernels(threshold=0):
        for result in (
            x.flip(0),
            T.cat([x[:100], x[100:]]),
            x.sort(0)[0],
            layer_norm(x, (300,)),
            x @ x,
        ):
            assert result.is_meta and result.shape == (300, 300)
        for call in (
            lambda: x.gather(0, index),
            lambda: x.index_select(0, index[0]),
            lambda: T.cat([x, T.ones(300, 300)]),
            lambda: layer_norm(T.ones(300, 300), (300,), x[0]),
            lambda: x.scatter_(0, index, 1.0),
        ):
            with pytest.raises(
                RuntimeError, match=r"^Tensor on device \w+ is not on the expected device \w+!$"
            ):
                call()


def test_out_may_share_memory_with_what_is_read() -> None:
    def select() -> Any:
        x = filled((40, 30), T.float32)
        T.index_select(x[:20], 0, T.arange(19, -1, -1), out=x[20:])
        T.gather(x, 1, T.arange(30).flip(0).expand(40, 30), out=x.clone())
        return x

    assert_same_bits(select)


def test_large_and_small(monkeypatch: Any) -> None:
    """Above the threshold machine code does it, below it numpy."""
    done: list[str] = []
    for module, name in (
        (copying, "copy"),
        (gathering, "gather"),
        (gathering, "index_select"),
        (gathering, "scatter"),
    ):
        original = getattr(module, name)

        def note(*args: Any, original: Any = original, name: str = name, **options: Any) -> Any:
            result = original(*args, **options)
            if result and name not in done:
                done.append(name)
            return result

        monkeypatch.setattr(module, name, note)
    for n in (20, 256):
        x, index, line = filled((n, n), T.float32), indices((n, n), n), indices((n,), n)
        (
            x.t().contiguous(),
            x.gather(1, index),
            x.index_select(0, line),
            x[line],
            x.scatter(0, index, 1.0),
        )
        assert done == ([] if n == 20 else ["copy", "gather", "index_select", "scatter"])
