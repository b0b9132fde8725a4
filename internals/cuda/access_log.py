"""The log of every memory access of a launch, and what follows from it: transactions, bank
conflicts, reuse, races.

A warp's 32 threads run one instruction together. If it is a load or a store, their 32 addresses are
one *request*:

- Global memory moves in sectors of 32 bytes, four to a line of 128. A request costs as many sectors
  as its addresses touch: four, if neighbouring threads read neighbouring floats (*coalesced*), and
  up to 32 if they do not.
- Shared memory has 32 banks; word n (of 4 bytes) lies in bank n % 32. Threads that want different
  words of one bank wait for each other (a *bank conflict*); those that want the same word get it
  together. Elements of 8 bytes are served for half a warp at a time, of 16 bytes for a quarter.

How the real one differs: Nsight Compute counts in the hardware, where caches answer some of the
requests and the compiler keeps in registers what the source reads twice. Here every access in the
source counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, prod
from typing import NamedTuple

WARP = 32
SECTOR, LINE = 32, 128  # bytes
BANKS, WORD = 32, 4


@dataclass(frozen=True)
class ArrayInfo:
    """An array that the kernel touched: an argument (`space` "global") or a `cuda.shared.array`
    ("shared").
    """

    name: str
    space: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    dtype: str
    itemsize: int
    start: int = 0  # offset of its first element in the memory it lies in, in bytes

    @property
    def numel(self) -> int:
        return prod(self.sizes)


@dataclass(frozen=True)
class Place:
    """Where in the source an access is written. `function` is the kernel, or a device function that
    it called. Each call has places of its own, as a compiler inlines a copy of the function there.
    """

    number: int
    text: str
    line: int
    function: str


class Access(NamedTuple):
    """One thread touched one element. `array` and `place` are indices into the log's lists;
    `thread` counts within the block.
    """

    kind: str  # "load", "store" or "atomic"
    array: int
    element: int  # its index, as if the array were contiguous
    offset: int  # in bytes from the array's first element
    block: int  # counted over the whole grid
    thread: int
    phase: int  # how many barriers its block had passed
    place: int
    occurrence: int  # how often this thread was at this place before, as in a loop

    @property
    def warp(self) -> int:
        return self.thread // WARP

    @property
    def lane(self) -> int:
        return self.thread % WARP


@dataclass(frozen=True)
class Request:
    """The accesses of a warp's threads by one instruction, executed once."""

    array: ArrayInfo
    place: Place
    accesses: tuple[Access, ...]

    @property
    def kind(self) -> str:
        return self.accesses[0].kind

    @property
    def block(self) -> int:
        return self.accesses[0].block

    @property
    def warp(self) -> int:
        return self.accesses[0].warp

    @property
    def phase(self) -> int:
        return self.accesses[0].phase

    @property
    def occurrence(self) -> int:
        return self.accesses[0].occurrence

    @cached_property
    def lanes(self) -> tuple[int, ...]:
        return tuple(a.lane for a in self.accesses)

    @cached_property
    def elements(self) -> tuple[int, ...]:
        return tuple(a.element for a in self.accesses)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        return tuple(a.offset for a in self.accesses)

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        """The address of each lane's element, in bytes from a multiple of 128."""
        return tuple(self.array.start + offset for offset in self.offsets)

    @cached_property
    def nbytes(self) -> int:
        """The number of distinct bytes: an element that several lanes want counts once."""
        return len(set(self.offsets)) * self.array.itemsize

    @cached_property
    def sectors(self) -> tuple[int, ...]:
        """The numbers of the 32-byte sectors that the addresses touch; none for shared memory."""
        return self._touched(SECTOR)

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the 128-byte lines that the addresses touch; none for shared memory."""
        return self._touched(LINE)

    @property
    def sectors_needed(self) -> int:
        """The fewest sectors that could hold the bytes."""
        return ceil(self.nbytes / SECTOR) if self.array.space == "global" else 0

    def _touched(self, unit: int) -> tuple[int, ...]:
        """The numbers of the aligned units of `unit` bytes that the accesses touch."""
        if self.array.space != "global":
            return ()
        last = self.array.itemsize - 1  # offset of an element's last byte
        return tuple(
            sorted({n for a in self.addresses for n in range(a // unit, (a + last) // unit + 1)})
        )

    @cached_property
    def banks(self) -> dict[int, tuple[int, ...]]:
        """The words wanted of each bank of shared memory, in the wave with the worst conflict."""
        return max(self._waves(), key=_degree, default={})

    @property
    def conflict(self) -> int:
        """How many times the worst bank has to answer: 1 is no conflict. 0 for global memory."""
        return _degree(self.banks)

    @property
    def wavefronts(self) -> int:
        """How many passes over shared memory the request takes, in all its waves."""
        return sum(map(_degree, self._waves()))

    def _waves(self) -> list[dict[int, tuple[int, ...]]]:
        """Bank to words, for each part of the warp that is served together: the whole warp for
        elements of up to 4 bytes, half of it for 8, a quarter for 16.
        """
        if self.array.space != "shared":
            return []
        size = max(1, self.array.itemsize // WORD)  # words of an element
        waves: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(size)]
        for lane, address in zip(self.lanes, self.addresses):
            words = waves[lane * size // WARP]
            for word in range(address // WORD, address // WORD + size):
                wanted_before = word in words[word % BANKS]
                # one read of a word answers all lanes that want it, but atomics go one by one
                if self.kind == "atomic" or not wanted_before:
                    words[word % BANKS].append(word)
        return [
            {bank: tuple(words) for bank, words in sorted(wave.items())} for wave in waves if wave
        ]


@dataclass
class Instruction:
    """All requests of one load or store of the source."""

    kind: str
    array: ArrayInfo
    place: Place
    requests: list[Request] = field(default_factory=list)

    @property
    def accesses(self) -> int:
        return sum(len(r.accesses) for r in self.requests)

    @property
    def sectors(self) -> int:
        return sum(len(r.sectors) for r in self.requests)

    @property
    def transactions(self) -> float:
        """128-byte lines per request."""
        return sum(len(r.lines) for r in self.requests) / len(self.requests)

    @property
    def efficiency(self) -> float:
        """The sectors needed over the sectors touched: 1 is perfectly coalesced. 1 for shared
        memory, too.
        """
        return sum(r.sectors_needed for r in self.requests) / self.sectors if self.sectors else 1.0

    @property
    def conflict(self) -> int:
        """The worst bank conflict: 1 is none. 0 for global memory."""
        return max(r.conflict for r in self.requests)


@dataclass(frozen=True)
class Race:
    """Two threads touch one element, at least one of them stores, and nothing orders the two. `why`
    says which order is missing.
    """

    array: str
    element: int
    first: Access
    second: Access
    why: str


@dataclass
class AccessLog:
    """Every access of a launch of `kernel` over `grid` and `block`. Arrays are in the order of the
    arguments.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arrays: list[ArrayInfo] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)

    @property
    def threads(self) -> int:
        """The number of threads in a block."""
        return prod(self.block)

    @property
    def blocks(self) -> int:
        return prod(self.grid)

    def array(self, name: str) -> ArrayInfo:
        """The array called `name`. Raises a KeyError that lists the arrays there are."""
        for info in self.arrays:
            if info.name == name:
                return info
        raise KeyError(
            f"{self.kernel} touches no array '{name}'; it touches "
            f"{', '.join(a.name for a in self.arrays) or 'none'}"
        )

    def of(
        self, array: str | None = None, kind: str | None = None, space: str | None = None
    ) -> Iterator[Access]:
        """The accesses to one array, of one kind, in one space, in the order in which they were
        made.
        """
        wanted = {
            n
            for n, a in enumerate(self.arrays)
            if (array is None or a.name == array) and (space is None or a.space == space)
        }
        return (a for a in self.accesses if a.array in wanted and (kind is None or a.kind == kind))

    @cached_property
    def requests(self) -> list[Request]:
        """The accesses, grouped by warp and instruction; by block, then phase, then warp, then in
        the order of each group's first access.
        """
        groups: dict[tuple[int, ...], list[Access]] = defaultdict(list)
        # the kind is in the key: `x[i] += 1` loads and stores at one place
        codes = {"load": 0, "store": 1, "atomic": 2}
        for a in self.accesses:
            groups[a.block, a.warp, a.phase, a.place, a.occurrence, a.array, codes[a.kind]].append(
                a
            )
        ordered = sorted(groups.values(), key=lambda g: (g[0].block, g[0].phase, g[0].warp))
        return [
            Request(self.arrays[g[0].array], self.places[g[0].place], tuple(g)) for g in ordered
        ]

    @cached_property
    def instructions(self) -> list[Instruction]:
        """The loads and stores of the source that were executed, each with its requests, in the
        order of their first request.
        """
        found: dict[tuple[str, str, Place], Instruction] = {}
        for r in self.requests:
            key = (r.kind, r.array.name, r.place)
            found.setdefault(key, Instruction(r.kind, r.array, r.place)).requests.append(r)
        return list(found.values())

    def reuse(self, array: str) -> dict[int, int]:
        """How often each element of `array` was loaded or changed atomically; elements that never
        were are left out. Raises KeyError for an unknown array.
        """
        self.array(array)
        return dict(sorted(Counter(a.element for a in self.of(array) if a.kind != "store").items()))

    def nbytes(self, kind: str, space: str = "global") -> int:
        """The bytes that all threads moved in `space` ("global" or "shared") by accesses of `kind`
        ("load", "store" or "atomic").
        """
        return sum(self.arrays[a.array].itemsize for a in self.of(kind=kind, space=space))

    @property
    def phases(self) -> int:
        """One more than the number of barriers, in the block that passed most of them."""
        return max((a.phase for a in self.accesses), default=0) + 1

    @cached_property
    def races(self) -> list[Race]:
        """The first race of each element that has one."""
        found: dict[tuple[str, int], Race] = {}
        for accesses in self._contended(within_block=True):
            self._add_race(
                accesses,
                "the same phase: no barrier lies between them",
                lambda a: (a.block, a.thread),
                found,
            )
        for accesses in self._contended(within_block=False):
            self._add_race(
                accesses, "different blocks: nothing orders them", lambda a: a.block, found
            )
        return list(found.values())

    def _contended(self, within_block: bool) -> Iterable[list[Access]]:
        """Groups of accesses to one element, at least one of them a store, that no barrier orders.

        Within a block a barrier orders what comes before and after it, so only accesses of the same
        phase are grouped. No barrier orders different blocks, so there the phase does not matter.
        Atomics alone are no race: the hardware does one after the other.
        """
        groups: dict[tuple[int, ...], list[Access]] = defaultdict(list)
        for a in self.accesses:
            if within_block:
                groups[a.array, a.element, a.block, a.phase].append(a)
            elif self.arrays[a.array].space == "global":
                groups[a.array, a.element].append(a)
        return (
            group
            for group in groups.values()
            if len(group) > 1 and any(a.kind == "store" for a in group)
        )

    def _add_race(
        self,
        accesses: list[Access],
        why: str,
        who: Callable[[Access], object],
        found: dict[tuple[str, int], Race],
    ) -> None:
        """Add a race to `found` if `accesses` are by more than one `who` (a thread, or a block);
        the first race of an element stays.
        """
        if len({who(a) for a in accesses}) > 1:
            store = next(a for a in accesses if a.kind == "store")
            other = next(a for a in accesses if who(a) != who(store))
            first, second = sorted((store, other), key=accesses.index)
            name = self.arrays[store.array].name
            found.setdefault((name, store.element), Race(name, store.element, first, second, why))

    def summary(self) -> str:
        """One line about the cost in memory: bytes, transactions, bank conflicts, races."""
        loaded, stored = self.nbytes("load"), self.nbytes("store") + self.nbytes("atomic")
        outputs = len({(a.array, a.element) for a in self.of(space="global") if a.kind != "load"})
        inputs = len({(a.array, a.element) for a in self.of(space="global", kind="load")})
        # an element counts once, however many threads touch it
        parts = []
        if outputs:
            parts.append(
                f"{loaded / outputs:,.4g} bytes loaded and {stored / outputs:,.4g} stored per "
                "element of output"
            )
        if inputs:
            times = sum(1 for _ in self.of(space="global", kind="load")) / inputs
            parts.append(
                f"each element of input loaded {'once' if times == 1 else f'{times:.3g} times'}"
            )
        moved = [r for r in self.requests if r.array.space == "global"]
        if moved:
            lines, sectors = sum(len(r.lines) for r in moved), sum(len(r.sectors) for r in moved)
            share = sum(r.sectors_needed for r in moved) / sectors
            parts.append(
                f"{lines / len(moved):.1f} transactions per request, {share:.0%} of the sectors "
                "needed"
            )
        worst = max((r.conflict for r in self.requests), default=0)
        if worst:
            parts.append("no bank conflicts" if worst == 1 else f"bank conflicts up to {worst}-way")
        if self.races:
            parts.append(
                f"races on {len(self.races)} elements"
                if len(self.races) > 1
                else "a race on 1 element"
            )
        return "; ".join(parts) or "no memory touched"

    def __repr__(self) -> str:
        threads = f"{self.blocks} × {self.threads} threads, {len(self.accesses):,} accesses"
        return f"<AccessLog of {self.kernel}: {threads}; {self.summary()}>"


def _degree(banks: dict[int, tuple[int, ...]]) -> int:
    """The most words that any bank must deliver, one after the other; 0 for no banks."""
    return max(map(len, banks.values()), default=0)
