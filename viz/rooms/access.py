"""`viz.access`: which thread touches which element, and what it costs.

The kernel really runs, on the CPU, with a recorder that notes every access of every thread
(`internals.cuda.recorder`); no GPU is needed. Each array is a grid of its elements: a number is the
thread that touched the element, a colour its block, warp or thread, and orange what several of them
touched. Below, one warp at a time: the sectors of memory that its 32 threads need for one
instruction, and the banks of shared memory that they meet in.

How the real one differs: Nsight Compute counts sectors and bank conflicts on the chip, and shows
tables of them by source line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from viz.canvas import Canvas
from viz.scene import Picture
from viz.stepper import LeanStepper, one_style_sheet
from viz.svg import FONTS
from viz.text import plural

if TYPE_CHECKING:
    from internals.cuda.access_log import AccessLog, Instruction, Request

ROWS, COLUMNS, ARRAYS = 16, 32, 8  # what is drawn at most
TEXT_ROWS = 8
FRAMES_AT_MOST = 32
CYCLE = ("view", "copied", "owner", "allocator", "ready", "python", "storage")
SEVERAL = "shared"
NAMES = {"thread": "thread", "warp": "warp", "block": "block"}


@dataclass
class Mark:
    """What is written into the cell of one element: the thread, or how many; `role` is its
    colour.
    """

    label: str
    role: str
    tip: str
    fresh: bool = True  # touched in this frame of a stepper, and not before


@dataclass
class Grid:
    """One array's elements, in rows of its last dimension."""

    name: str
    facts: str
    rows: int
    columns: int
    marks: dict[int, Mark] = field(default_factory=dict)


@dataclass
class AccessPicture(Picture):
    """The picture of a launch. `log` has everything that was recorded."""

    log: AccessLog
    grids: list[Grid]
    by: str
    block: int
    warp: int
    instructions: list[Instruction]  # those of the chosen warp
    whole: bool = True  # and not a frame of a stepper
    array: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rows: int = ROWS  # of each array, drawn at most

    def title(self) -> str:
        return f"viz.access: {self.log.kernel}"

    @property
    def launch(self) -> str:
        """ "grid (2, 2), blocks of (4, 4) threads"."""
        return f"grid {_extent(self.log.grid)}, blocks of {_extent(self.log.block)} threads"

    def groups(self) -> list[tuple[str, str]]:
        """(role, meaning) of the colours that occur."""
        used = {m.role for g in self.grids for m in g.marks.values()}
        count = {
            "thread": self.log.threads,
            "warp": warps(self.log) * self.log.blocks,
            "block": self.log.blocks,
        }[self.by]
        named = []
        for n, role in enumerate(CYCLE[:count]):
            same = list(map(str, range(n, count, len(CYCLE))))
            if role in used:
                named.append(
                    (role, f"{self.by} {', '.join(same[:2])}{', …' if len(same) > 2 else ''}")
                )
        return named + ([(SEVERAL, f"several {self.by}s")] if SEVERAL in used else [])

    def text(self) -> str:
        from viz.rooms.access_writers import access_text

        return access_text(self)

    def canvas(self) -> Canvas:
        from viz.rooms.access_writers import access_canvas

        return access_canvas(self)

    def html(self) -> str:
        """The drawing once; where a viewer removes SVG, the text: there are too many cells to have
        it there twice.
        """
        return with_short_labels(
            one_style_sheet(f'<div style="overflow-x:auto">{self.svg()}</div>', self.text())
        )

    def phases(self) -> AccessStepper:
        """A stepper from barrier to barrier: what the threads of the chosen block touch in each
        stretch.
        """
        frames = []
        here = [a for a in self.log.accesses if a.block == self.block]
        for phase in range(min(self.log.phases, FRAMES_AT_MOST)):
            grids = _grids(
                self, [a for a in here if a.phase == phase], [a for a in here if a.phase < phase]
            )
            which = [r for r in self.log.requests if r.block == self.block and r.phase == phase]
            frames.append((_phase_caption(phase, which), self._frame(grids)))
        return AccessStepper(
            frames,
            f"{self.log.kernel}, block {self.block}, barrier by barrier" + _rest(self.log.phases),
        )

    def steps(self) -> AccessStepper:
        """A stepper over the requests of the chosen warp: in each frame, what its threads touch
        with one instruction.
        """
        requests = [r for r in self.log.requests if (r.block, r.warp) == (self.block, self.warp)]
        requests = [r for r in requests if self.array in (None, r.array.name)]
        frames: list[tuple[str, AccessPicture]] = []
        before: list[Any] = []
        for r in requests[:FRAMES_AT_MOST]:
            frames.append((request_caption(r), self._frame(_grids(self, r.accesses, before))))
            before.extend(r.accesses)
        title = (
            f"{self.log.kernel}, block {self.block}, warp {self.warp}, instruction by instruction"
        )
        return AccessStepper(frames, title + _rest(len(requests)))

    def _frame(self, grids: list[Grid]) -> AccessPicture:
        return AccessPicture(
            self.log, grids, self.by, self.block, self.warp, [], whole=False, rows=self.rows
        )


class AccessStepper(LeanStepper):
    """Frames of an `AccessPicture`."""

    def html(self) -> str:
        return with_short_labels(super().html())


def access(
    kernel: Any,
    grid: Any,
    block: Any,
    *args: Any,
    array: str | None = None,
    warp: int = 0,
    of_block: int = 0,
    by: str | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    rows: int = ROWS,
) -> AccessPicture:
    """Run `kernel[grid, block](*args)` with a recorder, and show who touched what.

    Arguments are numpy arrays, tensors on any device, and numbers; they are written to. `array`
    shows one array only, `warp` and `of_block` choose whose transactions are drawn; `by` is what
    colours mean: "thread", "warp" or "block". `shapes` draws an array that the kernel indexes
    flatly as rows and columns: `shapes={"a": (8, 8)}`; of each at most `rows` rows are drawn, none
    for 0. What no thread touched is left out. The picture has `.phases()` and `.steps()`, which
    step from barrier to barrier and from instruction to instruction, and `.log`.

    Raises ValueError for a warp or block that the launch does not have, KeyError for an unknown
    array, and what a failing kernel raises.
    """
    from internals.cuda.recorder import record

    if by not in (None, *NAMES):
        raise ValueError(f'by must be "thread", "warp" or "block", got {by!r}')
    log = record(kernel, grid, block, *args)
    if not (0 <= of_block < log.blocks and 0 <= warp < warps(log)):
        raise ValueError(
            f"{log.kernel} was launched with {plural(log.blocks, 'block')} of "
            f"{plural(warps(log), 'warp')}; "
            f"there is no warp {warp} of block {of_block}"
        )
    for name in [*([array] if array else []), *(shapes or {})]:
        log.array(name)
    several = "block" if log.blocks > 1 else "warp" if warps(log) > 1 else "thread"
    picture = AccessPicture(
        log, [], by or several, of_block, warp, [], True, array, dict(shapes or {}), rows
    )
    picture.grids = _grids(picture, log.accesses, [])
    picture.instructions = chosen(log.instructions, of_block, warp, array)
    return picture


def warps(log: AccessLog) -> int:
    """In a block."""
    return (log.threads + 31) // 32


def chosen(
    instructions: list[Instruction], block: int, warp: int, array: str | None
) -> list[Instruction]:
    """The instructions with only the requests of one warp."""
    found = []
    for i in instructions:
        mine = [r for r in i.requests if (r.block, r.warp) == (block, warp)]
        if mine and array in (None, i.array.name):
            found.append(type(i)(i.kind, i.array, i.place, mine))
    return found


def worst(instruction: Instruction) -> Request:
    """The request to draw: the first of those that cost most."""
    return max(instruction.requests, key=lambda r: (len(r.sectors), r.conflict))


def request_caption(r: Request) -> str:
    cost = (
        f"{len(r.sectors)} sectors, {r.sectors_needed} needed"
        if r.array.space == "global"
        else conflict_text(r.conflict)
    )
    return f"line {r.place.line}, {r.kind} {r.place.text}: {plural(len(r.lanes), 'thread')}, {cost}"


def conflict_text(degree: int) -> str:
    return "no bank conflict" if degree < 2 else f"{degree}-way bank conflict"


def with_short_labels(html: str) -> str:
    """The same page with a class for each size of label, since most of a picture's bytes are
    attributes of its cells' labels.
    """
    label = re.compile(
        r' font-family="monospace" font-size="([0-9.]+)" text-anchor="middle" class="([a-z-]+)"'
    )
    sizes = sorted({size for size, _ in label.findall(html)})
    html = label.sub(lambda m: f' class="{m[2]} iv-{m[1].replace(".", "-")}"', html)
    rules = (
        f".iv .iv-{s.replace('.', '-')}{{font:{s}px {FONTS['mono']};text-anchor:middle}}"
        for s in sizes
    )
    return html.replace("</style>", "".join(rules) + "</style>", 1)


def _grids(p: AccessPicture, now: Sequence[Any], before: Sequence[Any]) -> list[Grid]:
    """The arrays, with marks on what the accesses `now` touch, and faint ones on what those
    `before` did.
    """
    grids = []
    touched_ever = {a.array for a in p.log.accesses}
    for number, info in enumerate(p.log.arrays):
        if p.array != info.name and (p.array is not None or number not in touched_ever):
            continue
        sizes = p.shapes.get(info.name, info.sizes)
        if prod(sizes) != info.numel:
            raise ValueError(
                f"'{info.name}' has {plural(info.numel, 'element')}, which is not {_extent(sizes)}"
            )
        columns = sizes[-1] if len(sizes) > 1 else min(info.numel, COLUMNS)
        where = "shared memory, of each block" if info.space == "shared" else "global memory"
        last = info.numel - 1
        if info.space == "shared" and len(sizes) == 1:
            # often made for the largest block: only what is used
            last = max((a.element for a in p.log.accesses if a.array == number), default=0)
        one = Grid(
            info.name,
            f"{info.dtype} {_extent(info.sizes)} in {where}",
            last // max(columns, 1) + 1,
            columns,
        )
        for accesses, fresh in ((before, False), (now, True)):
            touched: dict[int, list[Any]] = {}
            for a in accesses:
                if a.array == number and (info.space == "global" or a.block == p.block):
                    touched.setdefault(a.element, []).append(a)
            one.marks |= {element: _mark(p, found, fresh) for element, found in touched.items()}
        grids.append(one)
    return grids[:ARRAYS]


def _mark(p: AccessPicture, accesses: list[Any], fresh: bool) -> Mark:
    threads = sorted({(a.block, a.thread) for a in accesses})
    per = warps(p.log)
    group = {
        "thread": lambda b, t: t,
        "warp": lambda b, t: b * per + t // 32,
        "block": lambda b, t: b,
    }[p.by]
    met = {group(b, t) for b, t in threads}
    role = CYCLE[met.pop() % len(CYCLE)] if len(met) == 1 else SEVERAL
    label = str(threads[0][1]) if len(threads) == 1 else f"×{len(threads)}"
    counts = [
        f"{n}× {kind}"
        for kind in ("load", "store", "atomic")
        if (n := sum(a.kind == kind for a in accesses))
    ]
    return Mark(label, role, f"{', '.join(counts)}: {_who(threads)}", fresh)


def _who(threads: list[tuple[int, int]]) -> str:
    """ "block 0 thread 4, 5; block 1 thread 4": the first four."""
    blocks: dict[int, list[str]] = {}
    for block, thread in threads[:4]:
        blocks.setdefault(block, []).append(str(thread))
    named = "; ".join(f"block {block} thread {', '.join(them)}" for block, them in blocks.items())
    return named + (", …" if len(threads) > 4 else "")


def _phase_caption(phase: int, requests: list[Request]) -> str:
    counts = []
    for kind, space, words in (
        ("load", "global", "loads from global memory"),
        ("store", "shared", "stores to shared memory"),
        ("load", "shared", "loads from shared memory"),
        ("store", "global", "stores to global memory"),
        ("atomic", "global", "atomics on global memory"),
        ("atomic", "shared", "atomics on shared memory"),
    ):  # fmt: skip
        n = sum(len(r.lanes) for r in requests if (r.kind, r.array.space) == (kind, space))
        if n:
            counts.append(f"{n:,} {words}")
    start = "before the first barrier" if phase == 0 else f"after barrier {phase}"
    return f"{start}: {', '.join(counts) or 'nothing'}"


def _rest(count: int) -> str:
    return f" (the first {FRAMES_AT_MOST} of {count:,})" if count > FRAMES_AT_MOST else ""


def _extent(sizes: tuple[int, ...]) -> str:
    """ "8 × 8"; sizes of a launch without the ones at their end."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " × ".join(map(str, kept))
