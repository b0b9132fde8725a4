"""Who owns memory: storages, their views, their typed faces; freed once, when the last owner
goes.
"""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import internals as torch
from internals.core.cpu_allocator import Block, caching_allocator
from tests.support import assert_same_outcome, full

VIEWS = {
    "view": lambda t: t.view(4, 3),
    "t": lambda t: t.t(),
    "select": lambda t: t[1],
    "slice": lambda t: t[:, 1:3],
    "permute": lambda t: t.permute(1, 0),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "expand": lambda t: t[:, :1].expand(3, 4),
    "as_strided": lambda t: t.as_strided((2, 2), (1, 2), 3),
    "diagonal": lambda t: t.diagonal(),
    "narrow": lambda t: t.narrow(0, 1, 2),
    "unfold": lambda t: t.unfold(1, 2, 1),
    "chunk": lambda t: t.chunk(2)[1],
    "unbind": lambda t: t.unbind()[2],
    "detach": lambda t: t.detach(),
    "flatten": lambda t: t.flatten(),
    "data": lambda t: t.data,
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_a_tensor_on_the_same_storage(name: str) -> None:
    t = torch.arange(12.0).view(3, 4)
    v = VIEWS[name](t)
    storage = t.untyped_storage()
    assert v.untyped_storage() is storage
    assert v.data_ptr() == storage.data_ptr() + 4 * v.storage_offset()
    reach = 1 + sum((n - 1) * s for n, s in zip(v.shape, v.stride()))
    assert v.storage_offset() + reach <= storage.nbytes() // 4
    v.fill_(-7.0)
    reached = {
        v.storage_offset() + sum(i * s for i, s in zip(index, v.stride()))
        for index in np.ndindex(*v.shape)
    }
    assert {i for i, x in enumerate(t.storage()) if x == -7} == reached


def test_the_references_to_a_storage_are_its_owners() -> None:
    t = torch.ones(3)
    storage = t.untyped_storage()
    before = sys.getrefcount(storage)
    view, twin = t[1:], t.detach()
    assert sys.getrefcount(storage) == before + 2
    del view, twin
    assert sys.getrefcount(storage) == before


@pytest.mark.parametrize("name", VIEWS)
def test_memory_goes_when_the_last_owner_goes(name: str) -> None:
    t = torch.ones(3, 4)
    v = VIEWS[name](t)
    storage = weakref.ref(t.untyped_storage())
    block = t.untyped_storage().data_ptr_object
    assert isinstance(block, Block)
    del t
    gc.collect()
    assert storage() is not None and block.active
    del v
    gc.collect()
    assert storage() is None and not block.active


def test_a_computation_leaves_nothing_behind() -> None:
    gc.collect()
    before = caching_allocator.stats.bytes
    t = torch.ones(1000)
    for _ in range(10):
        t = (t + t).view(10, 100).t().clone().reshape(-1)[:1000].to(torch.float64).to(
            torch.float32
        ) / 2
    assert caching_allocator.stats.bytes - before == 4096
    del t
    assert caching_allocator.stats.bytes == before


def test_typed_storage_reads_and_writes_elements() -> None:
    t = torch.arange(6.0).view(2, 3).t()
    s = t.storage()
    assert s.tolist() == list(s) == [0, 1, 2, 3, 4, 5] and len(s) == s.size() == 6 and s[-1] == 5.0
    assert (s.dtype, s.nbytes(), s.element_size(), s.device) == (
        torch.float32,
        24,
        4,
        torch.device("cpu"),
    )
    assert s.data_ptr() == t.data_ptr() and s.untyped() is t.untyped_storage()
    s[1] = 9
    assert t.tolist() == [[0, 3], [9, 4], [2, 5]]
    assert s.fill_(2).clone().tolist() == [2.0] * 6
    assert s.to(torch.int8).tolist() == [2] * 6
    with pytest.raises(IndexError, match="index 6 out of range for storage of size 6"):
        s[6]
    assert isinstance(s, torch.FloatStorage) and not isinstance(s, torch.LongStorage)
    assert torch.is_storage(s) and torch.is_storage(s.untyped()) and not torch.is_storage(t)


@pytest.mark.parametrize("at", range(-6, 6))
def test_a_byte_is_written_where_it_is_read(at: int) -> None:
    s = torch.tensor([1, 2, 3, 4, 5, 6], dtype=torch.uint8).untyped_storage()
    s[at] = 77
    assert s[at] == 77 and [byte for i, byte in enumerate(s) if i != at % 6] == [
        n for n in range(1, 7) if n != at % 6 + 1
    ]


CONSTRUCTORS = [
    "T.tensor({})", "T.tensor({}, dtype=T.float32)", "T.tensor({}, dtype=T.complex64)",
    "T.as_tensor({})", "T.asarray({})", "T.asarray({}, dtype=T.float32)", "T.Tensor({})",
    "T.LongTensor({})", "T.ones(1).new_tensor({})", "T.ones(1).new({})",
    "T.tensor({}, dtype=T.float32, requires_grad=True)", "T.empty(0, dtype=T.int64).set_({})",
    "T.FloatStorage({})", "T.UntypedStorage({})", "T.tensor([{0}, {0}])",
]  # fmt: skip
STORAGES = [
    "t.untyped_storage()",
    "t.storage()",
    "t.long().storage()",
    "T.UntypedStorage(0)",
    "T.UntypedStorage([1] * 9)",
]


@pytest.mark.parametrize("expression", [c.format(s) for c in CONSTRUCTORS for s in STORAGES])
def test_a_tensor_of_a_storage_reads_its_bytes(expression: str) -> None:
    def case(T: Any) -> Any:
        result = eval(expression, {"T": T, "t": T.arange(6.0)})
        return list(result) if T.is_storage(result) else result

    assert_same_outcome(lambda: case(torch), case, message=False)


def test_a_tensor_lies_on_the_storage_it_is_made_of() -> None:
    t = torch.arange(4.0)
    for storage in (t.untyped_storage(), t.storage()):
        for made in (
            torch.tensor(storage, dtype=torch.float32),
            torch.as_tensor(storage, dtype=torch.float32),
        ):
            assert made.tolist() == [0, 1, 2, 3] and made.untyped_storage() is t.untyped_storage()
    assert torch.tensor(t.untyped_storage()).tolist() == [
        1065353216 << 32,
        (1077936128 << 32) + 1073741824,
    ]
    for construct in (torch.tensor, torch.LongTensor, torch.zeros(1, dtype=torch.int64).new_tensor):
        with pytest.raises(
            RuntimeError,
            match="Expected a Storage of type (Long|Double) or an UntypedStorage, but got .*Float",
        ):
            construct(t.storage(), **{"dtype": torch.float64} if construct is torch.tensor else {})


@pytest.mark.parametrize(
    "call",
    [
        "UntypedStorage([1.5])", "UntypedStorage('ab')", "UntypedStorage(2.5)",
        "FloatStorage('ab')", "FloatStorage(2.5)", "FloatStorage([1, 'a'])",
        "FloatStorage(ones(2))", "ByteStorage([300])",
    ]
)  # fmt: skip
def test_what_no_storage_is_made_of(call: str) -> None:
    with pytest.raises((TypeError, RuntimeError)) as ours:
        eval(f"torch.{call}", {"torch": torch, "ones": torch.ones})
    assert_same_outcome(
        lambda: _raise(ours.value),
        lambda real: eval(f"T.{call}", {"T": real, "ones": real.ones}),
        message=False,
    )


def _raise(error: Exception) -> None:
    raise error


def test_views_of_a_view_share_version_and_base() -> None:
    t = torch.zeros(4, 4)
    v = t[1:].t()[0]
    assert v._base is t and v._is_view() and not t._is_view()
    v.fill_(1)
    t.zero_()
    assert t._version == v._version == 2
    assert t.data._version == 0 and t.detach()._version == 2


def test_data_replaces_what_a_tensor_looks_at() -> None:
    t, u = torch.zeros(2, requires_grad=True), torch.ones(3)
    t.data = u
    assert (
        t.tolist() == [1, 1, 1] and t.untyped_storage() is u.untyped_storage() and t.requires_grad
    )
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        t.data = [1]


class Owners(RuleBasedStateMachine):
    """Random comings and goings of tensors, views, arrays and copies, against a model: a dict of
    which storage has owners.
    """

    def __init__(self) -> None:
        super().__init__()
        # what is there now is none of our business: collecting garbage shall not look through it
        # every time
        gc.freeze()
        self.start = caching_allocator.stats.bytes
        self.owners: list[Any] = []
        self.expected: list[list[float]] = []

    @rule(n=st.integers(1, 300), value=st.integers(0, 99))
    def allocate(self, n: int, value: int) -> None:
        self.add(torch.full((n,), float(value)), [float(value)] * n)

    @rule(i=st.integers(0, 99), start=st.integers(0, 20))
    def view(self, i: int, start: int) -> None:
        if self.owners and isinstance(self.pick(i), torch.Tensor):
            k = i % len(self.owners)
            self.add(self.owners[k][start:], self.expected[k][start:])

    @rule(i=st.integers(0, 99))
    def array(self, i: int) -> None:
        if self.owners and isinstance(self.pick(i), torch.Tensor):
            self.add(self.pick(i).numpy(), self.expected[i % len(self.owners)])

    @rule(i=st.integers(0, 99))
    def tensor_of_array(self, i: int) -> None:
        if self.owners and isinstance(self.pick(i), np.ndarray):
            self.add(torch.from_numpy(self.pick(i)), self.expected[i % len(self.owners)])

    @rule(i=st.integers(0, 99))
    def clone(self, i: int) -> None:
        if self.owners and isinstance(self.pick(i), torch.Tensor):
            self.add(self.pick(i).clone(), list(self.expected[i % len(self.owners)]))

    @rule(i=st.integers(0, 99))
    def forget(self, i: int) -> None:
        if self.owners:
            k = i % len(self.owners)
            del self.owners[k], self.expected[k]

    @invariant()
    def everybody_still_sees_their_values(self) -> None:
        for owner, expected in zip(self.owners, self.expected):
            assert owner.tolist() == expected

    def teardown(self) -> None:
        self.owners.clear()
        gc.collect()
        gc.unfreeze()
        assert caching_allocator.stats.bytes == self.start

    def pick(self, i: int) -> Any:
        return self.owners[i % len(self.owners)]

    def add(self, owner: Any, expected: list[float]) -> None:
        self.owners.append(owner)
        self.expected.append(expected)


TestOwners = Owners.TestCase
TestOwners.settings = settings(
    max_examples=300 if full() else 20, stateful_step_count=40, deadline=None
)
