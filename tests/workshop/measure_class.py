"""How much memory and time a class needs on this machine, as a table: `python -m
tests.workshop.measure_class 3 10 30`.

All students log in at once, start their servers, open one notebook and run it; then everyone's
processes are measured.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.workshop.hub_process import Hub, running
from tests.workshop.hub_students import Student


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition(":")[0])
    parser.add_argument("counts", nargs="+", type=int, help="numbers of students")
    parser.add_argument("--notebook", default="03_zero_copy")
    parser.add_argument("--course", default="", help="with nbgrader")
    options = parser.parse_args(arguments)
    print(
        "| students | hub and proxy | server | kernel | all together | last server after | slowest "
        "run |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for count in options.counts:
        with (
            tempfile.TemporaryDirectory() as folder,
            running(Path(folder) / "hub", course=options.course) as hub,
        ):
            print(
                asyncio.run(measured(hub, count, f"notebooks/{options.notebook}.ipynb")), flush=True
            )


async def measured(hub: Hub, count: int, notebook: str) -> str:
    """The row of a table."""
    async with contextlib.AsyncExitStack() as stack:
        students = [
            await stack.enter_async_context(Student(f"s{n:03}", hub.room.url)) for n in range(count)
        ]
        await asyncio.gather(
            *(a_lesson(student, hub.room.password, notebook) for student in students)
        )
        memory = hub.memory()
        total = sum(sum(values) for values in memory.values())
        slowest = {
            step: max(student.seconds[step] for student in students)
            for step in ("server", "notebook")
        }
    server, kernel = statistics.mean(memory["server"]), statistics.mean(memory["kernel"])
    return (
        f"| {count} | {sum(memory['hub'] + memory['proxy']):.0f} | {server:.0f} | {kernel:.0f} | "
        f"{total / 1024:.1f} GiB | {slowest['server']:.0f} s | {slowest['notebook']:.0f} s |"
    )


async def a_lesson(student: Student, password: str, notebook: str) -> None:
    assert await student.log_in(password) == 200
    await student.start_server()
    await student.run_notebook(notebook)


if __name__ == "__main__":
    main()
