"""What came of a scenario: what was done, what was counted, and what should not have been."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.serving import load, models
from benchmarks.serving.load import Answer, Request
from benchmarks.serving.process import ServerProcess

MiB = 1 << 20
PRODUCTS = 50  # of matrices, to see how long one takes


@dataclass
class Finding:
    """`seen` are the figures, by what they are called in the table; `wrong` is empty when all
    promises were kept.
    """

    name: str
    done: str
    seen: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def expect(self, fine: bool, what: str) -> None:
        """Notes `what` as wrong if it is not fine."""
        if not fine:
            self.wrong.append(what)

    def all_right(self, answers: list[Answer], what: str) -> None:
        """Expects every answer to be the right one."""
        bad = [answer for answer in answers if not answer.right]
        about = f": {load.statuses(bad)}, {bad[0].details}" if bad else ""
        self.expect(not bad, f"{what}: {len(bad)} of {len(answers)} were not answered right{about}")

    def healthy(self, server: ServerProcess, *idle: str) -> None:
        """Expects the server to live, to answer right, to have nobody in the queues (of these
        models), and a clean log.
        """
        self.expect(server.alive(), "the server has ended")
        if server.alive():
            self.all_right(load.run(one_client(server)), "afterwards")
            waiting = sum(
                server.metric("internals_queue_depth", **{"model": each} if each else {})
                for each in idle or ("",)
            )
            self.expect(waiting == 0, f"{waiting:.0f} requests still wait afterwards")
        signs = server.bad_signs()
        self.expect(
            not signs, f"the log has {len(signs)} lines such as: {signs[0] if signs else ''}"
        )

    def memory(self, server: ServerProcess, before: int, most: int) -> None:
        """Notes how far the server's memory grew at its peak, and expects less than `most`
        bytes.
        """
        grown = max(0, server.peak() - before)
        self.seen["memory, at most"] = f"+{grown / MiB:.0f} MiB"
        self.expect(
            grown < most, f"memory grew by {grown / MiB:.0f} MiB, expected below {most / MiB:.0f}"
        )


def one_client(server: ServerProcess, turns: int = 3) -> load.Task:
    request = models.request("double", models.numbers(7, (1, models.WIDTH)))
    return load.Task(server.grpc, server.http, [[request]], turns=turns)


def lasting(server: ServerProcess, seconds: float) -> Request:
    """A request to `slow` that takes about so long on this machine."""
    one = models.request("slow", models.numbers(0, (1, models.WIDTH)) * 0 + PRODUCTS)
    answers = load.run(load.Task(server.grpc, server.http, [[one]], turns=3))
    fastest = min(answer.ended - answer.began for answer in answers)
    return models.request(
        "slow", models.numbers(0, (1, models.WIDTH)) * 0 + max(1, int(PRODUCTS * seconds / fastest))
    )


def milliseconds(seconds: float) -> str:
    """With three digits that count."""
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"
