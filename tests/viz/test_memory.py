"""`viz.memory` and `viz.strides`: what they say about sharing is true, whatever the objects are."""

from __future__ import annotations

import array
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
import viz
from tests.viz.support import assert_good, same_in_two_processes
from viz.footprint import Footprint, share_bytes
from viz.rooms.memory import BUCKETS, Memory


def verdicts(picture: Memory) -> set[tuple[str, tuple[str, ...]]]:
    return {(v.kind, tuple(v.names)) for v in picture.verdicts}


def test_the_forums_question() -> None:
    n = np.ones((2, 2))
    copy, shared = internals.tensor(n), internals.from_numpy(n)
    picture = viz.memory(n=n, copy=copy, shared=shared, row=shared[1])
    assert verdicts(picture) == {("shared", ("n", "shared", "row")), ("copied", ("copy",))}
    first, second = picture.strips
    assert (first.name, first.nbytes, first.dtype) == ("S0", 32, "float64")
    assert second.allocators == ["CachingAllocator"] and first.allocators == []
    assert [c.text for c in first.cells or []] == ["1"] * 4
    assert [(c.start, c.text, c.shared) for c in first.views[2].cells] == [
        (16, "0", True),
        (24, "1", True),
    ]
    assert_good(picture)


def test_what_is_said_as_shared_really_is() -> None:
    n = np.zeros(4)
    t = internals.from_numpy(n)
    assert ("shared", ("n", "t")) in verdicts(viz.memory(n=n, t=t))
    t.add_(1.0)
    assert n.tolist() == [1.0] * 4
    n = n + 1.0  # a new array: the name n moved, the tensor did not
    assert verdicts(viz.memory(n=n, t=t)) == {("copied", ("n",)), ("copied", ("t",))}


def test_views_in_order() -> None:
    a = internals.arange(6).view(2, 3)
    picture = viz.memory(a=a, t=a.t())
    assert [c.text for c in picture.strips[0].views[0].cells] == ["0", "1", "2", "3", "4", "5"]
    assert [c.text for c in picture.strips[0].views[1].cells] == ["0", "2", "4", "1", "3", "5"]
    assert "strides (1, 3) at S0+0x0" in picture.text()
    assert_good(picture)


def test_loaded_tensors_are_mapped_not_copied(tmp_path: Path) -> None:
    internals.save({"w": internals.ones(3), "b": internals.zeros(2)}, tmp_path / "t.pt")
    loaded = internals.load(tmp_path / "t.pt")
    picture = viz.memory(w=loaded["w"], b=loaded["b"], copy=loaded["b"].clone())
    assert verdicts(picture) == {("mapped", ("w",)), ("mapped", ("b",)), ("copied", ("copy",))}
    assert_good(picture)


def test_halves_of_one_storage_are_apart() -> None:
    a = internals.arange(6)
    picture = viz.memory(left=a[:3], right=a[3:], whole=a)
    assert verdicts(picture) == {
        ("shared", ("left", "whole")),
        ("shared", ("right", "whole")),
        ("apart", ("left", "right")),
    }
    assert_good(picture)


def test_interleaved_views_are_apart() -> None:
    big = np.zeros(40_000, np.float32)
    picture = viz.memory(even=big[::2], odd=big[1::2])
    assert verdicts(picture) == {("apart", ("even", "odd"))}
    assert picture.strips[0].nbytes == big.nbytes
    assert not any(picture.strips[0].views[0].shared_buckets)
    assert_good(picture)


def test_two_wrappers_of_the_same_bytes_are_shared() -> None:
    raw = bytearray(32)
    whole, part = np.frombuffer(raw, np.uint8), np.frombuffer(raw, np.float32, count=2, offset=8)
    picture = viz.memory(raw=raw, whole=whole, part=part, copied=bytes(raw))
    assert ("shared", ("raw", "whole", "part")) in verdicts(picture)
    assert ("copied", ("copied",)) in verdicts(picture)
    assert [(c.start, c.nbytes) for c in picture.strips[0].views[2].cells] == [(8, 4), (12, 4)]
    assert_good(picture)


def test_two_tensors_from_one_array_have_two_storages_and_one_memory() -> None:
    n = np.arange(8.0)
    left, right = internals.from_numpy(n[:5]), internals.from_numpy(n[3:])
    assert left.untyped_storage() is not right.untyped_storage()
    picture = viz.memory(left=left, right=right)
    assert verdicts(picture) == {("shared", ("left", "right"))}
    assert picture.strips[0].nbytes == 64
    shared = [c.start for c in picture.strips[0].views[0].cells if c.shared]
    assert shared == [24, 32]


def test_buffers_and_other_exchanges() -> None:
    numbers = array.array("i", [1, 2, 3])
    assert viz.memory(numbers=numbers, view=memoryview(numbers)[1:]).verdicts[0].kind == "shared"
    with pytest.raises(TypeError, match="cannot look into 'x', a int"):
        viz.memory(x=5)
    with pytest.raises(ValueError, match="needs something"):
        viz.memory()


def test_stride_zero_is_told() -> None:
    x = internals.arange(3)
    picture = viz.memory(x=x, y=x.expand(4, 3))
    assert [c.text for c in picture.strips[0].views[1].cells] == ["0,3,6,9", "1,4,7,10", "2,5,8,11"]
    many = viz.memory(y=x.expand(100_000, 3))
    assert [c.text for c in many.strips[0].views[0].cells] == ["×100,000"] * 3
    assert_good(picture)
    assert_good(many)


def test_empty_and_zero_dimensional() -> None:
    picture = viz.memory(e=internals.empty(0, 3), s=internals.tensor(2.5), n=np.zeros((0,)))
    assert [strip.nbytes for strip in picture.strips][1] == 4
    assert_good(picture)


@pytest.mark.parametrize("count", [4, 33, 4_000, 20_000_000])
def test_any_size_is_summarised(count: int) -> None:
    big = np.zeros(count, np.float32)
    t = internals.from_numpy(big)
    picture = viz.memory(big=big, t=t, half=t[: count // 2], every=t[::3])
    if count > 32:
        assert "the values are hidden" in picture.text() and picture.strips[0].cells is None
        coverage = picture.strips[0].views[2].coverage
        assert len(coverage) == BUCKETS and sum(coverage) == pytest.approx(BUCKETS / 2, rel=0.05)
    assert len(picture.text().splitlines()) < 40
    assert len(picture.svg()) < 60_000
    assert_good(picture)


def test_references_are_those_of_others() -> None:
    n = np.zeros(2)
    assert "1 ref\n" in viz.memory(n=n).text() + "\n"
    alias = n
    assert "2 refs" in viz.memory(n=n).text()
    t = internals.from_numpy(n)
    text = viz.memory(t=t).text()
    # n, alias, and the DataPtr's context
    assert "owner: Storage, 1 reference → ndarray, 3 references" in text
    view = t.view(2)
    assert "Storage, 2 references" in viz.memory(t=t).text()
    del view, alias
    assert "ndarray, 2 references" in viz.memory(t=t).text()


def test_looking_keeps_nothing_alive() -> None:
    n = np.zeros(2)
    before = sys.getrefcount(n)
    picture = viz.memory(n=n, t=internals.from_numpy(n))
    assert sys.getrefcount(n) == before and picture.text()


def test_memory_on_no_device() -> None:
    with pytest.raises(ValueError, match="'m' is on device 'meta'"):
        viz.memory(m=internals.empty(2, device="meta"))


def test_real_pytorch_tensors_can_be_shown() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (make oracle)")
    t = torch.ones(2, 2)
    assert verdicts(viz.memory(t=t, n=t.numpy(), c=t.clone())) == {
        ("shared", ("t", "n")),
        ("copied", ("c",)),
    }


geometries = st.lists(st.tuples(st.integers(0, 4), st.integers(-6, 6)), max_size=3)


@given(geometries, geometries, st.integers(0, 12))
def test_sharing_is_exact(
    first: list[tuple[int, int]], second: list[tuple[int, int]], apart: int
) -> None:
    memory = np.zeros(200, np.uint8)
    base = int(memory.__array_interface__["data"][0]) + 90
    a, b = (
        Footprint(base + at, tuple(n for n, _ in dims), tuple(s for _, s in dims), 2)
        for at, dims in ((0, first), (apart, second))
    )
    bytes_a, bytes_b = ({x + i for x in f.addresses() for i in range(2)} for f in (a, b))
    assert share_bytes(a, b) == bool(bytes_a & bytes_b)


@given(geometries)
def test_runs_cover_what_is_touched(dims: list[tuple[int, int]]) -> None:
    footprint = Footprint(1000, tuple(n for n, _ in dims), tuple(2 * s for _, s in dims), 2)
    touched = {x + i for x in footprint.addresses() for i in range(2)}
    covered = {x for low, high, _ in footprint.runs() for x in range(low, high)}
    assert touched <= covered
    if touched:
        assert footprint.bounds() == (min(touched), max(touched) + 1)
    assert footprint.first_addresses(5) == footprint.addresses()[:5]


@pytest.mark.sampled(1 / 4)
@given(st.lists(st.integers(1, 4), max_size=4), st.integers(0, 3), st.data())
def test_strides_arithmetic(sizes: list[int], offset: int, data: st.DataObject) -> None:
    flat = np.arange(300) * 10
    a = np.ascontiguousarray(flat[offset : offset + int(np.prod(sizes))]).reshape(sizes)
    t = (
        internals.from_numpy(flat)[offset : offset + a.size].view(*sizes)
        if sizes
        else internals.tensor(0)
    )
    index = [data.draw(st.integers(-n, n - 1)) for n in sizes]
    picture = viz.strides(t, index)
    assert picture.chosen is not None
    if sizes:
        assert flat[picture.chosen.offset] == a[tuple(index)]
    assert_good(picture)


def test_strides_in_words() -> None:
    t = internals.arange(12).view(3, 4).t()
    picture = viz.strides(t, (2, 1))
    assert picture.text().splitlines()[-1] == "[2, 1] -> 0 + 2*1 + 1*4 = element 6 = byte S0+0x30"
    assert (
        viz.strides(np.arange(6)[::-1]).text().splitlines()[-1]
        == "[5] -> 5 + 5*-1 = element 0 = byte S0+0x0"
    )


@pytest.mark.parametrize(
    "shape", [(), (5,), (0, 3), (2, 3, 4), (2, 2, 2, 2, 2), (5000, 4000), (3, 700, 2), (40, 1, 9)]
)
def test_strides_of_any_shape_can_be_drawn(shape: tuple[int, ...]) -> None:
    picture = viz.strides(np.zeros(shape, np.int8))
    assert_good(picture)
    assert len(picture.svg()) < 120_000


def test_strides_refuses_what_it_cannot_do() -> None:
    t = internals.zeros(2, 3)
    with pytest.raises(IndexError, match="out of bounds for dimension 1 with size 3"):
        viz.strides(t, (0, 3))
    with pytest.raises(IndexError, match="1 index given for 2 dimensions"):
        viz.strides(t, 0)
    with pytest.raises(TypeError, match="got list"):
        viz.strides([1, 2])


def test_same_bytes_in_every_process() -> None:
    program = """
import internals, viz, numpy as np
n = np.arange(6.0); t = internals.from_numpy(n)
p = viz.memory(n=n, t=t, v=t.view(2, 3).t(), c=t.clone(), big=np.zeros(5000))
print(p, p.html(), viz.strides(t.view(2, 3).t()).html())
"""
    assert "S0" in same_in_two_processes(program)
