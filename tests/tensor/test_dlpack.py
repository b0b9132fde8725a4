"""Memory shared through DLPack: who sees which write, and who keeps whom alive, how long."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.construction import dlpack
from internals.core.cpu_allocator import caching_allocator
from internals.utils import dlpack as utils_dlpack
from tests.support import examples, oracle
from tests.tensor.interop_support import NAMES, an_array, strided_arrays

VERSIONS = [None, (1, 0), (1, 3)]


@pytest.mark.parametrize("name", NAMES)
def test_numpy_takes_our_memory_through_dlpack(name: str) -> None:
    t = torch.ones(2, 3, dtype=getattr(torch, name)).t()
    a = np.from_dlpack(t)
    assert (
        a.dtype == name
        and a.shape == (3, 2)
        and a.ctypes.data == t.data_ptr()
        and a.tolist() == t.tolist()
    )
    t.zero_()
    assert not a.any()


@pytest.mark.parametrize("name", NAMES)
def test_we_take_numpys_memory_through_dlpack(name: str) -> None:
    a = an_array(name, (3, 4)).T[1:]
    t = torch.from_dlpack(a)
    assert t.dtype.name == name and t.data_ptr() == a.ctypes.data and t.tolist() == a.tolist()
    assert t.untyped_storage().allocator is None and not t.untyped_storage().resizable()
    t.fill_(1)
    assert a.all()


@given(strided_arrays(), st.sampled_from(VERSIONS))
@examples(40)
def test_any_geometry_survives_dlpack(a: Any, version: Any) -> None:
    t = torch.from_numpy(a)
    back = torch.from_dlpack(t.__dlpack__(max_version=version))
    assert back.shape == t.shape and back.dtype is t.dtype and back.data_ptr() == t.data_ptr()
    assert all(s == r for n, s, r in zip(t.shape, t.stride(), back.stride()) if n > 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capsule_owns_the_memory_until_it_dies(version: Any) -> None:
    exported = len(dlpack._exported)
    t = torch.arange(5)
    storage = weakref.ref(t.untyped_storage())
    capsule = t.__dlpack__(max_version=version)
    del t
    assert storage() is not None and len(dlpack._exported) == exported + 1
    del capsule  # never used: its destructor gives the memory back
    assert storage() is None and len(dlpack._exported) == exported


@pytest.mark.parametrize("version", VERSIONS)
def test_whoever_takes_a_capsule_owns_the_memory(version: Any) -> None:
    exported = len(dlpack._exported)
    t = torch.arange(5)
    storage = weakref.ref(t.untyped_storage())
    capsule = t.__dlpack__(max_version=version)
    taken = utils_dlpack.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    with pytest.raises(RuntimeError, match="DLTensor capsules can be consumed only once"):
        torch.from_dlpack(capsule)
    del t, capsule  # a used capsule gives nothing back
    view = taken[2:]
    del taken
    assert storage() is not None and view.tolist() == [2, 3, 4]
    del view
    assert storage() is None and len(dlpack._exported) == exported


def test_numpy_gives_our_memory_back() -> None:
    t = torch.arange(5)
    storage = weakref.ref(t.untyped_storage())
    a = np.from_dlpack(t)
    del t
    churn = torch.zeros(5, dtype=torch.int64)
    assert a.tolist() == [0, 1, 2, 3, 4] and churn.sum().item() == 0
    del a
    assert storage() is None


def test_we_give_numpys_memory_back() -> None:
    a = np.arange(5.0)
    before = sys.getrefcount(a)
    t = torch.from_dlpack(a)
    assert sys.getrefcount(a) > before
    del t
    assert sys.getrefcount(a) == before


def test_dlpack_says_where_the_memory_is_and_what_it_cannot_do() -> None:
    assert tuple(torch.ones(1).__dlpack_device__()) == (1, 0)
    with pytest.raises(
        BufferError, match="Can't export tensors that require gradient, use tensor.detach()"
    ):
        torch.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        torch.ones(1, device="meta").__dlpack__()
    with pytest.raises(BufferError, match="negative"):
        torch.from_dlpack(np.zeros(3)[::-1])
    with pytest.raises(BufferError, match="Unsupported DLPack dtype: code 1, 16 bits"):
        torch.from_dlpack(np.zeros(3, np.uint16))
    with pytest.raises(RuntimeError, match="received an invalid capsule"):
        torch.from_dlpack(3)


def test_dlpack_copies_when_asked() -> None:
    t = torch.ones(2)
    assert torch.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    assert torch.from_dlpack(t, device="cpu").data_ptr() == t.data_ptr()


@pytest.mark.parametrize("name", NAMES)
def test_real_pytorch_shares_with_us_both_ways(name: str) -> None:
    real = oracle()
    ours = torch.ones(2, 3, dtype=getattr(torch, name)).t()
    storage = weakref.ref(ours.untyped_storage())
    theirs = real.from_dlpack(ours)
    assert (
        str(theirs.dtype) == f"torch.{name}"
        and theirs.data_ptr() == ours.data_ptr()
        and theirs.stride() == ours.stride()
    )
    theirs.zero_()
    assert ours.tolist() == [[0, 0]] * 3
    del ours
    assert storage() is not None
    del theirs
    assert storage() is None

    lent = real.ones(4, dtype=getattr(real, name))
    taken = torch.from_dlpack(lent[1:])
    address = lent.data_ptr() + lent.element_size()
    del lent
    assert taken.data_ptr() == address and taken.tolist() == [1, 1, 1]


@given(
    st.lists(
        st.sampled_from(["export", "take", "numpy", "drop_tensor", "drop_capsule", "drop_taken"]),
        max_size=40,
    ),
    st.randoms(),
)
@examples(30)
def test_no_order_of_events_leaks_or_frees_twice(events: list[str], random: Any) -> None:
    exported, used = len(dlpack._exported), caching_allocator.stats.bytes
    tensors, capsules, taken = [torch.arange(7)], [], []
    for event in events:
        if event == "export" and tensors:
            capsules.append(random.choice(tensors).__dlpack__(max_version=random.choice(VERSIONS)))
        elif event == "take" and capsules:
            taken.append(torch.from_dlpack(capsules.pop()))
        elif event == "numpy" and tensors:
            taken.append(np.from_dlpack(random.choice(tensors)))
        elif event == "drop_tensor":
            tensors[:] = [torch.arange(7)]
        elif event == "drop_capsule" and capsules:
            capsules.pop(random.randrange(len(capsules)))
        elif event == "drop_taken" and taken:
            taken.pop(random.randrange(len(taken)))
        assert all(x.tolist() == [0, 1, 2, 3, 4, 5, 6] for x in (*tensors, *taken))
    del tensors, capsules, taken
    assert (len(dlpack._exported), caching_allocator.stats.bytes) == (exported, used)
