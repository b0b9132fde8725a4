"""Exercises of notebook 26: what a batch costs, how it is split, and when it starts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise


@exercise(
    level=1,
    title="Eight at once",
    ask="""
        A run of a model takes `4 + 2 * n` milliseconds for n rows. Eight requests of one row come
        at the same moment.

        - After how many milliseconds is the *last* of them answered, if each is run by itself?
        - After how many is the *first* answered then?
        - And the first, if all eight run as one batch?
        - How many rows a second can this model never exceed, however large the batch?
        - At which batch size is half of that reached?""",
    start="""
        answer = {
            "last, one by one": ...,
            "first, one by one": ...,
            "first, in a batch": ...,
            "rows a second, at most": ...,
            "half of it at": ...,
        }""",
    hints=(
        "A batch has one result, for all its rows at the same time.",
        "Throughput is n / (a + b n). What does it tend to, and when is it half of that?",
    ),
    solution="""
        answer = {
            "last, one by one": 48,
            "first, one by one": 6,
            "first, in a batch": 20,
            "rows a second, at most": 500,
            "half of it at": 2,
        }""",
    why="The first in line pays for the others: 20 ms instead of 6. The last gains 28.",
    mistakes=[
        Mistake(
            "A batch answers its first row first.",
            """
            answer = {
                "last, one by one": 48, "first, one by one": 6, "first, in a batch": 6,
                "rows a second, at most": 500, "half of it at": 2,
            }""",
            "one result, for all",
        ),
        Mistake(
            "Eight in parallel take as long as one.",
            """
            answer = {
                "last, one by one": 6, "first, one by one": 6, "first, in a batch": 6,
                "rows a second, at most": 500, "half of it at": 2,
            }""",
            "seven runs",
        ),
        Mistake(
            "Larger batches are faster without end.",
            """
            answer = {
                "last, one by one": 48, "first, one by one": 6, "first, in a batch": 20,
                "rows a second, at most": float("inf"), "half of it at": 2,
            }""",
            "each row costs 2 ms",
        ),
        Mistake(
            "The limit is where the fixed price is all there is.",
            """
            answer = {
                "last, one by one": 48, "first, one by one": 6, "first, in a batch": 20,
                "rows a second, at most": 250, "half of it at": 2,
            }""",
            "each row costs 2 ms",
        ),
        Mistake(
            "Half of the gain is at half of the batch.",
            """
            answer = {
                "last, one by one": 48, "first, one by one": 6, "first, in a batch": 20,
                "rows a second, at most": 500, "half of it at": 4,
            }""",
            "a / b",
        ),
    ],
)
def batching_1(answer: dict[str, float]) -> str:
    keys = (
        "last, one by one",
        "first, one by one",
        "first, in a batch",
        "rows a second, at most",
        "half of it at",
    )
    if not isinstance(answer, dict) or set(answer) != set(keys):
        raise Wrong("the answer is the dict above, with a number for each of its five keys")
    alone, together = (_latencies(limit) for limit in (1, 8))
    if answer[keys[0]] != alone[-1]:
        raise Wrong(
            f"not {answer[keys[0]]!r}: before the last one runs, seven runs of 6 ms have to end"
        )
    if answer[keys[1]] != alone[0]:
        raise Wrong(f"not {answer[keys[1]]!r}: nobody is before the first, and it has one row")
    if answer[keys[2]] != together[0]:
        raise Wrong(
            f"not {answer[keys[2]]!r}: a batch has one result, for all its rows at once, and takes "
            "4 + 2 * 8 ms"
        )
    if answer[keys[3]] != 500:
        raise Wrong(
            f"each row costs 2 ms, however many share the fixed 4: not {answer[keys[3]]} rows a "
            "second"
        )
    if answer[keys[4]] != 2:
        raise Wrong(
            f"n / (4 + 2 n) is half of 1 / 2 when 2 n = 4, at n = a / b; at n = {answer[keys[4]]} "
            "it is not"
        )
    return "the batcher itself was asked: the same eight requests, on a clock that jumps"


def _latencies(max_batch: int) -> list[float]:
    """What the real batcher makes of eight requests at once."""
    from apparatus.rehearsal import Arrival, rehearse

    return [
        float(t or 0) for t in rehearse([Arrival(0)] * 8, a=4, b=2, max_batch=max_batch).latencies
    ]


@exercise(
    level=2,
    title="To each their own rows",
    ask="""
        Requests of 1, 3 and 2 rows were joined with `torch.cat` and run as one. Write
        `split(output, counts)`: a list with the rows of each request, in their order, for any
        counts. Nothing is copied: each result is a view of `output`.""",
    start="""
        def split(output, counts):
            ...""",
    passes=("split",),
    hints=(
        "The rows of a request begin where those of all requests before it end.",
        "`tensor.narrow(0, start, length)` is a view; keep a running `start`.",
    ),
    solution="""
        def split(output, counts):
            found, start = [], 0
            for count in counts:
                found.append(output.narrow(0, start, count))
                start += count
            return found""",
    why=(
        "`torch.split(output, counts)` does the same. A view keeps the whole batch's memory alive "
        "while one answer is in use."
    ),
    mistakes=[
        Mistake(
            "Every request is one row.",
            """
            def split(output, counts):
                return [output[n : n + 1] for n in range(len(counts))]""",
            "has 3 rows",
        ),
        Mistake(
            "Share it out evenly.",
            """
            def split(output, counts):
                return list(output.chunk(len(counts)))""",
            "evenly",
        ),
        Mistake(
            "A request begins at the row that is its count.",
            """
            def split(output, counts):
                return [output[count : count + count] for count in counts]""",
            "begins",
        ),
        Mistake(
            "An answer should be a tensor of its own.",
            """
            def split(output, counts):
                found, start = [], 0
                for count in counts:
                    found.append(output[start : start + count].clone())
                    start += count
                return found""",
            "was copied",
        ),
        Mistake(
            "Lists of rows index as well.",
            """
            def split(output, counts):
                found, start = [], 0
                for count in counts:
                    found.append(output[list(range(start, start + count))])
                    start += count
                return found""",
            "an index that is a list copies",
        ),
    ],
)
def batching_2(split: Callable[[Any, Sequence[int]], Any]) -> str:
    for counts in ([1, 3, 2], [2, 2], [5], [1, 1, 1, 1]):
        output = torch.arange(sum(counts) * 2.0).reshape(-1, 2)
        before = torch.cpu.memory_stats()["allocation.all.allocated"]
        if (parts := split(output, counts)) is None:
            raise Wrong("split returned None: the list of parts is wanted")
        found = list(parts)
        fresh = torch.cpu.memory_stats()["allocation.all.allocated"] - before
        if len(found) != len(counts) or not all(isinstance(part, torch.Tensor) for part in found):
            raise Wrong(
                f"for counts {counts} a list of {len(counts)} tensors is wanted, not {found!r}"
            )
        start = 0
        sizes = [part.shape[0] for part in found]
        for n, (part, count) in enumerate(zip(found, counts)):
            if sizes != counts and len(set(sizes)) == 1 and sizes[0] > 1:
                raise Wrong(
                    f"the {sum(counts)} rows were shared out evenly, {sizes}; the requests have "
                    f"{counts}"
                )
            if part.tolist() and part[0].tolist() != output[start].tolist():
                raise Wrong(
                    f"request {n} of {counts} begins at row {start}: behind the rows of all before "
                    "it"
                )
            if part.shape[0] != count:
                raise Wrong(f"request {n} has {count} rows, and got {part.shape[0]}")
            if part.data_ptr() != output.data_ptr() + start * 8:
                how = (
                    "an index that is a list copies: take a slice or narrow"
                    if fresh > len(counts)
                    else "was copied"
                )
                raise Wrong(f"the rows are right, but request {n}'s part has other memory: {how}")
            start += count
    return "one run, one result, and views of it"


@exercise(
    level=3,
    title="When does a batch start?",
    ask="""
        Write the rule of a batcher. `take(waiting, now, max_batch, max_delay)` is asked whenever a
        worker is free. `waiting` is the line, the oldest first: pairs (time of arrival, rows). It
        returns how many requests start together now; 0 to wait.

        - Start when the line is *full* (as many rows as fit are there), or when the oldest has
          waited `max_delay`.
        - At most `max_batch` rows together; but a single request that has more runs alone.
        - Nobody is overtaken.

        Your rule is run on random arrivals, beside the real batcher; both have to form the same
        batches.""",
    start="""
        def take(waiting, now, max_batch, max_delay):
            ...""",
    passes=("take",),
    hints=(
        "First count how many from the front fit together. Then ask whether they may start.",
        "It is full when somebody waits who does not fit any more, or when exactly `max_batch` "
        "rows are there.",
    ),
    solution="""
        def take(waiting, now, max_batch, max_delay):
            count = rows = 0
            for _, more in waiting:
                if count and rows + more > max_batch:
                    break
                count, rows = count + 1, rows + more
            full = rows >= max_batch or count < len(waiting)
            due = bool(waiting) and now >= waiting[0][0] + max_delay
            return count if full or due else 0""",
    why=(
        "internals/serving/batching/lanes.py has this rule; the rest is about who leaves, and who "
        "is woken."
    ),
    mistakes=[
        Mistake(
            "A batch waits until it is full.",
            """
            def take(waiting, now, max_batch, max_delay):
                count = rows = 0
                for _, more in waiting:
                    if count and rows + more > max_batch:
                        break
                    count, rows = count + 1, rows + more
                return count if rows >= max_batch or count < len(waiting) else 0""",
            "for ever",
        ),
        Mistake(
            "A free worker takes whoever is there.",
            """
            def take(waiting, now, max_batch, max_delay):
                count = rows = 0
                for _, more in waiting:
                    if count and rows + more > max_batch:
                        break
                    count, rows = count + 1, rows + more
                return count""",
            "too early",
        ),
        Mistake(
            "max_batch counts requests.",
            """
            def take(waiting, now, max_batch, max_delay):
                count = min(len(waiting), max_batch)
                full = len(waiting) >= max_batch
                return count if waiting and (full or now >= waiting[0][0] + max_delay) else 0""",
            "rows in one batch",
        ),
        Mistake(
            "Everybody has to have waited max_delay.",
            """
            def take(waiting, now, max_batch, max_delay):
                count = rows = 0
                for _, more in waiting:
                    if count and rows + more > max_batch:
                        break
                    count, rows = count + 1, rows + more
                full = rows >= max_batch or count < len(waiting)
                due = bool(waiting) and now >= waiting[-1][0] + max_delay
                return count if full or due else 0""",
            "the oldest",
        ),
        Mistake(
            "What does not fit never starts.",
            """
            def take(waiting, now, max_batch, max_delay):
                count = rows = 0
                for _, more in waiting:
                    if rows + more > max_batch:
                        break
                    count, rows = count + 1, rows + more
                full = rows >= max_batch or count < len(waiting)
                due = bool(waiting) and now >= waiting[0][0] + max_delay
                return count if full or due else 0""",
            "runs alone",
        ),
    ],
)
def batching_3(take: Callable[..., int]) -> str:
    if take([(0, 9)], 5, 8, 2) != 1:
        raise Wrong(
            "a request of 9 rows, of which 8 fit, never starts: larger than max_batch runs alone"
        )
    if take([(0, 1)], 1, 8, 2) != 0:
        raise Wrong(
            "a worker took one row after 1 ms, too early: room for 7 more, and max_delay is 2"
        )
    if take([(0, 1)], 2, 8, 2) != 1:
        raise Wrong(
            "one row has waited max_delay and nobody else comes: with this rule it waits for ever"
        )
    if take([(0, 1), (1.5, 1)], 2, 8, 2) != 2:
        raise Wrong(
            "the oldest has waited max_delay, which is enough: the youngest of the two came later "
            "and goes with it"
        )
    if (count := take([(0, 3), (0, 3), (0, 3)], 5, 8, 2)) == 3:
        raise Wrong(
            "three requests of 3 rows are 9 rows in one batch of at most 8: max_batch counts rows, "
            "not requests"
        )
    if count != 2 or take([(0, 3), (0, 3), (0, 3)], 0, 8, 2) != 2:
        raise Wrong(
            "of three requests of 3 rows two fit into 8, and the third makes the line full: two "
            "start at once"
        )
    if take([(0, 4), (0, 4)], 0, 8, 2) != 2:
        raise Wrong(
            "two requests of 4 rows are 8, all that fit: the line is full, and there is nothing to "
            "wait for"
        )
    rng = random.Random(7)
    for _ in range(12):
        arrivals = sorted((rng.random() * 60, rng.choice((1, 1, 2, 3, 9))) for _ in range(12))
        real, mine = _real(arrivals, 8, 3), _with(take, arrivals, 8, 3)
        if mine != real:
            told = ", ".join(f"{rows} at {at:.1f}" for at, rows in arrivals)
            raise Wrong(f"rows arrive ({told}): the real batcher forms {real}, your rule {mine}")
    return "twelve random afternoons, and the same batches as the real one"


def _real(arrivals: list[tuple[float, int]], max_batch: int, max_delay: int) -> list[list[int]]:
    from apparatus.rehearsal import Arrival, rehearse

    story = rehearse(
        [Arrival(at, rows) for at, rows in arrivals],
        a=5,
        b=1,
        max_batch=max_batch,
        max_delay=max_delay,
    )
    batches: dict[Any, list[int]] = {}
    for event in story.recorder.events:
        if event.kind == "started":
            batches.setdefault(event.batch, []).append(event.request)
    return list(batches.values())


def _with(
    take: Callable[..., int], arrivals: list[tuple[float, int]], max_batch: int, max_delay: int
) -> list[list[int]]:
    """The same afternoon with the reader's rule, which is asked whenever something changes."""
    waiting: list[tuple[float, int, int]] = []
    batches: list[list[int]] = []
    now = free = 0.0
    coming = list(enumerate(arrivals))
    while coming or waiting:
        while coming and coming[0][1][0] <= now:
            number, (at, rows) = coming.pop(0)
            waiting.append((at, rows, number))
        count = (
            int(take([(at, rows) for at, rows, _ in waiting], now, max_batch, max_delay))
            if now >= free and waiting
            else 0
        )
        if count:
            batches.append([number for *_, number in waiting[:count]])
            free = now + 5 + sum(rows for _, rows, _ in waiting[:count])
            del waiting[:count]
        later = [
            free,
            *(at + max_delay for at, *_ in waiting[:1]),
            *(at for _, (at, _) in coming[:1]),
        ]
        if not (later := [moment for moment in later if moment > now]):
            break
        now = min(later)
    return batches
