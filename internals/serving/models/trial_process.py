"""Tries a model's file in a process of its own, before the server loads it (`--try-models`).

Python executes nothing in a file; but an archive is a program, which runs when the model is warmed
up. A model that loops forever, allocates all memory, or triggers a bug in an operator would end the
server. So another process first loads and warms up the same bytes, and may die of them. The server
gets its exit status and the reason.

    the server                              the process
    bytes, and the settings that matter  →  ServedModel(...): reads, compiles, runs on zeros
    watches its time and memory
    loads the bytes itself               ←  status 0

This is a trial, not a sandbox: the process has the rights of the server's user, and the behaviour
of the model in later requests is not tried.

Mirrors the instance processes of Triton's Python backend, which can fail without the server.

How the real one differs: Triton loads TorchScript into its own process, and ends with a model that
crashes; TorchServe always runs each model in worker processes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic, sleep

from ..settings import Settings
from .served_model import LONGEST_MESSAGE, ServedModel, one_line

LOOK = 0.05  # seconds between checks of the process
FAILED = 3  # its exit status if the model raised an error
LEEWAY = 10  # seconds after `try_seconds` when it ends itself, in case the server is gone
MATTER = ("inputs", "optimize", "max_batch", "threads")  # the fields of the settings that it gets
PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from internals.serving.models.trial_process import main; main()"
)


def try_in_process(
    data: bytes,
    file_name: str,
    key: tuple[str, str],
    settings: Settings,
    given_up: Callable[[], bool] = lambda: False,
) -> None:
    """Loads the bytes of a model's file in another process, which then ends.

    Raises RuntimeError, with the reason, if that process died, did not finish within `try_seconds`,
    or took more memory than `try_bytes`; or if `given_up` says that the result is not needed.
    """
    asked = {name: getattr(settings, name) for name in MATTER}
    described = json.dumps(
        [file_name, *key, asked, settings.model_dir is not None, settings.try_seconds]
    )
    command = [sys.executable, "-c", PROGRAM.format(path=sys.path), described]
    # The model's process does not get the token, with which it could call the server.
    hidden = {name: value for name, value in os.environ.items() if name != "INTERNALS_SERVE_TOKEN"}
    end = monotonic() + settings.try_seconds
    with TemporaryFile() as model, TemporaryFile() as answer:
        model.write(data)
        model.seek(0)
        with subprocess.Popen(command, stdin=model, stdout=answer, env=hidden) as process:
            while process.poll() is None:
                try:
                    check(process.pid, end, settings, given_up)
                    sleep(LOOK)
                except BaseException:
                    process.kill()
                    raise
        answer.seek(0)
        said = answer.read(4 * LONGEST_MESSAGE).decode("utf-8", "replace")
    if process.returncode == FAILED:
        raise RuntimeError(said or "the model cannot be loaded")
    if process.returncode:
        raise RuntimeError(
            f"the process in which it was tried ended with {ending(process.returncode)}: it is not "
            "loaded"
        )


def check(pid: int, end: float, settings: Settings, given_up: Callable[[], bool]) -> None:
    """Raises RuntimeError if the process has to be stopped."""
    tried = "tried in a process of its own, it"
    if monotonic() > end:
        raise RuntimeError(
            f"{tried} had not finished after {settings.try_seconds:g} s (try_seconds)"
        )
    if (took := memory(pid)) > settings.try_bytes:
        raise RuntimeError(
            f"{tried} took {took:,} bytes of memory, more than {settings.try_bytes:,} (try_bytes)"
        )
    if given_up():
        raise RuntimeError("the server is shutting down")


def memory(pid: int) -> int:
    """The bytes of memory that a process uses (its resident set); 0 if unknown, as `/proc` exists
    only on Linux.
    """
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def ending(status: int) -> str:
    """The name of the signal that ended a process, "SIGSEGV", or its exit status, "status 1"."""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"status {status}"


def main() -> None:
    """Runs in the other process: loads the model, and writes the reason of a failure to its output.
    Everything that the model prints is discarded.
    """
    file_name, name, version, asked, of_folder, seconds = json.loads(sys.argv[1])
    if hasattr(signal, "alarm"):
        signal.alarm(int(seconds) + LEEWAY)
    # Descriptor 1 is the file of the answer: keep a copy, then let 1 and 2 lead nowhere.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    folder = Path() if of_folder else None
    settings = Settings(**{**asked, "inputs": tuple(asked["inputs"])}, model_dir=folder)
    import internals

    internals.set_num_threads(settings.threads)
    try:
        ServedModel(file_name, name, version, settings, data=sys.stdin.buffer.read())
    except Exception as error:  # a file can be wrong in any way
        answer.write(one_line(error))
        answer.flush()
        os._exit(FAILED)
    os._exit(0)
