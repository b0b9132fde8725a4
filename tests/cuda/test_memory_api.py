"""`torch.cuda.memory_*`: what programs ask, on the simulator."""

from __future__ import annotations

import re
from typing import Any

import pytest

import internals as torch
from internals.cuda import backend
from internals.cuda.allocator import V1_0_1, CachingAllocator, DriverSegments, allocator_for
from internals.cuda.allocator.config import TODAY
from internals.cuda.allocator.devices import set_config, use_allocator
from tests.answers import answer

MIB = 1 << 20
cuda = torch.cuda

pytestmark = pytest.mark.usefixtures("simulator")


def test_a_tensor_is_memory() -> None:
    x = torch.empty(1000, device="cuda")
    assert (cuda.memory_allocated(), cuda.memory_reserved()) == (4096, 2 * MIB)
    assert (
        cuda.memory_allocated("cuda:1")
        == 0
        == cuda.memory_allocated(1)
        == cuda.memory_allocated(torch.device("cuda", 1))
    )
    free, total = cuda.mem_get_info()
    assert total - free == 2 * MIB
    del x
    assert (cuda.memory_allocated(), cuda.max_memory_allocated(), cuda.memory_reserved()) == (
        0,
        4096,
        2 * MIB,
    )
    cuda.empty_cache()
    assert (cuda.memory_reserved(), cuda.max_memory_reserved()) == (0, 2 * MIB)
    cuda.reset_peak_memory_stats()
    cuda.reset_accumulated_memory_stats()
    assert set(cuda.memory_stats().values()) == {0, -1}


def test_nothing_is_initialised_by_asking() -> None:
    with backend.installed(None):
        assert cuda.memory_allocated() == cuda.max_memory_reserved() == 0
        assert (
            cuda.memory_stats() == {} == cuda.host_memory_stats() and cuda.memory_snapshot() == []
        )
        cuda.empty_cache()
        assert not backend.initialized()


def test_two_devices_have_two_allocators() -> None:
    x = torch.empty(100, device="cuda:1")
    assert allocator_for(1) is x.untyped_storage().allocator is not allocator_for(0)
    assert [s["device"] for s in cuda.memory_snapshot()] == [1]
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.memory_allocated(2)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        cuda.memory_allocated("cpu")


def test_out_of_memory_leaves_everything_usable() -> None:
    kept = torch.ones(5, device="cuda")
    with pytest.raises(
        torch.OutOfMemoryError,
        match="CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total",
    ):
        torch.empty(2_100_000_000, dtype=torch.uint8, device="cuda")
    assert cuda.memory_stats()["num_ooms"] == 1
    assert kept.add(1).tolist() == [2.0] * 5


def test_a_fraction() -> None:
    assert cuda.get_per_process_memory_fraction() == 1.0
    cuda.set_per_process_memory_fraction(0.25)
    assert (
        cuda.get_per_process_memory_fraction() == 0.25
        and cuda.get_per_process_memory_fraction(1) == 1.0
    )
    total = cuda.mem_get_info()[1]
    torch.empty(total // 8, dtype=torch.uint8, device="cuda")
    with pytest.raises(torch.OutOfMemoryError, match="allowed; Of the allocated memory"):
        torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    for wrong, error in ((1, TypeError), (1.5, ValueError), (-0.1, ValueError)):
        with pytest.raises(error, match="Invalid"):
            cuda.set_per_process_memory_fraction(wrong)


def test_memory_without_a_tensor() -> None:
    pointer = cuda.caching_allocator_alloc(1000)
    other = cuda.caching_allocator_alloc(1000, "cuda:1", cuda.Stream("cuda:1"))
    assert allocator_for(1).allocated[other].stream != 0
    assert cuda.memory_allocated() == 1024
    cuda.caching_allocator_delete(pointer)
    cuda.caching_allocator_delete(other)
    assert cuda.memory_allocated() == 0
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        cuda.caching_allocator_delete(pointer)
    with pytest.raises(TypeError, match="Invalid type for stream argument"):
        cuda.caching_allocator_alloc(10, stream="main")


def test_a_stream_owns_what_is_made_on_it() -> None:
    side = cuda.Stream()
    with cuda.stream(side):
        x = torch.empty(1000, device="cuda")
    (segment,) = cuda.memory_snapshot()
    assert segment["stream"] == side.cuda_stream
    address = x.data_ptr()
    del x
    assert torch.empty(1000, device="cuda").data_ptr() != address
    with cuda.stream(side):
        assert torch.empty(1000, device="cuda").data_ptr() == address


def test_without_a_cache() -> None:
    with cuda.caching_allocator_disabled():
        x = torch.empty(1000, dtype=torch.uint8, device="cuda")
        assert cuda.memory_reserved() == 0 and cuda.mem_get_info()[0] < cuda.mem_get_info()[1]
    y = torch.empty(1000, dtype=torch.uint8, device="cuda")
    assert cuda.memory_reserved() == 2 * MIB
    del x, y
    cuda.empty_cache()
    assert cuda.mem_get_info()[0] == cuda.mem_get_info()[1]
    assert cuda.get_allocator_backend() == "native"


def test_nothing_is_cached_if_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")
    x = torch.empty(1000, device="cuda")
    assert cuda.memory_reserved() == 0 and x.data_ptr()


def test_another_allocator() -> None:
    old = CachingAllocator(DriverSegments(backend.driver(), 0), config=V1_0_1)
    with use_allocator(old):
        x = torch.empty(10, device="cuda")
        assert cuda.memory_reserved() == MIB and x.untyped_storage().allocator is old
    assert cuda.memory_reserved() == 0
    del x
    assert old.stats.allocated_bytes() == 0


def test_settings() -> None:
    with pytest.warns(FutureWarning, match="_set_allocator_settings is deprecated"):
        cuda.memory._set_allocator_settings("max_split_size_mb:64")
    try:
        assert cuda.memory_stats()["max_split_size"] == 64 * MIB
        assert (
            cuda.memory._snapshot()["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"]
            == "max_split_size_mb:64"
        )
    finally:
        set_config(TODAY)
    assert cuda.memory_stats()["max_split_size"] == -1


def test_older_names() -> None:
    torch.empty(10, device="cuda")
    with pytest.warns(
        FutureWarning,
        match="`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`",
    ):
        assert cuda.memory_cached() == 2 * MIB
    with pytest.warns(FutureWarning, match="has been renamed to `torch.cuda.max_memory_reserved`"):
        assert cuda.max_memory_cached() == 2 * MIB
    for function in (cuda.reset_max_memory_allocated, cuda.reset_max_memory_cached):
        with pytest.warns(
            FutureWarning,
            match=f"torch.cuda.{function.__name__} now calls .* resets /all/ peak memory stats.",
        ):
            function()
    assert cuda.max_memory_allocated() == 0


@pytest.mark.parametrize("abbreviated", [False, True])
@pytest.mark.parametrize("scale", [1, 3000, 10**7])
def test_summary_like_pytorch(
    monkeypatch: pytest.MonkeyPatch, abbreviated: bool, scale: int
) -> None:
    """The same numbers, put into the table by PyTorch's own function."""
    keep = [torch.empty(n, device="cuda") for n in (10, 1000, MIB, 5 * MIB)]
    del keep[1]
    numbers = {
        key: value * scale if value > 0 else value for key, value in cuda.memory_stats().items()
    }

    def ask(torch: Any) -> str:
        memory = torch.cuda.memory
        with monkeypatch.context() as patched:
            patched.setattr(memory, "memory_stats", lambda device=None: numbers)
            patched.setattr(memory, "_get_device_index", lambda device, optional=False: 0)
            return memory.memory_summary(abbreviated=abbreviated)

    monkeypatch.setattr("internals.cuda.memory.memory_stats", lambda device=None: numbers)
    assert cuda.memory_summary(abbreviated=abbreviated) == answer(ask, family="programs")


def test_keys_like_pytorch() -> None:
    """PyTorch's documentation of `memory_stats` and `host_memory_stats` names them."""
    torch.empty(10, device="cuda")

    def documentation(real: Any) -> list[str]:
        return [real.cuda.memory.memory_stats.__doc__, real.cuda.memory.host_memory_stats.__doc__]

    all_keys = [set(cuda.memory_stats()), set(cuda.host_memory_stats())]
    for text, keys in zip(answer(documentation, family="programs"), all_keys, strict=True):
        named = {key for pattern in _patterns(text) for key in _expand(pattern)}
        named -= {"reserved_bytes_by_private_pools"}  # there are none here
        named = {
            key.replace("allocated.", "allocation.", 1) if key.startswith("allocated.") else key
            for key in named
        }
        assert named <= keys and len(named) > 15


def _patterns(text: str) -> list[str]:
    return re.findall(r'``"([a-z_.{},]{2,})"``', text)


def _expand(pattern: str) -> list[str]:
    """ "a.{b,c}" is "a.b" and "a.c"."""
    before, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    inside, _, after = rest.partition("}")
    return [tail for choice in inside.split(",") for tail in _expand(f"{before}{choice}{after}")]
