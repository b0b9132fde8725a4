"""A model's file tried in a process of its own, before this one loads it (`--try-models`).

Nothing in a file is executed by Python; but an archive is a program, which runs when it is loaded
and warmed up. One that loops for ever, asks for all memory, or finds a mistake in an operator would
take the server with it. So the same bytes are first loaded and warmed up by another process, which
may die of them. What comes back is its exit status, and why.

    the server                              the process
    bytes, and the settings that matter  →  ServedModel(...): reads, compiles, runs on zeros
    looks at its time and its memory
    loads the bytes itself               ←  status 0

It is a trial, no cage: the process has the rights of the server's user, and what a model does with
later requests is not tried.

Mirrors `--model-load-thread-count` and instance processes of Triton's Python backend in what may
fail without the server.

How the real one differs: Triton loads TorchScript into its own process, and ends with a model that
crashes; TorchServe runs each model in workers that are processes, all the time.
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

LOOK = 0.05  # seconds between looks at the process
FAILED = 3  # its status when the model raised
LEEWAY = 10  # seconds after which it ends itself, should the server be gone
MATTER = ("inputs", "optimize", "max_batch", "threads")  # fields of the settings
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
    """Loads the bytes of a model's file in another process, and lets it go.

    Raises RuntimeError, which says why, when that process died, had not finished after
    `try_seconds`, or took more memory than `try_bytes`; or when `given_up` says that nobody waits
    for it.
    """
    asked = {name: getattr(settings, name) for name in MATTER}
    described = json.dumps(
        [file_name, *key, asked, settings.model_dir is not None, settings.try_seconds]
    )
    command = [sys.executable, "-c", PROGRAM.format(path=sys.path), described]
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
    """Raises RuntimeError when the process need not go on."""
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
    """The bytes that a process has in the machine's memory; 0 where the system does not tell
    (`/proc` is Linux's).
    """
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def ending(status: int) -> str:
    """ "SIGSEGV", or "status 1"."""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"status {status}"


def main() -> None:
    """The other process: what it says is the reason of a failure, and what a model prints goes
    nowhere.
    """
    file_name, name, version, asked, of_folder, seconds = json.loads(sys.argv[1])
    if hasattr(signal, "alarm"):
        signal.alarm(int(seconds) + LEEWAY)
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
