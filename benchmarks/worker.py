"""`python -m benchmarks.worker TASK`: the cases of one module that use one number of threads, in a
process of their own.

TASK is a file that `__main__.py` wrote: the module, the names of its cases, the number of threads,
the seconds for each case, and the file for what was found, to which a line of JSON is added after
every case. So a crash costs one case, and nothing that one library does to the process (threads,
compilers, memory) reaches the cases of another module.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import harness, peers
from benchmarks.correctness import WrongResult
from benchmarks.harness import Case
from benchmarks.results import lines


def main(task_file: str) -> int:
    task = json.loads(Path(task_file).read_text())
    module = importlib.import_module(f"benchmarks.cases.{task['module']}")
    peers.set_threads(task["threads"])
    found = {case.name: case for case in module.cases()}
    for name in task["cases"]:
        entry = measured(found[name], task["budget"])
        with open(task["found"], "a") as file:
            file.write(json.dumps(entry) + "\n")
        if not task["quiet"]:
            print("\n".join(lines(entry)), flush=True)
    return 0


def measured(case: Case, budget: float) -> dict[str, Any]:
    """What there is to keep of a case: an entry of the results, and the seconds of all rounds under
    "seconds".
    """
    entry: dict[str, Any] = {
        "name": case.name,
        "threads": case.threads,
        "clock": case.clock,
        "unit": case.unit,
        "note": case.note,
        "unchecked": case.unchecked,
        "again": "",
        "error": None,
        "absent": {},
        "errors": {},
        "ratios": [],
        "seconds": {},
    }
    try:
        measurement = harness.run(case, budget)
    except WrongResult as wrong:
        return entry | {"error": f"wrong result: {wrong}"}
    except Exception as problem:
        said = str(problem).strip().partition("\n")[0]
        return entry | {"error": f"{type(problem).__name__}: {said}"}
    return entry | {
        "absent": measurement.absent,
        "errors": measurement.errors,
        "ratios": [asdict(ratio) | {"met": ratio.met} for ratio in harness.ratios(measurement)],
        "seconds": measurement.seconds,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
