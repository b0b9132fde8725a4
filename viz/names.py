"""Names instead of addresses: memory is S0, S1, ... by first appearance, and a place in it is
`S0+0x40`.

An address says nothing to a reader and differs in every run; that two things have the same base,
and how far apart they are, is the whole message.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Region:
    """Bytes [start, end) that belong together, and the name they got."""

    name: str
    start: int
    end: int


@dataclass
class Names:
    """Gives names to stretches of memory; stretches that overlap are one."""

    prefix: str = "S"
    regions: list[Region] = field(default_factory=list)

    def add(self, start: int, nbytes: int) -> Region:
        """The region that holds these bytes; a new one if none overlaps. An empty stretch is its
        own region.
        """
        end = start + nbytes
        touching = [r for r in self.regions if r.start < end and start < r.end]
        same_empty = [r for r in self.regions if nbytes == 0 and (r.start, r.end) == (start, end)]
        if not touching:
            if same_empty:
                return same_empty[0]
            self.regions.append(Region("", start, end))
            self._rename()
            return self.regions[-1]
        first, *others = touching
        for other in others:
            self.regions.remove(other)
        first.start = min([start, first.start, *(o.start for o in others)])
        first.end = max([end, first.end, *(o.end for o in others)])
        self._rename()
        return first

    def find(self, address: int) -> Region | None:
        for region in self.regions:
            if region.start <= address < region.end or address == region.start:
                return region
        return None

    def of(self, address: int) -> str:
        """`S0+0x40` for an address in a named region; "NULL" for 0; "?" for memory that nobody
        named.
        """
        region = self.find(address)
        if region is None:
            return "NULL" if address == 0 else "?"
        return f"{region.name}+{address - region.start:#x}"

    def _rename(self) -> None:
        for number, region in enumerate(self.regions):
            region.name = f"{self.prefix}{number}"
