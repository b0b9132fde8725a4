"""`make test-gpu`: the tests of the CUDA backend, on a real GPU instead of the simulated one.

They run in pieces: after ten minutes it stops, and called again it goes on with the files that are
left; `--again` begins anew, as does another commit. Each file has a process of its own, as many at
a time as there are cores: a kernel that fails an assertion makes its whole process useless. What a
process compiles the others find on disk (`internals/cuda/cubins.py`).

Other arguments are passed on to pytest: `make test-gpu ARGS="-k matmul"`. Without a GPU nothing is
run, and the reason is told.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from internals.cuda import backend
from tools.notebook_files import BUILD, ROOT
from tools.test import apart, print_skips, read_results

NO_GPU = """\
test-gpu: there is no GPU to test on: {reason}.
The same tests run on the simulated device with: make test ARGS=tests/cuda"""
RESULTS = BUILD / "test-gpu"
LEFT = 3  # the exit status when files are left
NO_FAILURE_OF_PYTEST = (0, 1, 5)  # all passed, some failed, nothing to run


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.test_gpu", allow_abbrev=False)
    parser.add_argument(
        "--again", action="store_true", help="run all files, not only those that are left"
    )
    parser.add_argument("--minutes", type=float, default=9.5, help="how long this piece may take")
    options, arguments = parser.parse_known_args(arguments)
    if reason := missing():
        print(NO_GPU.format(reason=reason), file=sys.stderr)
        return 1
    properties = backend.driver().properties(0)
    print(f"test-gpu: {properties.name}, compute capability {properties.major}.{properties.minor}")
    print(
        "test-gpu: tests of the simulated device and of failing kernels run on the simulated one",
        flush=True,
    )
    paths, rest = apart(arguments)
    begin([commit(), *arguments], options.again)
    files = [file for path in paths or ["tests/cuda"] for file in files_of(path)]
    run(files, rest, time.monotonic() + 60 * options.minutes)
    return report(files)


def begin(what: list[str], again: bool) -> None:
    """Keep the results of earlier pieces if they are of the same thing."""
    about = RESULTS / "about"
    if again or not about.exists() or json.loads(about.read_text()) != what:
        shutil.rmtree(RESULTS, ignore_errors=True)
        RESULTS.mkdir(parents=True)
        about.write_text(json.dumps(what))


def run(files: list[str], arguments: list[str], deadline: float) -> None:
    """Run those that have no result yet, until the deadline; what is not over then leaves none."""
    wanted = [file for file in files if not result_of(file).exists()]
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while (wanted or running) and time.monotonic() < deadline:
            while wanted and len(running) < (os.cpu_count() or 1):
                file = wanted.pop(0)
                running[file] = start(file, arguments)
            time.sleep(0.1)
            for file in [file for file, process in running.items() if process.poll() is not None]:
                end(file, running.pop(file).returncode)
                print(
                    f"{len(files) - len(wanted) - len(running)} of {len(files)}: {file}", flush=True
                )
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def start(file: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    variables = {**os.environ, backend.VARIABLE: "gpu"}
    plugins = [
        "-p",
        "tools.test_worker",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:nbval",
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *plugins,
        f"--results={result_of(file, 'part')}",
        file,
        *arguments,
    ]
    with result_of(file, "log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT
        )


def end(file: str, status: int) -> None:
    """Keep the result. A process that ended as pytest does not is a failure, with what it said."""
    part = result_of(file, "part")
    if status not in NO_FAILURE_OF_PYTEST:
        text = result_of(file, "log").read_text(errors="replace")[-5000:]
        line = {
            "test": file,
            "outcome": "failed",
            "text": f"pytest ended with status {status}:\n{text}",
        }
        with part.open("a") as results:
            results.write(json.dumps(line) + "\n")
    part.rename(result_of(file))


def report(files: list[str]) -> int:
    """What became of all files, those of earlier pieces too."""
    done = [result_of(file) for file in files if result_of(file).exists()]
    tally, _ = read_results(done)
    print_skips(tally.skipped)
    if tally.failed:
        print("failed: " + ", ".join(tally.failed))
    print(
        f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped",
        flush=True,
    )
    if len(done) < len(files):
        left = len(files) - len(done)
        print(f"test-gpu: {left} of {len(files)} files are left: run it again for them")
        return LEFT
    (RESULTS / "about").unlink()  # the next run is a new one
    return 1 if tally.failed else 0


def files_of(path: str) -> list[str]:
    folder = ROOT / path
    found = sorted(folder.rglob("test_*.py")) if folder.is_dir() else [folder]
    return [str(file.relative_to(ROOT)) if folder.is_dir() else path for file in found]


def result_of(file: str, ending: str = "jsonl") -> Path:
    return RESULTS / f"{file.replace(os.sep, '.').replace('/', '.').replace(':', '.')}.{ending}"


def commit() -> str:
    asked = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


def missing() -> str:
    """Why there is no GPU; empty if there is one."""
    from internals.cuda.gpu_driver import availability

    found = availability()
    return "" if found.devices else found.reason


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
