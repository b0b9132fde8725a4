"""`viz.memory`: where do my tensors live, and who shares what? The forum's question, answered by
looking.

Every storage is a strip of bytes. Under it, each tensor or array that looks at it has a row showing
which bytes it touches and in which order. What more than one of them touches is orange. Sharing is
decided by addresses, not by which objects are related: a tensor made with `from_numpy` and the
array it came from have different owners and the same bytes.

How the real one differs: PyTorch has no such picture. Its `torch.cuda.memory._snapshot` shows
blocks of the allocator, not the views of them.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz.canvas import Canvas
from viz.device_bytes import bytes_at
from viz.footprint import Footprint, share_bytes
from viz.looking import Census, Look, look
from viz.names import Names
from viz.refs import others
from viz.scene import Picture
from viz.text import corrected

CELLS_AT_MOST = 32  # a storage of more elements is drawn to scale, without values
BUCKETS = 120
PAIRS_AT_MOST = 6


@dataclass
class Cell:
    """A few bytes with something written on them; `start` counts from the beginning of the
    storage.
    """

    start: int
    nbytes: int
    text: str
    shared: bool = False


@dataclass
class View:
    """One object's row. It has cells when its storage is small, else the share of each bucket that
    it touches.
    """

    name: str
    facts: str
    order: str
    numel: int
    cells: list[Cell] = field(default_factory=list)
    coverage: list[float] = field(default_factory=list)
    shared_buckets: list[bool] = field(default_factory=list)


@dataclass
class Strip:
    """One storage: its bytes, who keeps them alive, and the rows below it."""

    name: str
    nbytes: int
    dtype: str
    itemsize: int
    owners: list[str]
    allocators: list[str]
    views: list[View]
    cells: list[Cell] | None  # None when it is drawn to scale
    where: str = ""  # the device whose memory it is, if not the CPU


@dataclass
class Verdict:
    """ "shared", "apart" (one storage, no byte in common), "mapped" (part of a file) or "copied",
    of which objects, and why.
    """

    kind: str
    names: list[str]
    text: str


@dataclass
class Memory(Picture):
    strips: list[Strip]
    verdicts: list[Verdict]

    def text(self) -> str:
        from viz.rooms.memory_writers import memory_text

        return memory_text(self)

    def canvas(self) -> Canvas:
        from viz.rooms.memory_writers import memory_canvas

        return memory_canvas(self)


def memory(*tensors: Any, **named: Any) -> Memory:
    """A picture of the memory behind tensors and arrays, and of what they share.

    Keywords name the objects in the picture: `viz.memory(a=a, b=a.t())`. Objects can be tensors,
    numpy arrays, and anything with a buffer or `__dlpack__`. References are those that others hold:
    the call itself is not counted. Of a simulated GPU the picture shows what is in memory now,
    without what is still queued.

    Raises TypeError when an object has no memory to show, and ValueError when its device has none
    or there is no object.
    """
    if not tensors and not named:
        raise ValueError(
            corrected("viz.memory needs something to look at", "viz.memory()", "viz.memory(t=t)"),
        )
    counts = [others(tensors, i) for i in range(len(tensors))]
    holder = tuple(named.values())
    # `named` holds one
    counts += [None if (n := others(holder, i)) is None else n - 1 for i in range(len(holder))]
    del holder
    objects = {f"arg{i}": t for i, t in enumerate(tensors)} | named
    census = Census(objects, dict(zip(objects, counts)))
    return scene([look(name, obj, census) for name, obj in objects.items()])


def scene(looks: list[Look]) -> Memory:
    """Group looks by the bytes behind them. What overlaps is one storage, whoever owns it."""
    names = Names()
    for one in looks:
        names.add(one.start, one.nbytes)
    strips, verdicts = [], []
    for region in list(names.regions):
        here = [one for one in looks if names.add(one.start, one.nbytes) is region]
        pairs = {
            (i, j): share_bytes(here[i].footprint, here[j].footprint)
            for i in range(len(here))
            for j in range(i + 1, len(here))
        }
        strips.append(_strip(region.name, region.start, region.end - region.start, here, pairs))
        verdicts += _verdicts(region.name, here, pairs)
    alone = [strip for strip in strips if len(strip.views) == 1]
    if len(strips) > 1:
        verdicts += [_verdict_alone(strip) for strip in alone]
    return Memory(strips, verdicts)


def _verdict_alone(strip: Strip) -> Verdict:
    """What has its bytes to itself has a copy, unless they lie in a file that is mapped into
    memory, as loaded tensors do.
    """
    name = strip.views[0].name
    if any(owner.rpartition(" → ")[2].startswith(("mmap,", "mmap ")) for owner in strip.owners):
        return Verdict(
            "mapped", [name], f"not copied: {strip.name} is a part of what is mapped into memory"
        )
    place = f" on {strip.where.split(',')[0]}" if strip.where else ""
    return Verdict("copied", [name], f"bytes of its own in {strip.name}{place}")


def _verdicts(region: str, looks: list[Look], pairs: dict[tuple[int, int], bool]) -> list[Verdict]:
    """Who shares with whom in one storage: the largest groups in which everyone meets everyone, and
    who never meets.
    """
    groups: list[tuple[int, ...]] = []
    for i in range(len(looks)):
        group = [i]
        for j in range(len(looks)):
            if j != i and all(pairs[min(j, k), max(j, k)] for k in group):
                group.append(j)
        if len(group) > 1 and tuple(sorted(group)) not in groups:
            groups.append(tuple(sorted(group)))
    found = []
    for members in groups:
        same = all(looks[k].footprint.runs() == looks[members[0]].footprint.runs() for k in members)
        rest = "the other" if len(members) == 2 else "all"
        bytes_ = f"the same bytes of {region}" if same else f"bytes of {region} in common"
        text = f"{bytes_}: written through one, seen through {rest}"
        found.append(Verdict("shared", [looks[k].name for k in members], text))
    apart = [[looks[i].name, looks[j].name] for (i, j), shares in pairs.items() if not shares]
    found += [
        Verdict("apart", pair, f"both in {region}, no byte in common")
        for pair in apart[:PAIRS_AT_MOST]
    ]
    if len(apart) > PAIRS_AT_MOST:
        found[-1].text += f" ({len(apart) - PAIRS_AT_MOST} more such pairs are not listed)"
    return found


def _strip(
    name: str, start: int, nbytes: int, looks: list[Look], pairs: dict[tuple[int, int], bool]
) -> Strip:
    typed = next((one for one in looks if one.footprint.numel), looks[0])
    smallest = min(one.footprint.itemsize for one in looks)
    small = (
        nbytes <= CELLS_AT_MOST * smallest and nbytes <= CELLS_AT_MOST * typed.footprint.itemsize
    )
    owners = list(dict.fromkeys(" → ".join(one.owners) for one in looks if one.owners))
    strip = Strip(
        name=name,
        nbytes=nbytes,
        dtype=typed.dtype,
        itemsize=typed.footprint.itemsize,
        owners=[o for o in owners if not any(o != p and p.endswith(" → " + o) for p in owners)],
        allocators=list(dict.fromkeys(one.allocator for one in looks if one.allocator)),
        views=[_view(one, name, start) for one in looks],
        cells=_values(start, nbytes, typed) if small else None,
        where=typed.where,
    )
    partners = [
        [j for j in range(len(looks)) if pairs.get((min(i, j), max(i, j)))]
        for i in range(len(looks))
    ]
    if small:
        touched = [_touched(one.footprint) for one in looks]
        for i, view in enumerate(strip.views):
            view.cells = _order(looks[i].footprint, start)
            for cell in view.cells:
                mine = range(start + cell.start, start + cell.start + cell.nbytes)
                cell.shared = any(byte in touched[j] for j in partners[i] for byte in mine)
    else:
        for one, view in zip(looks, strip.views):
            view.coverage = one.footprint.coverage(start, start + nbytes, BUCKETS)
        for i, view in enumerate(strip.views):
            view.shared_buckets = [
                share > 0 and any(strip.views[j].coverage[b] > 0 for j in partners[i])
                for b, share in enumerate(view.coverage)
            ]
    return strip


def _view(one: Look, region: str, start: int) -> View:
    fp = one.footprint
    where = f"{region}+{fp.address - start:#x}" if fp.numel else "no bytes"
    count = (
        "immortal"
        if one.references is None
        else f"{one.references} ref{'' if one.references == 1 else 's'}"
    )
    facts = f"{one.kind} {one.dtype} {tuple(fp.sizes)} {one.strides_text} at {where}, {count}"
    firsts = fp.first_addresses(4)
    order = (
        "touches " + ", ".join(f"+{at - start:#x}" for at in firsts)
        if firsts
        else "touches nothing"
    )
    order += ", …" if fp.numel > len(firsts) else ""
    if fp.repeats() > 1:
        order += f"; every byte is used {fp.repeats():,} times (stride 0)"
    return View(one.name, facts, order, fp.numel)


def _touched(fp: Footprint) -> set[int]:
    return {at + i for at in fp.addresses() for i in range(fp.itemsize)}


def _order(fp: Footprint, start: int) -> list[Cell]:
    """For each element the view touches, in memory order: its number, or numbers, in index
    order.
    """
    numbers: dict[int, list[int]] = {}
    if fp.numel:
        shown = Footprint(
            fp.address,
            tuple(n if s else min(n, 8) for n, s in zip(fp.sizes, fp.strides)),
            fp.strides,
            1,
        )
        if shown.numel == fp.numel <= 4096:
            for number, at in enumerate(fp.addresses()):
                numbers.setdefault(at - start, []).append(number)
        else:  # so much is repeated that only how often is worth saying
            for at in shown.addresses():
                numbers[at - start] = []
    times = f"×{fp.repeats():,}"
    return [
        Cell(at, fp.itemsize, ",".join(map(str, n)) if n else times)
        for at, n in sorted(numbers.items())
    ]


def _values(start: int, nbytes: int, typed: Look) -> list[Cell]:
    """The storage's bytes as elements of the first view's dtype, with their values."""
    itemsize = typed.footprint.itemsize
    lead = (typed.footprint.address - start) % itemsize
    count = max(0, nbytes - lead) // itemsize
    try:
        dtype = np.dtype(typed.dtype)
    except TypeError:
        # a dtype that numpy does not know, such as bfloat16: show the bytes' places only
        return [Cell(lead + i * itemsize, itemsize, "") for i in range(count)]
    at, size = start + lead, count * itemsize
    raw = (
        b""
        if not count
        else ctypes.string_at(at, size)
        if typed.device is None
        else bytes_at(typed.device, at, size)
    )
    values = np.frombuffer(raw, dtype)
    return [Cell(lead + i * itemsize, itemsize, _short(v)) for i, v in enumerate(values.tolist())]


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    return str(value)
