"""Several threads run models while others make and drop tensors: each gets what it would get alone.

Threads change places as often as Python can be made to, so that what may go wrong does so within a second.
"""

from __future__ import annotations

import dis
import io
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import internals as torch
import internals.nn.functional as F
from internals import jit, machine_code, nn
from internals._generated import short_cuts
from internals.core import geometry, tensor_impl
from internals.core.cpu_allocator import CachingAllocator, Stats, caching_allocator
from internals.core.hot import Hot, hot
from internals.core.storage import Storage
from internals.jit.fuser import fused_kernel

THREADS = 4


@contextmanager
def restless() -> Iterator[None]:
    """Threads change places as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """The results of functions that begin together, each in a thread of its own. Raises what one of them raises."""
    results: list[Any] = [None] * len(works)
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(i: int) -> None:
        try:
            start.wait()
            results[i] = works[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    with restless():
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    if errors:
        raise errors[0]
    return results


# Memory


def test_a_block_belongs_to_one_thread_and_nothing_is_miscounted() -> None:
    allocator = CachingAllocator()
    owners: dict[int, int] = {}

    def work(me: int) -> None:
        mine: list[Any] = []
        for i in range(1500):
            block = allocator.allocate(64 * (1 + (7 * i + me) % 40))
            assert owners.setdefault(block.pointer, me) == me
            mine.append(block)
            if len(mine) > 5:
                give_back(mine.pop(0))
        for block in mine:
            give_back(block)

    def give_back(block: Any) -> None:
        del owners[block.pointer]
        block.clear()

    def look() -> None:
        for _ in range(100):
            assert allocator.memory_stats()["segment.all.allocated"] >= 0
            assert all(row["state"] in ("active", "cached") for row in allocator.snapshot())
            allocator.empty_cache()
            with allocator.record_history():
                allocator.reset_peak_memory_stats()

    at_once(*[lambda k=k: work(k) for k in range(THREADS)], look)
    stats = allocator.memory_stats()
    assert stats["allocated_bytes.all.current"] == stats["allocation.all.current"] == 0
    assert stats["allocation.all.allocated"] == THREADS * 1500
    assert stats["reserved_bytes.all.current"] == sum(b.size for b in allocator.blocks.values())
    allocator.empty_cache()
    assert allocator.stats.reserved == 0 and not allocator.blocks


def switches(name: str) -> bool:
    """Whether CPython may let another thread run at an instruction of this name."""
    return name.startswith(("CALL", "PRECALL", "RESUME", "YIELD", "SEND")) or "BACKWARD" in name


@pytest.mark.parametrize(
    "function",
    [
        CachingAllocator.allocate, CachingAllocator.release, CachingAllocator._grow, CachingAllocator._give_back,
        Storage.__del__, tensor_impl.empty, torch.Tensor.__add__, short_cuts.add, Hot.paused.__wrapped__,  # type: ignore[attr-defined]
    ],
    ids=lambda f: f.__qualname__,
)  # fmt: skip
def test_counters_change_and_blocks_are_taken_where_no_other_thread_gets_in(function: Any) -> None:
    code = list(dis.get_instructions(function))
    counters, found = {*Stats.__slots__, "off"}, 0
    for i, instruction in enumerate(code):
        before = code[:i]
        if instruction.opname == "STORE_ATTR" and instruction.argval in counters:
            read = max((k for k, b in enumerate(before) if b.argval == instruction.argval), default=None)
        elif instruction.argval == "pop" and function is not CachingAllocator.allocate:  # which does not look first
            read = max(k for k, b in enumerate(before) if b.opname.startswith("POP_JUMP"))
        else:
            continue
        assert read is not None
        assert not any(switches(b.opname) for b in before[read:]), instruction
        found += 1
    assert found


def test_recordings_may_end_in_another_order_than_they_began() -> None:
    allocator = CachingAllocator()
    first, second = allocator.record_history(), allocator.record_history()
    first.__enter__()
    events = second.__enter__()
    first.__exit__(None, None, None)
    allocator.allocate(100).clear()
    assert [e["action"] for e in events] == ["alloc", "cache_return"]
    second.__exit__(None, None, None)
    assert allocator.history is None and not hot.off
    allocator.allocate(100).clear()
    assert len(events) == 2


def test_equal_geometries_stay_one_object() -> None:
    for n in range(50):
        sizes = 77_000 + n, 3
        made = at_once(*[lambda: geometry.contiguous_geometry(sizes, torch.float32) for _ in range(THREADS)])  # noqa: B023
        assert len(set(map(id, made))) == 1


# Random numbers


def test_no_number_is_drawn_twice() -> None:
    for seed in range(5):
        g = torch.Generator().manual_seed(seed)
        words = torch.randint(0, 1 << 31, (4000,), generator=g).tolist()
        g.manual_seed(seed)  # from here on the engine has to be made anew
        drawn = at_once(*[
            lambda: [torch.randint(0, 1 << 31, (10,), generator=g).tolist() for _ in range(100)] for _ in range(THREADS)  # noqa: B023
        ])  # fmt: skip
        assert sorted(w for part in drawn for ten in part for w in ten) == sorted(words)


def test_the_second_of_a_pair_of_normal_numbers_is_given_once() -> None:
    g = torch.Generator().manual_seed(0)
    drawn = at_once(*[
        lambda: [x for _ in range(300) for x in torch.randn(3, dtype=torch.float64, generator=g).tolist()]
        for _ in range(THREADS)
    ])  # fmt: skip
    every = [x for part in drawn for x in part]
    assert len(set(every)) == len(every) == THREADS * 900


# Modes


def test_grad_mode_is_a_threads_own() -> None:
    w = torch.ones(3, requires_grad=True)

    def record() -> None:
        for _ in range(500):
            assert (w + w).requires_grad and torch.is_grad_enabled() and not torch.is_inference_mode_enabled()

    def do_not() -> None:
        for _ in range(250):
            with torch.no_grad():
                assert not (w + w).requires_grad
            with torch.inference_mode():
                assert (w + w).is_inference()

    at_once(record, do_not, record, do_not)


# Models


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.net(x), -1)


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for _ in range(x.size(0) + 2):
            if bool(y.sum() > 0):
                y = torch.tanh(self.linear(y)) + x * 0.5
            else:
                y = y * y - x
            y = y + x
        return y


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.attend = nn.MultiheadAttention(32, 4, batch_first=True)
        self.norm, self.out = nn.LayerNorm(32), nn.Linear(32, 50)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.embed(x)
        h = self.norm(h + self.attend(h, h, h, need_weights=False)[0])
        q = h.reshape(h.size(0), h.size(1), 4, 8).transpose(1, 2)
        return self.out(h + F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(h.shape))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm, self.out = nn.BatchNorm2d(8), nn.Linear(8 * 8 * 8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.first(x)))
        x = F.max_pool2d(x + self.second(x), 2)
        return self.out(torch.flatten(x, 1))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], torch.Tensor], int]] = {
    "perceptron": (Perceptron, lambda k: torch.randn(1 + k % 3, 16), 150),
    "branches": (Branches, lambda k: torch.randn(1 + k % 3, 16), 150),
    "attention": (Attention, lambda k: torch.randint(0, 50, (1 + k % 2, 5 + k % 3)), 20),
    "residual": (Residual, lambda k: torch.randn(1 + k % 2, 3, 16, 16), 30),
}


def archive_of(name: str) -> bytes:
    torch.manual_seed(0)
    return jit.script(MODELS[name][0]().eval()).save_to_buffer()


@pytest.mark.parametrize("name", MODELS)
def test_threads_that_share_a_model_get_what_each_would_get_alone(name: str) -> None:
    """It has not been called before, so they also meet at compiling it; others make and drop tensors, and load archives."""
    archive, (_, make_input, calls) = archive_of(name), MODELS[name]
    inputs = [make_input(k) for k in range(6)]
    with torch.no_grad():
        alone = jit.load(io.BytesIO(archive))
        expected = [alone(x).numpy().copy() for x in inputs]
    shared = jit.load(io.BytesIO(archive))

    def run(me: int) -> None:
        with torch.no_grad():
            for i in range(me, me + calls):
                result = shared(inputs[i % 6])
                assert not result.requires_grad
                np.testing.assert_array_equal(result.numpy(), expected[i % 6])

    def make_and_drop() -> None:
        held: list[Any] = []
        for i in range(600):
            held.append(torch.zeros(3 + i % 50) + 1.0)
            if len(held) > 30:
                del held[::2]

    def load() -> None:
        with torch.no_grad():
            assert jit.load(io.BytesIO(archive))(inputs[0]).shape == expected[0].shape

    at_once(*[lambda k=k: run(k) for k in range(THREADS)], make_and_drop, load)


def test_threads_share_a_network_with_packed_convolutions() -> None:
    torch.manual_seed(0)
    model = jit.optimize(
        nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()).eval()
    )
    inputs = [torch.randn(1 + k % 2, 3, 20, 20) for k in range(4)]
    with torch.no_grad():
        expected = [model(x).numpy().copy() for x in inputs]

        def run(me: int) -> None:
            with torch.no_grad():
                for i in range(me, me + 40):
                    np.testing.assert_array_equal(model(inputs[i % 4]).numpy(), expected[i % 4])

        at_once(*[lambda k=k: run(k) for k in range(THREADS)])


@pytest.mark.parametrize("layout", ["modern", "1.0.1"])
def test_threads_compile_the_code_of_an_archive_once(layout: str) -> None:
    content = jit.script(Branches().eval()).save_to_buffer(format=layout)
    for _ in range(3):
        forward = jit.load(io.BytesIO(content)).forward.function
        graphs = at_once(*[lambda: forward.graph for _ in range(THREADS)])  # noqa: B023
        executors = at_once(*[lambda: forward.executor for _ in range(THREADS)])  # noqa: B023
        assert len(set(map(id, graphs))) == len(set(map(id, executors))) == 1


def test_threads_emit_the_code_of_a_plan_once() -> None:
    """Else an error would not find the line of the script that it came from: the code that runs is not that which is known."""

    @jit.script
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return torch.mm(y, w)

    for n in range(10):
        x, w = torch.ones((2,) * (n + 1)), torch.ones((2,) * (n + 3))
        errors = at_once(*[lambda: error_of(f, x, w) for _ in range(THREADS)])  # noqa: B023
        assert all("torch.mm(y, w)" in e for e in errors)


def error_of(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        function(*args)
    return str(caught.value)


def test_threads_bind_the_parameters_of_new_kernels() -> None:
    """A kernel compiled without its `fastmath` would add up in another order."""
    for _ in range(30):
        T = machine_code.template("T")

        @machine_code.inline(fastmath=("reassoc",))
        def twice(x: Any) -> Any:
            return T(2) * x  # noqa: B023

        @machine_code.kernel
        def double_all(begin: int, end: int, x: Any, out: Any) -> None:
            for i in range(begin, end):
                out[i] = twice(x[i])

        bound = at_once(*[lambda: double_all.bind(T=np.float32) for _ in range(THREADS)])
        assert len(set(map(id, bound))) == 1
        assert at_once(*[lambda: twice.bind(T=np.float64).fastmath for _ in range(THREADS)]) == [("reassoc",)] * THREADS


def test_threads_may_note_their_kernels_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_kernel, "_last", deque(maxlen=8))

    def note() -> None:
        for _ in range(500):
            kernel: Any = object()
            fused_kernel.remember([kernel])

    at_once(*[note for _ in range(THREADS)])
    assert len(fused_kernel.last_kernels()) == 8


def test_loading_leaves_the_warning_filters_of_other_threads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`warnings.catch_warnings` changes them for the whole process."""
    content = archive_of("perceptron")

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the filters of all threads are changed")

    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", refuse)
        assert jit.load(io.BytesIO(content))(torch.ones(1, 16)).shape == (1, 4)


def test_profiling_one_thread_does_not_disturb_another() -> None:
    x, expected = torch.ones(4, 4), torch.ones(4, 4) * 4

    def profile() -> None:
        for _ in range(5):
            with torch.profiler.profile(profile_memory=True):
                torch.mm(x, x).add(1)

    def work() -> None:
        for _ in range(200):
            assert torch.equal(torch.mm(x, x), expected)

    at_once(profile, work, work)
    assert caching_allocator.history is None and not hot.off
