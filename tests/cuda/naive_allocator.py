"""The caching allocator again, by somebody who has all the time in the world: lists, linear search,
everything recomputed.

It shares nothing with `internals.cuda.allocator` but the made-up device: no pools, no sorted lists,
no neighbours. Given the same device and the same program it must hand out the same addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from internals.cuda.allocator import FakeSegments
from internals.cuda.allocator.segments import FakeEvent
from internals.cuda.driver import DeviceOutOfMemory

KIB, MIB = 1 << 10, 1 << 20
NEVER = 1 << 64


@dataclass
class Rules:
    """Numbers of c10/cuda/CUDACachingAllocator.cpp, or of THCCachingAllocator.cpp in 1.0.1."""

    old: bool = False
    max_split: int = NEVER

    def round(self, n: int) -> int:
        step = 128 * KIB if self.old and n >= MIB else 512
        return max(512, -(-n // step) * step)

    def segment(self, size: int) -> int:
        if size <= MIB:
            return MIB if self.old else 2 * MIB
        if self.old:
            return size
        return 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * (2 * MIB)


@dataclass
class Piece:
    size: int
    requested: int = 0
    free: bool = True
    uses: set[int] = field(default_factory=set)
    events: list[FakeEvent] = field(default_factory=list)


@dataclass
class Segment:
    address: int
    stream: int
    small: bool
    pieces: list[Piece]

    def places(self) -> list[tuple[int, Piece]]:
        """Every piece with its address."""
        result, address = [], self.address
        for piece in self.pieces:
            result.append((address, piece))
            address += piece.size
        return result

    def tidy(self) -> None:
        """Merge what is free."""
        merged: list[Piece] = []
        for piece in self.pieces:
            if merged and merged[-1].free and piece.free:
                merged[-1] = Piece(merged[-1].size + piece.size)
            else:
                merged.append(piece)
        self.pieces = merged


class NaiveAllocator:
    """`malloc` returns an address, or None when there is no memory."""

    def __init__(self, device: FakeSegments, rules: Rules) -> None:
        self.device, self.rules = device, rules
        self.segments: list[Segment] = []
        self.queue: list[
            FakeEvent
        ] = []  # of 1.0.1, which looked at marks in the order they were made, whatever their stream

    def malloc(self, nbytes: int, stream: int) -> int | None:
        self.process_events()
        size = self.rules.round(nbytes)
        found = self.search(size, stream)
        if found is None:
            found = self.grow(size, stream)
        if found is None:
            return None
        segment, address, piece = found
        rest = piece.size - size
        large_enough = rest >= 512 if segment.small else rest > MIB and size < self.rules.max_split
        if large_enough:
            at = next(i for i, other in enumerate(segment.pieces) if other is piece)
            segment.pieces[at : at + 1] = [Piece(size), Piece(rest)]
            piece = segment.pieces[at]
        piece.free, piece.requested = False, nbytes
        return address

    def search(self, size: int, stream: int) -> tuple[Segment, int, Piece] | None:
        best: tuple[Segment, int, Piece] | None = None
        for segment in self.segments:
            if segment.stream != stream or segment.small != (size <= MIB):
                continue
            for address, piece in segment.places():
                fits = piece.free and piece.size >= size
                if fits and (best is None or (piece.size, address) < (best[2].size, best[1])):
                    best = segment, address, piece
        if best is None:
            return None
        limit, found = self.rules.max_split, best[2].size
        if limit != NEVER and (found >= limit if size < limit else found >= size + 20 * MIB):
            return None
        return best

    def grow(self, size: int, stream: int) -> tuple[Segment, int, Piece] | None:
        wanted = self.rules.segment(size)
        address = self.ask(wanted)
        if address is None and self.release_some(size, stream):
            address = self.ask(wanted)
        if address is None:
            self.release_all()
            address = self.ask(wanted)
        if address is None:
            return None
        segment = Segment(address, stream, size <= MIB, [Piece(wanted)])
        self.segments.append(segment)
        return segment, address, segment.pieces[0]

    def ask(self, nbytes: int) -> int | None:
        try:
            return self.device.malloc(nbytes)
        except DeviceOutOfMemory:
            return None

    def release_some(self, size: int, stream: int) -> bool:
        """With a limit for splitting: give back one free piece that is large enough, or the largest
        that are over the limit.
        """
        limit = self.rules.max_split
        if limit == NEVER:
            return False
        need = max(size, limit)
        idle = [
            (s.pieces[0].size, s.address, s)
            for s in self.segments
            if len(s.pieces) == 1
            and s.pieces[0].free
            and s.stream == stream
            and s.small == (size <= MIB)
        ]
        enough = sorted(x[:2] for x in idle if x[0] >= need)
        if enough:
            self.drop(enough[0][1])
            return True
        over = sorted((x[:2] for x in idle if x[0] >= limit), reverse=True)
        total = 0
        for nbytes, address in over:
            if total >= need:
                break
            total += nbytes
            self.drop(address)
        return total >= need

    def release_all(self) -> None:
        for event in {id(e): e for s in self.segments for p in s.pieces for e in p.events}.values():
            event.ready = True
        self.process_events()
        idle = [s for s in self.segments if len(s.pieces) == 1 and s.pieces[0].free]
        for segment in sorted(idle, key=lambda s: (s.small, s.stream, s.pieces[0].size, s.address)):
            self.drop(segment.address)

    def drop(self, address: int) -> None:
        self.device.free(address)
        self.segments = [s for s in self.segments if s.address != address]

    def at(self, address: int) -> tuple[Segment, Piece]:
        return next(
            (s, p) for s in self.segments for a, p in s.places() if a == address and not p.free
        )

    def free(self, address: int) -> None:
        segment, piece = self.at(address)
        if piece.uses:
            piece.events = [self.device.record_event(0, stream) for stream in sorted(piece.uses)]
            self.queue += piece.events
            return
        segment.pieces = [Piece(p.size) if p is piece else p for p in segment.pieces]
        segment.tidy()

    def record_stream(self, address: int, stream: int) -> None:
        segment, piece = self.at(address)
        if stream != segment.stream:
            piece.uses.add(stream)

    def process_events(self) -> None:
        while self.queue and self.queue[0].ready:
            self.queue.pop(0)
        unseen = {id(event) for event in self.queue if self.rules.old or not event.ready}
        for segment in self.segments:
            segment.pieces = [
                Piece(p.size)
                if p.events and not any(id(event) in unseen for event in p.events)
                else p
                for p in segment.pieces
            ]
            segment.tidy()

    def layout(self) -> list[tuple[int, int, bool, list[tuple[int, int, str]]]]:
        """Address, stream, pool and pieces of every segment."""
        result = []
        for s in sorted(self.segments, key=lambda s: s.address):
            pieces = [
                (
                    p.size,
                    0 if p.free else p.requested,
                    "inactive" if p.free else "pending" if p.events else "allocated",
                )
                for p in s.pieces
            ]
            result.append((s.address, s.stream, s.small, pieces))
        return result
