"""`viz.batching_steps`: a batcher's line, one moment after the other. Who is in line, what starts,
what comes back.

The requests stand in line with their rows, the first at the right, next to the model. A batch is
what it is in memory, too: rows one below the other. Then each takes its own rows back.

How the real one differs: Triton's queue can be watched only by its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas, text_width
from viz.rooms.batching import OUTCOMES, RUNNING, SHORT, WAITING, Batching, Moment, events_of, scene
from viz.scene import Picture
from viz.stepper import LeanStepper
from viz.text import and_list, corrected, plural

STEPS_AT_MOST = 40
IN_LINE_AT_MOST, BACK_AT_MOST = 9, 10
CELL_WIDTH, CELL, TALLEST = 30.0, 15.0, 150.0
LINE_WIDTH, MODEL_WIDTH, BACK_WIDTH = 330.0, 150.0, 190.0
HEAD, GAP = 26.0, 34.0

Member = tuple[int, int]  # a request and its rows


@dataclass
class Queue(Picture):
    """The state after one moment. `fresh` are the requests that it happened to, `ended` (request,
    outcome) the latest last.
    """

    line: list[Member] = field(default_factory=list)
    work: dict[int, list[Member]] = field(default_factory=dict)
    ended: list[tuple[int, str]] = field(default_factory=list)
    fresh: set[int] = field(default_factory=set)
    # rows in the largest batch or request of the whole recording: all frames are of one size
    tallest: int = 1
    abreast: int = 1  # batches at work at the same time

    def title(self) -> str:
        return "viz.batching_steps"

    def text(self) -> str:
        line = ", ".join(f"{n} ({plural(rows, 'row')})" for n, rows in self.line) or "nobody"
        work = "; ".join(
            f"batch {b} = {' + '.join(str(n) for n, _ in members)} "
            f"({plural(sum(r for _, r in members), 'row')})"
            for b, members in self.work.items()
        )
        back = ", ".join(str(n) for n, outcome in self.ended if outcome == "answered") or "nobody"
        rest = [
            f"{', '.join(str(n) for n, outcome in self.ended if outcome == kind)} {SHORT[kind]}"
            for kind in dict.fromkeys(outcome for _, outcome in self.ended if outcome != "answered")
        ]
        lines = [f"in line:  {line}", f"at work:  {work or 'nothing'}", f"answered: {back}"]
        return "\n".join(lines + ([f"without:  {'; '.join(rest)}"] if rest else []))

    def canvas(self) -> Canvas:
        canvas = Canvas(self.title(), self.text().replace("\n", "; "))
        unit = min(CELL, TALLEST / self.tallest)
        height = HEAD + max(unit * self.tallest + 30, 96.0)
        model_width = max(MODEL_WIDTH, self.abreast * (CELL_WIDTH + 34) + 40)
        model_at = LINE_WIDTH + GAP
        back_at = model_at + model_width + GAP
        for x, width, name in (
            (0.0, LINE_WIDTH, "in line"),
            (model_at, model_width, "the model"),
            (back_at, BACK_WIDTH, "done"),
        ):
            canvas.rect(x, 0, width, height, "panel", "line", 5)
            canvas.text(x + 10, 17, name, 11.5, bold=True, paint="muted")
        for x in (LINE_WIDTH, back_at - GAP):
            canvas.line([(x + 5, height / 2), (x + GAP - 5, height / 2)], "muted", 1.4, arrow=True)
        self._draw_line(canvas, unit, height)
        x = model_at + (model_width - len(self.work) * (CELL_WIDTH + 34) + 34) / 2
        for number, members in self.work.items():
            self._draw_batch(canvas, x, unit, number, members)
            x += CELL_WIDTH + 34
        if not self.work:
            canvas.text(
                model_at + model_width / 2, height / 2 + 4, "idle", 12, "middle", paint="muted"
            )
        self._draw_done(canvas, back_at, height)
        return canvas

    def _draw_line(self, canvas: Canvas, unit: float, height: float) -> None:
        if not self.line:
            canvas.text(LINE_WIDTH / 2, height / 2 + 4, "nobody", 12, "middle", paint="muted")
        x = LINE_WIDTH - 10 - CELL_WIDTH
        for number, rows in self.line[:IN_LINE_AT_MOST]:
            self._block(canvas, x, HEAD + 4, unit, number, rows, WAITING)
            x -= CELL_WIDTH + 4
        if len(self.line) > IN_LINE_AT_MOST:
            canvas.text(
                LINE_WIDTH - 10,
                17,
                f"and {len(self.line) - IN_LINE_AT_MOST} more",
                11,
                "end",
                paint="muted",
            )

    def _draw_batch(
        self, canvas: Canvas, x: float, unit: float, number: int, members: Sequence[Member]
    ) -> None:
        y = HEAD + 4
        for request, rows in members:
            self._block(canvas, x, y, unit, request, rows, RUNNING)
            y += unit * rows
        canvas.text(x + CELL_WIDTH / 2, y + 14, f"batch {number}", 10.5, "middle", paint="muted")

    def _draw_done(self, canvas: Canvas, left: float, height: float) -> None:
        """The latest first, chips in lines."""
        x, y = left + 10, HEAD + 4
        for n, (number, outcome) in enumerate(reversed(self.ended)):
            words = str(number) if outcome == "answered" else f"{number} {SHORT[outcome]}"
            width = text_width(words, 10.5) + 14
            if x + width > left + BACK_WIDTH - 6:
                x, y = left + 10, y + 23
            if n == BACK_AT_MOST or y + 20 > height:
                canvas.text(
                    left + BACK_WIDTH - 10,
                    17,
                    f"and {len(self.ended) - n} more",
                    11,
                    "end",
                    paint="muted",
                )
                break
            role = OUTCOMES[outcome][0]
            canvas.rect(
                x,
                y,
                width,
                19,
                f"{role}-soft",
                "ready" if number in self.fresh else role,
                5,
                self._width(number),
            )
            canvas.text(x + 7, y + 13, words, 10.5)
            x += width + 5

    def _block(
        self, canvas: Canvas, x: float, y: float, unit: float, number: int, rows: int, role: str
    ) -> None:
        """A request: its rows, one below the other."""
        tip = f"request {number}, {plural(rows, 'row')}"
        box = canvas.rect(x, y, CELL_WIDTH, unit * rows, f"{role}-soft", role, 2, tip=tip)
        if unit >= 4:
            for n in range(1, rows):
                canvas.line([(x, y + n * unit), (x + 6, y + n * unit)], role, 0.7)
                canvas.line(
                    [(x + CELL_WIDTH - 6, y + n * unit), (x + CELL_WIDTH, y + n * unit)], role, 0.7
                )
        if unit * rows >= 10:
            canvas.label(box, str(number), 11)
        if number in self.fresh:
            canvas.rect(x, y, CELL_WIDTH, unit * rows, None, "ready", 2, 2.2)

    def _width(self, number: int) -> float:
        return 2.2 if number in self.fresh else 1


def batching_steps(recording: Any, limit: int = STEPS_AT_MOST) -> LeanStepper:
    """The first `limit` moments of a batcher's recorder, one picture each.

    Raises TypeError for something without events, ValueError when nothing was recorded.
    """
    whole = scene(events_of(recording, "viz.batching_steps"), at_most=10**9)
    if not whole.moments:
        raise ValueError(
            corrected(
                "nothing was recorded: the recorder has to be there before the requests",
                "submit(x); batcher.recorder = Recorder()",
                "batcher.recorder = Recorder(); submit(x)",
            )
        )
    frames = list(states(whole))
    rest = len(frames) - limit
    title = "a batcher's line" + (
        f" (the first {limit} moments; {rest} more not shown)" if rest > 0 else ""
    )
    shown = frames[:limit]
    tallest = max([1, *(b.rows for b in whole.batches), *(a.rows for a in whole.requests)])
    abreast = max(len(q.work) for _, q in shown)
    for _, q in shown:
        q.tallest, q.abreast = tallest, max(abreast, 1)
    return LeanStepper(shown, title)


def states(whole: Batching) -> Iterator[tuple[str, Queue]]:
    rows = {a.number: a.rows for a in whole.requests}
    batches = {b.number: b.members for b in whole.batches}
    line: list[Member] = []
    work: dict[int, list[Member]] = {}
    ended: list[tuple[int, str]] = []
    for moment in whole.moments:
        who = set(moment.requests)
        if moment.kind == "arrived":
            line = [*line, (moment.requests[0], rows[moment.requests[0]])]
        else:
            line = [member for member in line if member[0] not in who]
        if moment.kind == "started" and moment.batch is not None:
            work = {**work, moment.batch: batches[moment.batch]}
        elif moment.kind == "finished":
            work = {b: members for b, members in work.items() if b != moment.batch}
            ended = [*ended, *((n, "answered") for n in moment.requests)]
        elif moment.kind != "arrived":
            ended = [*ended, *((n, moment.kind) for n in moment.requests)]
        yield caption(moment, rows), Queue(line, work, ended, who)


def caption(moment: Moment, rows: dict[int, int]) -> str:
    """ "request 3 arrives, with 2 rows", "batch 1 starts: requests 3 and 4"."""
    who = and_list([str(n) for n in moment.requests])
    who = f"request {who}" if len(moment.requests) == 1 else f"requests {who}"
    match moment.kind:
        case "arrived":
            return f"{who} arrives, with {plural(rows[moment.requests[0]], 'row')}"
        case "started":
            return f"batch {moment.batch} starts: {who}"
        case "finished":
            return (
                f"batch {moment.batch} is done: {who} "
                f"{'has' if len(moment.requests) == 1 else 'have'} an answer"
            )
        case "refused":
            return f"{who} is refused: the line is full"
        case "expired":
            return f"{who} is too late: the deadline has passed, and nothing is computed"
    return f"{who} gives up and leaves the line"
