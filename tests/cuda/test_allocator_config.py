"""The constants of the caching allocator and the options that change them, beside real PyTorch
where it is installed.
"""

from __future__ import annotations

import ctypes
import glob
import os
from typing import Any

import pytest

from internals.cuda.allocator.config import (
    TODAY,
    V1_0_1,
    from_environment,
    parse,
    round_up_power2_division,
)
from tests.answers import answer

KIB, MIB = 1 << 10, 1 << 20


@pytest.mark.parametrize(
    "nbytes,today,old",
    [
        (1, 512, 512),
        (511, 512, 512),
        (512, 512, 512),
        (513, 1024, 1024),
        (MIB - 1, MIB, MIB),
        (MIB, MIB, MIB),
        (MIB + 1, MIB + 512, MIB + 128 * KIB),
        (10 * MIB - 1, 10 * MIB, 10 * MIB),
    ],
)
def test_round_size(nbytes: int, today: int, old: int) -> None:
    assert (TODAY.round_size(nbytes), V1_0_1.round_size(nbytes)) == (today, old)


@pytest.mark.parametrize(
    "size,today,old",
    [
        (512, 2 * MIB, MIB),
        (MIB, 2 * MIB, MIB),
        (MIB + 512, 20 * MIB, MIB + 128 * KIB),
        (10 * MIB - 512, 20 * MIB, 10 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB, 11 * MIB),
        (21 * MIB, 22 * MIB, 21 * MIB),
    ],
)
def test_segment_size(size: int, today: int, old: int) -> None:
    assert (TODAY.segment_size(size), V1_0_1.segment_size(size)) == (today, old)


def test_the_example_of_the_source() -> None:
    assert [round_up_power2_division(n, 4) for n in (1024, 1025, 1200, 1281, 1537, 2047)] == [
        1024,
        1280,
        1280,
        1536,
        1792,
        2048,
    ]
    assert round_up_power2_division(5, 8) == 8  # no step is left between 4 and 8


def test_options() -> None:
    text = (
        "max_split_size_mb:128, "
        "garbage_collection_threshold:0.8,max_non_split_rounding_mb:40,large_segment_size_mb:32"
    )
    config = parse(text)
    assert (config.max_split_size, config.garbage_collection_threshold) == (128 * MIB, 0.8)
    assert (config.max_non_split_rounding, config.large_buffer, config.settings) == (
        40 * MIB,
        32 * MIB,
        text,
    )
    assert config.segment_size(2 * MIB) == 32 * MIB
    pinned = parse("pinned_max_round_threshold_mb:4,pinned_max_cached_size_mb:64")
    assert (pinned.pinned_max_round_threshold, pinned.pinned_max_cached_size) == (4 * MIB, 64 * MIB)
    assert (
        parse("") == TODAY
        and parse("expandable_segments:False,backend:native").round_size(1) == 512
    )


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:30")
    assert from_environment().max_split_size == 30 * MIB
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:40")
    assert from_environment().max_split_size == 40 * MIB, "the older name comes first"


VALUES = [
    "max_split_size_mb:10",
    "max_non_split_rounding_mb:10",
    "large_segment_size_mb:10",
    "garbage_collection_threshold:1.5",
    "garbage_collection_threshold:0",
    "roundup_power2_divisions:3",
    "roundup_power2_divisions:0",
    "roundup_power2_divisions:[256:3]",
    "roundup_power2_divisions:[300:4]",
    "expandable_segments:true",
]
MALFORMED = [
    "max_split_size_mb",
    "max_split_size_mb:",
    "max_split_size_mb:many",
    "max_split_size_mb=100",
    "roundup_power2_divisions:[256:1",
    "roundup_power2_divisions:[256]",
    "max_split_size_mb:[1:2]",
    "nonsense:1",
]


@pytest.mark.parametrize("text", VALUES)
def test_values_out_of_range_like_pytorch(text: str) -> None:

    def refused(torch: Any) -> str:
        with pytest.raises(ValueError) as error:
            torch._C._accelerator_setAllocatorSettings(text)
        return str(error.value).split("\nException raised")[0]

    with pytest.raises(ValueError) as ours:
        parse(text)
    assert str(ours.value) == answer(refused, family="programs")


@pytest.mark.parametrize("text", [*VALUES, *MALFORMED])
def test_what_is_wrong_is_named(text: str) -> None:
    with pytest.raises(ValueError) as error:
        parse(text)
    assert len(str(error.value)) > 20


def test_what_is_not_here_is_refused_or_warned_of() -> None:
    with pytest.raises(ValueError, match="not implemented here"):
        parse("backend:cudaMallocAsync")
    with pytest.warns(UserWarning, match="expandable_segments not supported on this platform"):
        # as the error of a failed allocation advises
        config = parse("expandable_segments:True,max_split_size_mb:100")
    assert config.max_split_size == 100 * MIB
    with pytest.raises(ValueError, match="Unrecognized key 'nonsense' in CUDA allocator config."):
        parse("nonsense:1")


@pytest.mark.parametrize(
    "divisions",
    [
        "4",
        "[256:1,512:2,1024:4,>:8]",
        "[256:1]",
        "[>:4]",
        "[1:2,>:16]",
        "[256:2,64:8]",
        "[64:8,256:0,>:2]",
        "[131072:4]",
        "[]",
    ],
)
def test_divisions_like_pytorch(divisions: str) -> None:
    """Which division a size has, asked from the library itself: a static function, so it can be
    called by its mangled name.
    """
    powers = [1 << power for power in range(10, 40)]
    sizes = [nbytes for power in powers for nbytes in (power - 1, power, power + 1, 3 * power // 2)]

    def asked(torch: Any) -> list[int]:
        (library,) = glob.glob(os.path.join(os.path.dirname(torch.__file__), "lib", "*c10.so"))
        name = "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig24roundup_power2_divisionsEm"
        function: Any = getattr(ctypes.CDLL(library), name)
        function.argtypes, function.restype = [ctypes.c_size_t], ctypes.c_size_t
        put = torch._C._accelerator_setAllocatorSettings
        put("roundup_power2_divisions:[1:0,>:0]")  # what was set before would shine through
        put(f"roundup_power2_divisions:{divisions}")
        try:
            return [function(nbytes) for nbytes in sizes]
        finally:
            put("roundup_power2_divisions:[1:0,>:0]")

    config = parse(f"roundup_power2_divisions:{divisions}")
    for nbytes, real in zip(sizes, answer(asked, family="programs"), strict=True):
        assert config.divisions_for(nbytes) == real, nbytes
