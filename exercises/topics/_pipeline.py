"""What `streams_3` runs a reader's pipeline on: a simulated GPU with a slow bus, and a host that
looks at what it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exercises.exercise import Wrong
from exercises.topics._simulated import simulated_gpu

SIZE = 1000  # floats, which take 160 µs at 25 bytes in a microsecond
COMPUTE, CONSUME = 160_000, 120_000
MOST = 2_100_000  # for eight of them


def drained(drain: Callable[..., None], n: int) -> int:
    """How long it takes for n results, in modelled nanoseconds, once all memory has been asked for.
    Raises Wrong.
    """
    import internals as torch

    with simulated_gpu(bus_rate=0.025, pageable_rate=0.02) as driver:
        wrong: list[Any] = []
        arrived: list[Any] = []
        consumed: list[int] = []
        places: list[int] = []  # where the results are on the device
        # results whose memory was another one's before they had been copied
        given_away: set[int] = set()

        def compute(k: int) -> Any:
            result = torch.empty(SIZE, device="cuda").fill_(-1)
            if k and result.data_ptr() == places[-1] and len(arrived) < k:
                given_away.add(k - 1)
            places.append(result.data_ptr())
            torch.cuda._sleep(COMPUTE)
            return result.fill_(k + 1)

        def consume(k: int, numbers: Any) -> None:
            if not isinstance(numbers, torch.Tensor) or numbers.is_cuda or numbers.shape != (SIZE,):
                got = (
                    f"one on {numbers.device}"
                    if isinstance(numbers, torch.Tensor)
                    else type(numbers).__name__
                )
                raise Wrong(f"consume takes a CPU tensor of {SIZE} floats, not {got}")
            begin, late = numbers.tolist(), len(arrived) < len(consumed) + 1
            driver.host_works(CONSUME, "consume")
            end = numbers.tolist()
            if begin != [k + 1.0] * SIZE:
                wrong.append((k, begin[0], late))
            elif end != begin:
                raise Wrong(
                    f"result {k} was overwritten while it was being consumed: its buffer has a "
                    "later one now"
                )
            consumed.append(k)

        def found(activity: Any) -> None:
            if activity.kind == "d2h":
                arrived.append(activity)

        for _ in range(2):  # the first time memory is asked for
            for list_of_it in (wrong, arrived, consumed, places):
                list_of_it.clear()
            given_away.clear()
            torch.cuda.synchronize()
            start = driver.now
            with torch.cuda.record_activity(found) as recording:
                drain(compute, consume, n, SIZE)
                total = driver.now - start
            kernels = [
                activity for activity in recording.of_kind("kernel") if activity.name == "spin"
            ]
            if wrong:
                k, number, late = wrong[0]
                raise Wrong(stale(k, number, late, given_away, kernels, arrived))
            if consumed != list(range(n)):
                raise Wrong(f"of {n} results, in order, {consumed} were consumed")
        if n > 1 and total > MOST:
            raise Wrong(f"{n} results take {total // 1000:,} µs: {too_slow(kernels, arrived)}")
        return total


def stale(
    k: int, number: float, late: bool, given_away: set[int], kernels: list[Any], arrived: list[Any]
) -> str:
    """Why a result was not the right one when it was consumed."""
    told = f"result {k} is {k + 1}s, and {number:g} was consumed"
    if late:
        return (
            f"{told}: its copy is queued, and has not arrived. The host has to wait for that copy"
        )
    if k in given_away:
        return (
            f"{told}: the tensor was dropped, and its memory given away, before it was copied. "
            "That takes record_stream"
        )
    if k < min(len(kernels), len(arrived)) and arrived[k].start_ns < kernels[k].end_ns:
        return (
            f"{told}: it was copied before it was computed. Another stream knows nothing of the "
            "kernel, unless it waits"
        )
    if number > k + 1:
        return (
            f"{told}: the buffer has a later one already. Before its turn comes again, it has to "
            "be consumed"
        )
    return f"{told}: that is what was in the buffer before"


def too_slow(kernels: list[Any], copies: list[Any]) -> str:
    """What does not happen at the same time."""
    both = sum(
        max(0, min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns))
        for a in kernels
        for b in copies
    )
    if (
        both == 0
        and len({a.stream for a in kernels} | {a.stream for a in copies}) == 1
        and gaps(kernels, copies) < CONSUME
    ):
        return "copies stand in the queue of the kernels; they need a stream of their own"
    if any("Pageable" in a.name for a in copies):
        return (
            "the copies go to pageable memory, and the host waits for each: nothing is done at the "
            "same time"
        )
    if both == 0:
        return (
            "nothing is done at the same time: while one result is computed, another could be on "
            "the bus"
        )
    return (
        "while the host consumes one result, the bus is idle. Two buffers in turn, and an event "
        "for each, prevent that"
    )


def gaps(kernels: list[Any], copies: list[Any]) -> int:
    """For how long the device has nothing to do, in the median."""
    work = sorted([*kernels, *copies], key=lambda a: a.start_ns)
    between = sorted(b.start_ns - a.end_ns for a, b in zip(work, work[1:]) if a.kind == "d2h")
    return between[len(between) // 2] if between else 0
