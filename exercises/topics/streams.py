"""Exercises of notebook 21b: which value is read, two streams that meet again, and results that
travel home meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, table
from exercises.topics._simulated import simulated_gpu

CASES = """
def in_line(y, side):
    y.fill_(42)
    z = y + 1
    y.fill_(7)
    return z

def two_streams(y, side):
    y.fill_(42)
    with torch.cuda.stream(side):
        return y + 1

def waited_before(y, side):
    side.wait_stream(torch.cuda.current_stream())
    torch.cuda._sleep(50_000)
    y.fill_(42)
    with torch.cuda.stream(side):
        return y + 1

def going_home(y, side):
    home = torch.zeros(4, pin_memory=True)
    y.fill_(42)
    home.copy_(y, non_blocking=True)
    return home[0].item()

def pinned_source(y, side):
    source = torch.full((4,), 5.0, pin_memory=True)
    y.copy_(source, non_blocking=True)
    source.fill_(9)
    return y

def pageable_source(y, side):
    source = torch.full((4,), 5.0)
    y.copy_(source, non_blocking=True)
    source.fill_(9)
    return y"""
VALUES = {
    "in_line": 43,
    "two_streams": 1,
    "waited_before": 1,
    "going_home": 0,
    "pinned_source": 9,
    "pageable_source": 5,
}


@exercise(
    level=1,
    title="Which value is read?",
    ask="""
        `y` is a tensor of four zeros on the GPU, `side` another stream. Each function is called
        while the default stream is busy for another 50 µs. What number does it return, or what
        numbers are in the tensor that it returns, once everything is done? The check runs each of
        them on a simulated GPU.""",
    given=CASES,
    start=blank(VALUES),
    hints=(
        "Who stands in which queue? Within a stream everything keeps its order; `side` and the "
        "host stand in none of the default stream's, unless an event or a wait says so.",
        "`wait_stream` waits for what has been queued *so far*. A copy from pinned memory reads "
        "the source when its turn comes; from pageable memory the host waits for it.",
    ),
    solution=table(VALUES),
    why="Four of the six are wrong programs, and none of them raises an error.",
    mistakes=[
        Mistake(
            "What is read is what is there in the end.", table(VALUES, in_line=8), "keeps the order"
        ),
        Mistake(
            "A `with` of a stream waits for the other one.",
            table(VALUES, two_streams=43),
            "waits for nothing",
        ),
        Mistake("wait_stream waits for all that comes.", table(VALUES, waited_before=43), "so far"),
        Mistake("A CPU tensor is always ready.", table(VALUES, going_home=42), "only queued"),
        Mistake(
            "A copy takes the numbers when it is called.",
            table(VALUES, pinned_source=5),
            "when its turn comes",
        ),
        Mistake("non_blocking never waits.", table(VALUES, pageable_source=9), "pageable"),
    ],
)
def streams_1(answer: dict[str, float]) -> str:
    import internals as torch

    names: dict[str, Any] = {"torch": torch}
    exec(CASES, names)
    truth = {}
    for name in VALUES:
        with simulated_gpu():
            y, side = torch.zeros(4, device="cuda"), torch.cuda.Stream()
            torch.empty(4, pin_memory=True)
            with torch.cuda.stream(side):
                # from here on no memory is asked for, which would take time
                torch.empty(4, device="cuda")
            torch.cuda.synchronize()
            torch.cuda._sleep(50_000)
            got = names[name](y, side)
            torch.cuda.synchronize()
            truth[name] = got.tolist()[0] if isinstance(got, torch.Tensor) else got
    compare(answer, truth, why_not, "a number")
    return "work is done in the order of its queue, and the host stands in none"


def why_not(key: str, told: Any) -> str:
    if not isinstance(told, (int, float)) or isinstance(told, bool):
        return f"{key}: a number is wanted, not {told!r}"
    reasons = {
        "in_line": (
            "one stream keeps the order: the sum is done before the 7 is written, however late "
            "both are"
        ),
        "two_streams": (
            "`with torch.cuda.stream(side)` waits for nothing: side adds 1 to what is in y now, "
            "the zeros"
        ),
        "waited_before": (
            "side waits for what was queued so far, and the 42 came after: it reads the zeros"
        ),
        "going_home": (
            "the copy is only queued, behind 50 µs of work, and the host reads `home` at once: "
            "still zeros"
        ),
        "pinned_source": (
            "the copy reads the source when its turn comes; the host had written 9 by then"
        ),
        "pageable_source": (
            "from pageable memory the host waits for the copy, non_blocking or not, and writes the "
            "9 after it"
        ),
    }
    return f"{key}: not {told}: {reasons[key]}"


BOTH = """
def both(x, first, second):
    here, side = torch.cuda.current_stream(), torch.cuda.Stream()
    side.wait_stream(here)
    with torch.cuda.stream(side):
        a = first(x)
    b = second(x)
    here.wait_stream(side)
    return a + b"""


@exercise(
    level=2,
    title="Two at the same time",
    ask="""
        `first` and `second` take a tensor on the GPU, queue slow work on the current stream, and
        return a tensor. Write `both(x, first, second)`: it returns `first(x) + second(x)`, and both
        are computed at the same time. `x` may still be in the making on the current stream, and the
        caller will use the result there. The host must not wait. The check looks at the numbers and
        at the timeline.""",
    start="""
        def both(x, first, second):
            ...""",
    passes=("both",),
    hints=(
        "Two streams have to know of each other twice: when the work is shared out, and before the "
        "results are added.",
        "`side.wait_stream(here)` before anything is queued, `with torch.cuda.stream(side):` "
        "around one of the two, and `here.wait_stream(side)` before the sum.",
    ),
    solution=BOTH,
    why=(
        "Fork and join. Nothing is dropped in between, so no `record_stream` is needed: this "
        "pattern is always right."
    ),
    mistakes=[
        Mistake(
            "x is there.",
            BOTH.replace("    side.wait_stream(here)\n", ""),
            "was still in the making",
        ),
        Mistake(
            "With the end of `with` it is done.",
            BOTH.replace("    here.wait_stream(side)\n", ""),
            "before the sum",
        ),
        Mistake(
            "To be sure, wait for everything.",
            BOTH.replace("here.wait_stream(side)", "torch.cuda.synchronize()"),
            "the host",
        ),
        Mistake(
            "side may as well wait a little later.",
            """
            def both(x, first, second):
                here, side = torch.cuda.current_stream(), torch.cuda.Stream()
                b = second(x)
                side.wait_stream(here)
                with torch.cuda.stream(side):
                    a = first(x)
                here.wait_stream(side)
                return a + b""",
            "queued before it",
        ),
        Mistake(
            "A GPU does many things at once anyway.",
            """
            def both(x, first, second):
                return first(x) + second(x)""",
            "one stream",
        ),
        Mistake(
            "The result may stay where it is.",
            """
            def both(x, first, second):
                here, side = torch.cuda.current_stream(), torch.cuda.Stream()
                side.wait_stream(here)
                b = second(x)
                ready = here.record_event()
                with torch.cuda.stream(side):
                    a = first(x)
                    side.wait_event(ready)
                    return a + b""",
            "the caller",
        ),
    ],
)
def streams_2(both: Callable[..., Any]) -> str:
    import internals as torch

    def slow(microseconds: int, factor: int) -> Callable[[Any], Any]:
        def work(x: Any) -> Any:
            torch.cuda._sleep(1000 * microseconds)
            return x * factor

        return work

    def run(late: bool, first: int, second: int) -> tuple[Any, bool, Any]:
        with simulated_gpu() as driver:
            torch.cuda.Stream()
            x = torch.zeros(4, device="cuda")
            torch.cuda.synchronize()
            if late:
                torch.cuda._sleep(50_000_000)
            x.fill_(3)
            if not late:
                torch.cuda.synchronize()
            with torch.cuda.record_activity() as recording:
                begin = driver.now
                result = both(x, slow(first, 2), slow(second, 10))
                waited = driver.now - begin > 5_000_000
                if (
                    not isinstance(result, torch.Tensor)
                    or not result.is_cuda
                    or result.shape != (4,)
                ):
                    raise Wrong(
                        f"a tensor on the GPU is wanted, first(x) + second(x), not {result!r}"
                    )
                seen = (result * 1).tolist()
            return seen, waited, recording

    right = [36.0] * 4
    for first, second in ((10_000, 9_000), (9_000, 10_000)):
        seen, waited, recording = run(False, first, second)
        if seen != right:
            alone = [a for a in recording if a.name == "binary"]
            if alone and alone[0].stream != 0:
                raise Wrong(
                    f"the sum is on another stream than the caller, who reads {seen[0]:g} instead "
                    "of 36"
                )
            raise Wrong(
                f"{seen[0]:g} instead of 36: before the sum the current stream has to wait for the "
                "other one"
            )
        spins = [activity for activity in recording.of_kind("kernel") if activity.name == "spin"]
        if len(spins) != 2:
            raise Wrong(
                "first and second are to be called once each, and slow work was queued "
                f"{len(spins)} times"
            )
        overlap = min(a.end_ns for a in spins) - max(a.start_ns for a in spins)
        if overlap < 8_000_000:
            if len({activity.stream for activity in spins}) == 1:
                raise Wrong("both are in one stream, which works them off one after the other")
            if waited:
                raise Wrong("one began when the other was over: the host waits for it")
            raise Wrong(
                "one began when the other was over: a wait covers all that was queued before it, "
                "the slow work too"
            )
        if waited:
            raise Wrong(
                "the host has waited: when `both` returns, the work is to be queued, not done"
            )
    seen, waited, _ = run(True, 1_000, 900)
    if seen != right:
        raise Wrong(
            "x was still in the making on the current stream, and the other one did not wait: "
            f"{seen[0]:g} instead of 36"
        )
    if waited:
        raise Wrong("the host has waited for x: let the other stream wait, not the host")
    return "forked, joined, and the host was never stopped"


DRAIN = """
def drain(compute, consume, n, size):
    here, loading = torch.cuda.current_stream(), torch.cuda.Stream()
    home = [torch.empty(size, pin_memory=True) for _ in range(2)]
    arrived = [torch.cuda.Event() for _ in range(2)]
    for k in range(n + 1):
        if k < n:
            result = compute(k)
            loading.wait_stream(here)
            with torch.cuda.stream(loading):
                home[k % 2].copy_(result, non_blocking=True)
                arrived[k % 2].record()
        if k > 0:
            arrived[(k - 1) % 2].synchronize()
            consume(k - 1, home[(k - 1) % 2])"""


@exercise(
    level=3,
    title="A pipeline that goes home",
    ask="""
        Results have to come from the GPU to the host, one after the other. `compute(k)` queues 160
        µs of work on the current stream and returns a tensor of `size` floats on the GPU. A copy
        takes 161 µs from the GPU to pinned memory. `consume(k, numbers)` keeps the host busy for
        120 µs with a CPU tensor. Write `drain(compute, consume, n, size)`, which does so for k = 0
        to n - 1, in this order. While the GPU computes one result, an earlier one is on the bus,
        and the host is busy with a still earlier one.

        The check runs it on a simulated GPU: 8 results one by one take 3.5 ms; 2.1 ms or less are
        wanted.""",
    start="""
        def drain(compute, consume, n, size):
            ...""",
    passes=("drain",),
    hints=(
        "It is the pipeline of section 5, turned round. A stream for the copies, two pinned "
        "buffers in turn, an event for each. Who has to wait for whom, where?",
        "In round k: queue compute(k), let the copying stream wait for it, queue the copy and "
        "record the event. Only then wait for the event of k - 1, and consume that. One round more "
        "is needed than there are results.",
    ),
    solution=DRAIN,
    why=(
        "`result` lives until the next one is there; whoever drops it earlier needs "
        "`result.record_stream(loading)`. With three buffers, consuming k - 2, the bus is never "
        "idle: 1.6 ms."
    ),
    mistakes=[
        Mistake(
            "`cpu()` is how a result comes home.",
            """
            def drain(compute, consume, n, size):
                for k in range(n):
                    consume(k, compute(k).cpu())""",
            "at the same time",
        ),
        Mistake(
            "A CPU tensor is ready when it is there.",
            DRAIN.replace("            arrived[(k - 1) % 2].synchronize()\n", ""),
            "has not arrived",
        ),
        Mistake(
            "The copy comes after the kernel, as it is queued after it.",
            DRAIN.replace("            loading.wait_stream(here)\n", ""),
            "before it was computed",
        ),
        Mistake("One buffer will do.", DRAIN.replace("% 2", "% 1"), "has a later one"),
        Mistake(
            "What was queued does not need its tensor any more.",
            """
            def drain(compute, consume, n, size):
                here, loading = torch.cuda.current_stream(), torch.cuda.Stream()
                home = [torch.empty(size, pin_memory=True) for _ in range(2)]
                arrived = [torch.cuda.Event() for _ in range(2)]

                def send(k):
                    result = compute(k)
                    loading.wait_stream(here)
                    with torch.cuda.stream(loading):
                        home[k % 2].copy_(result, non_blocking=True)
                        arrived[k % 2].record()

                for k in range(n + 1):
                    if k < n:
                        send(k)
                    if k > 0:
                        arrived[(k - 1) % 2].synchronize()
                        consume(k - 1, home[(k - 1) % 2])""",
            "record_stream",
        ),
        Mistake(
            "Pinned memory and non_blocking are enough.",
            DRAIN.replace("torch.cuda.Stream()", "torch.cuda.current_stream()"),
            "a stream of their own",
        ),
        Mistake(
            "The last one comes by itself.", DRAIN.replace("range(n + 1)", "range(n)"), "consumed"
        ),
    ],
)
def streams_3(drain: Callable[..., None]) -> str:
    from exercises.topics._pipeline import drained

    for n in (0, 1):
        drained(drain, n)
    total = drained(drain, 8)
    return (
        f"8 results in {total / 1000:,.0f} µs instead of 3,500 (modelled): GPU, bus and host at "
        "work at the same time"
    )
