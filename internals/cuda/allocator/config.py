"""The constants of the allocators, and the options that change them (`c10/core/AllocatorConfig.h`,
`AllocatorConfig.cpp`).

There is one algorithm; a row of numbers makes it the one of today (`TODAY`) or of PyTorch 1.0.1
(`V1_0_1`). `parse` reads the text of `PYTORCH_CUDA_ALLOC_CONF` (or `PYTORCH_ALLOC_CONF`), such as

    max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:8]

into another row. Errors are of PyTorch's types and, for values out of range, have its texts.

How the real one differs: its settings are atomics read at every call, so they can change while the
allocator runs. It has the backend `cudaMallocAsync`, which is refused here, and expandable
segments; asking for those here gives the warning that it gives on platforms without them. Malformed
text fails an internal assertion there ("Index out of bounds in ConfigTokenizer"); here the error
says what is missing.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass, replace

KIB, MIB = 1 << 10, 1 << 20
UNLIMITED = (1 << 64) - 1
# one interval for each power of two from 1 MiB; the first also holds all smaller sizes, the last
# (32 GiB) all larger ones
DIVISION_INTERVALS = 16


@dataclass(frozen=True)
class AllocatorConfig:
    """One row of constants. Sizes are bytes.

    `release`: the version of PyTorch with these rules; it also chooses the text of the
    out-of-memory error. `round_small`: block sizes are multiples of it; from `coarse_from` on, of
    `round_coarse`. `small_size`: the largest request that goes to the pool of small blocks.
    `small_buffer`: the size of that pool's segments. Larger requests below `min_large_alloc` get a
    segment of `large_buffer`, and those above a multiple of `round_large`.
    """

    release: str = "2.13"
    round_small: int = 512
    coarse_from: int = UNLIMITED
    round_coarse: int = 512
    small_size: int = 1 * MIB
    small_buffer: int = 2 * MIB
    large_buffer: int = 20 * MIB
    min_large_alloc: int = 10 * MIB
    round_large: int = 2 * MIB
    # 1.0.1 had one queue of events for all streams, so a slow stream held up the others
    one_event_queue: bool = False
    # Options
    max_split_size: int = UNLIMITED
    max_non_split_rounding: int = 20 * MIB
    roundup_power2_divisions: tuple[int, ...] = (0,) * DIVISION_INTERVALS
    garbage_collection_threshold: float = 0.0
    # Page-locked host memory
    pinned_power_of_two: bool = True
    pinned_max_round_threshold: int = UNLIMITED
    pinned_max_cached_size: int = UNLIMITED
    settings: str = ""  # the text these options were parsed from

    def round_size(self, nbytes: int) -> int:
        """The size of the block for a request of `nbytes`."""
        if nbytes < self.round_small:
            return self.round_small
        divisions = self.divisions_for(nbytes)
        if divisions > 0 and nbytes > self.round_small * divisions:
            return round_up_power2_division(nbytes, divisions)
        step = self.round_coarse if nbytes >= self.coarse_from else self.round_small
        return round_up(nbytes, step)

    def rounds_plainly(self) -> bool:
        """Whether `round_size` is no more than rounding up to a multiple of `round_small`."""
        return self.coarse_from == UNLIMITED and not any(self.roundup_power2_divisions)

    def divisions_for(self, nbytes: int) -> int:
        """The entry of `roundup_power2_divisions` for a size: that of the largest power of two that
        is not above it, counted from 1 MiB.
        """
        interval = max(0, nbytes.bit_length() - 21)  # 1 MiB is 1 << 20, which has 21 bits
        return self.roundup_power2_divisions[min(interval, DIVISION_INTERVALS - 1)]

    def segment_size(self, size: int) -> int:
        """How many bytes to ask the device for when no free block has `size` bytes."""
        if size <= self.small_size:
            return self.small_buffer
        if size < self.min_large_alloc:
            return self.large_buffer
        return round_up(size, self.round_large)


TODAY = AllocatorConfig()
V1_0_1 = AllocatorConfig(
    release="1.0.1",
    coarse_from=1 * MIB,
    round_coarse=128 * KIB,
    small_buffer=1 * MIB,
    min_large_alloc=0,
    round_large=128 * KIB,
    one_event_queue=True,
    pinned_power_of_two=False,
)


def round_up(n: int, step: int) -> int:
    """The smallest multiple of `step` that is not below `n`."""
    return (n + step - 1) // step * step


def round_up_power2_division(nbytes: int, divisions: int) -> int:
    """`nbytes` rounded up to one of the steps that divide the space between two powers of two into
    `divisions` equal parts.

    Example: 1200 lies between 1024 and 2048. With 4 divisions the steps there are 1024, 1280, 1536
    and 1792, so the result is 1280.
    """
    # floor: the largest power of two that is not above `nbytes`
    floor = 1 << (nbytes.bit_length() - 1)
    if nbytes <= 4 or divisions <= 1 or nbytes == floor:
        return nbytes
    step = floor >> (divisions.bit_length() - 1)  # floor / divisions, a power of two
    return round_up(nbytes, step) if step else floor << 1


def from_environment() -> AllocatorConfig:
    """`TODAY` with the options in the environment. Raises ValueError, as `parse` does."""
    text = os.environ.get("PYTORCH_CUDA_ALLOC_CONF")
    return parse(os.environ.get("PYTORCH_ALLOC_CONF", "") if text is None else text)


def parse(text: str, base: AllocatorConfig = TODAY) -> AllocatorConfig:
    """`base` with the options in `text`. Raises ValueError for one that is unknown, malformed or
    out of range.
    """
    options = _Options(text)
    config = replace(base, settings=text)
    while options.more():
        key, value = options.next()
        config = _apply(config, key, value, options)
    return config


Value = str | list[tuple[str, str]]


def _apply(config: AllocatorConfig, key: str, value: Value, options: _Options) -> AllocatorConfig:
    """`config` with the option `key` set to `value`. Raises ValueError, as `parse` does."""
    if key == "roundup_power2_divisions":
        return replace(config, roundup_power2_divisions=_divisions(value, options))
    if not isinstance(value, str):
        raise ValueError(f"allocator option {key} takes one value, not a list: {options.text!r}")
    if key == "max_split_size_mb":
        return replace(config, max_split_size=_megabytes(key, value, config.large_buffer))
    if key == "max_non_split_rounding_mb":
        return replace(config, max_non_split_rounding=_megabytes(key, value, config.large_buffer))
    if key == "large_segment_size_mb":  # segments for requests of up to 10 MB must be larger
        size = _number(key, value) * MIB
        if size <= config.min_large_alloc:
            raise ValueError("CachingAllocator option large_segment_size_mb must be > 10 MB")
        return replace(config, large_buffer=size)
    if key == "garbage_collection_threshold":
        return replace(config, garbage_collection_threshold=_threshold(value))
    if key == "pinned_max_round_threshold_mb":
        return replace(config, pinned_max_round_threshold=_number(key, value) * MIB)
    if key == "pinned_max_cached_size_mb":
        return replace(config, pinned_max_cached_size=_number(key, value) * MIB)
    if key == "expandable_segments":  # accepted, but without effect
        if options.boolean(value):
            warnings.warn(
                "expandable_segments not supported on this platform: they need the virtual memory "
                "calls of the CUDA driver (cuMemAddressReserve, cuMemMap), which are not used here",
                UserWarning,
                stacklevel=2,
            )
        return config
    if key == "backend":
        if value == "cudaMallocAsync":
            raise ValueError(
                "backend:cudaMallocAsync is not implemented here; leave the option out, or say "
                "backend:native"
            )
        if value != "native":
            raise ValueError("Unknown allocator backend, options are native and cudaMallocAsync")
        return config
    raise ValueError(f"Unrecognized key '{key}' in CUDA allocator config.")


class _Options:
    """A tokenizer: reads the pairs `key:value` of a settings text, one after the other.

    `at` is the number of the next token. A token is one of `, : [ ]` or the text between them.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = re.findall(r"[,:\[\]]|[^,:\[\]]+", re.sub(r"\s", "", text))
        self.at = 0

    def more(self) -> bool:
        """Whether another pair follows. Skips commas."""
        while self.at < len(self.tokens) and self.tokens[self.at] == ",":
            self.at += 1
        return self.at < len(self.tokens)

    def next(self) -> tuple[str, Value]:
        """The next key and its value, which is a list where the text has `[...]`."""
        key = self.take("a name")
        self.expect(":")
        if self.at < len(self.tokens) and self.tokens[self.at] == "[":
            return key, self.list()
        return key, self.take("a value")

    def list(self) -> list[tuple[str, str]]:
        """The pairs of `[size:number,size:number]`."""
        self.expect("[")
        pairs: list[tuple[str, str]] = []  # (size, number)
        if self.at < len(self.tokens) and self.tokens[self.at] == "]":
            self.at += 1
            return pairs
        while True:
            size = self.take("a size")
            self.expect(":")
            pairs.append((size, self.take("a number")))
            if self.take("',' or ']'", punctuation=True) == "]":
                return pairs

    def take(self, what: str, punctuation: bool = False) -> str:
        """The next token, which must be a text, or `,` or `]` with `punctuation`. Raises ValueError
        that names `what` was expected.
        """
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        if (token in (",", "]")) != punctuation or token in ("", ":", "["):
            found = f"got '{token}'" if token else "it ends there"
            raise ValueError(
                f"allocator settings {self.text!r}: expected {what} after "
                f"{''.join(self.tokens[: self.at])!r}, {found}"
            )
        self.at += 1
        return token

    def expect(self, mark: str) -> None:
        """Skip the token `mark`. Raises ValueError if another one comes."""
        if self.at >= len(self.tokens) or self.tokens[self.at] != mark:
            raise ValueError(
                f"allocator settings {self.text!r}: expected '{mark}' after "
                f"{''.join(self.tokens[: self.at])!r}"
            )
        self.at += 1

    def boolean(self, value: str) -> bool:
        """The meaning of `value`, which was the last token. Raises ValueError for anything but True
        and False.
        """
        if value not in ("True", "False"):
            raise ValueError(
                f"Expected 'True' or 'False' at index {self.at - 1} in ConfigTokenizer but got "
                f"'{value}'"
            )
        return value == "True"


def _number(key: str, value: str) -> int:
    if not value.isdecimal():
        raise ValueError(f"allocator option {key} takes a whole number, got '{value}'")
    return int(value)


def _megabytes(key: str, value: str, at_least: int) -> int:
    """A number of MiB in bytes. Raises ValueError for fewer than `at_least` bytes."""
    size = _number(key, value)
    if size * MIB < at_least:
        raise ValueError(f"CachingAllocator option {key} too small, must be >= {at_least // MIB}")
    return min(size * MIB, UNLIMITED)


def _threshold(value: str) -> float:
    """A fraction of the memory. Raises ValueError unless it lies between 0 and 1."""
    try:
        threshold = float(value)
    except ValueError:
        threshold = -1.0
    if not 0.0 < threshold < 1.0:
        raise ValueError("garbage_collect_threshold is invalid, set it in (0.0, 1.0)")
    return threshold


def _divisions(value: Value, options: _Options) -> tuple[int, ...]:
    """The divisions of each interval, from one number for all sizes, or from a list of pairs `size
    in MiB:number`.

    The first size of a list stands for its interval and all smaller ones, `>` for all larger than
    the one before it, every other size for its own interval only.
    """
    if isinstance(value, str):
        number = _number("roundup_power2_divisions", value)
        if not _is_power_of_two(number):
            raise ValueError("For roundups, the divisions has to be power of 2 ")
        return (number,) * DIVISION_INTERVALS
    result = [0] * DIVISION_INTERVALS
    last = None  # the interval of the pair before
    for size, text in value:
        number = _number("roundup_power2_divisions", text)
        if number and not _is_power_of_two(number):
            raise ValueError(
                "For roundups, the divisions has to be power of 2 or 0 to disable roundup "
            )
        if size == ">":
            first = 1 if last is None else last + 1
            result[first:] = [number] * (DIVISION_INTERVALS - first)
            continue
        megabytes = _number("roundup_power2_divisions", size)
        if not _is_power_of_two(megabytes):
            raise ValueError("For roundups, the intervals have to be power of 2 ")
        interval = min(megabytes.bit_length() - 1, DIVISION_INTERVALS - 1)
        if last is None:
            result[:interval] = [number] * interval
        result[interval] = number
        last = interval
    return tuple(result)


def _is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0  # n & (n - 1) clears the lowest bit that is set
