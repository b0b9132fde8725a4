"""Page-locked host memory: how tensors get into it, copies that are only queued, and memory that
must wait for a stream.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.core.storage import Storage
from internals.cuda import backend
from internals.utils.data import DataLoader, TensorDataset

Point = namedtuple("Point", "x y")


def test_a_tensor_is_copied_into_pinned_memory_once() -> None:
    x = torch.arange(6.0).view(2, 3).T
    p = x.pin_memory()
    assert p.is_pinned() and not x.is_pinned() and p.data_ptr() != x.data_ptr()
    assert p.pin_memory() is p and p[1:].is_pinned()
    assert p.device.type == "cpu" and p.stride() == x.stride() and torch.equal(p, x)
    p.numpy()[0, 0] = 9.0
    assert p[0, 0] == 9.0


def test_views_of_pinned_memory_are_pinned() -> None:
    p = torch.zeros(1000, pin_memory=True)
    assert p[100:200].is_pinned() and p.view(10, 100)[3].is_pinned() and not p.clone().is_pinned()


def test_factories_pin() -> None:
    made = [
        torch.empty(2, pin_memory=True),
        torch.zeros(2, pin_memory=True),
        torch.full((2,), 7.0, pin_memory=True),
        torch.arange(3, pin_memory=True),
        torch.rand(2, pin_memory=True),
        torch.randint(3, (2,), pin_memory=True),
        torch.tensor([1, 2], pin_memory=True),
        torch.empty_strided((2, 2), (1, 2), pin_memory=True),
        torch.ones_like(torch.zeros(2), pin_memory=True),
        torch.zeros(2).new_zeros(3, pin_memory=True),
        torch.linspace(0, 1, 3, pin_memory=True),
    ]
    assert all(t.is_pinned() for t in made)
    assert made[6].tolist() == [1, 2] and made[2].tolist() == [7.0, 7.0]


def test_only_cpu_tensors_are_pinned() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    ):
        torch.ones(2, device="cuda").pin_memory()
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.ones(2, device="cuda", pin_memory=True)
    assert not torch.ones(2, device="cuda").is_pinned()
    with pytest.raises(
        RuntimeError, match=r"cannot pin 'MetaFloatType' only dense CPU tensors can be pinned"
    ):
        torch.ones(2, device="meta").pin_memory()


def test_storages_are_pinned() -> None:
    s = torch.arange(3.0).untyped_storage()
    p = s.pin_memory()
    assert p.is_pinned() and not s.is_pinned() and bytes(p) == bytes(s) and p.pin_memory() is p
    typed = torch.arange(3.0).storage().pin_memory()
    assert typed.is_pinned() and typed.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match="only CPU memory can be pinned"):
        torch.ones(1, device="cuda").untyped_storage().pin_memory()


def test_without_a_gpu_nothing_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    with backend.installed(None):
        monkeypatch.setenv(backend.VARIABLE, "none")
        monkeypatch.setattr(backend, "_asked", None)
        assert not torch.ones(2).is_pinned()
        with pytest.raises(
            RuntimeError, match="Cannot access accelerator device when none is available."
        ):
            torch.ones(2).pin_memory()
        with pytest.raises(
            RuntimeError, match="pin_memory=True requires a CUDA or other accelerator backend"
        ):
            torch.ones(2, pin_memory=True)
        with pytest.warns(
            UserWarning, match="no accelerator is found, then device pinned memory won't be used"
        ):
            batches = list(DataLoader(TensorDataset(torch.ones(2)), pin_memory=True))
        assert not batches[0][0].is_pinned()


def test_to_the_host_without_waiting_gives_pinned_memory() -> None:
    y = torch.arange(4.0, device="cuda").to("cpu", non_blocking=True)
    assert y.is_pinned()
    torch.cuda.synchronize()
    assert y.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert not torch.ones(2, device="cuda").cpu().is_pinned()


def test_a_copy_from_pinned_memory_is_queued(simulator: Any) -> None:
    host = torch.arange(1 << 16, dtype=torch.float32).pin_memory()
    on_gpu = host.cuda(non_blocking=True)
    assert not torch.cuda.current_stream().query()
    host.fill_(-1.0)  # too early: the copy has not been made yet
    assert on_gpu[5].item() == -1.0


def test_a_copy_from_pageable_memory_is_not(simulator: Any) -> None:
    host = torch.arange(8.0)
    on_gpu = host.cuda(non_blocking=True)
    host.fill_(-1.0)
    assert on_gpu[5].item() == 5.0


def test_pinned_memory_is_not_used_again_while_a_copy_reads_it(simulator: Any) -> None:
    host = torch.arange(1 << 16, dtype=torch.float32).pin_memory()
    address = host.data_ptr()
    on_gpu = torch.empty(1 << 16, device="cuda")
    on_gpu.copy_(host, non_blocking=True)
    del host
    other = torch.full((1 << 16,), -1.0, pin_memory=True)
    assert other.data_ptr() != address
    assert torch.equal(on_gpu.cpu(), torch.arange(1 << 16, dtype=torch.float32))


@pytest.mark.sampled(1 / 4)
def test_record_stream_keeps_memory_from_being_given_away(simulator: Any) -> None:
    side = torch.cuda.Stream()

    def reused(record: bool) -> bool:
        x = torch.zeros(1 << 18, device="cuda")
        address = x.data_ptr()
        with torch.cuda.stream(side):
            torch.cuda._sleep(1 << 20)
            if record:
                assert x.record_stream(side) is None
        del x
        found = torch.empty(1 << 18, device="cuda").data_ptr() == address
        torch.cuda.synchronize()
        return found

    assert reused(record=False) and not reused(record=True)


def test_record_stream_is_an_operator_that_writes_nothing() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    y = x * x
    version = y._version
    y.record_stream(torch.cuda.Stream())
    assert y._version == version
    with pytest.raises(TypeError, match="Stream"):
        x.record_stream(3)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="CPU"):
        torch.ones(1).record_stream(torch.cuda.Stream())


def test_a_loader_pins_its_batches() -> None:
    loader = DataLoader(
        TensorDataset(torch.arange(6.0), torch.arange(6)), batch_size=4, pin_memory=True
    )
    for x, y in loader:
        assert x.is_pinned() and y.is_pinned()
        assert torch.equal(x.cuda(non_blocking=True).long().cpu(), y)


def test_batches_of_any_shape_are_pinned() -> None:
    from internals.utils.data.pin_memory import pin_memory

    class Batch:
        def pin_memory(self) -> str:
            return "asked"

    one = torch.ones(1)
    batch = OrderedDict(a=[one, "text"], b=Point(one, 3), c=(one, None), d=Batch(), e=range(2))
    pinned = pin_memory(batch)
    assert type(pinned) is OrderedDict and list(pinned) == list("abcde")
    assert pinned["a"][0].is_pinned() and pinned["a"][1] == "text" and not one.is_pinned()
    assert type(pinned["b"]) is Point and pinned["b"].x.is_pinned() and pinned["b"].y == 3
    assert pinned["c"][0].is_pinned() and pinned["c"][1] is None and pinned["d"] == "asked"
    assert list(pinned["e"]) == [0, 1]


def test_pinned_storages_come_from_the_allocator_of_pinned_memory() -> None:
    s = Storage.allocate(100, pinned=True)
    assert s.allocator is not None and s.allocator.name == "CUDAHostAllocator" and s.is_pinned()
    np.frombuffer(s.memory(), np.uint8)[:] = 7
    assert s.tolist() == [7] * 100


@pytest.mark.parametrize("n", [1 << 50, 1 << 58, 1 << 60])
def test_more_page_locked_memory_than_there_is(n: int) -> None:
    with pytest.raises(RuntimeError, match="memory"):
        torch.empty(n, pin_memory=True)
