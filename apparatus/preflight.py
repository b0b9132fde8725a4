"""`python -m internals doctor --workshop`: will this laptop get through the workshop? Tried, not
guessed.

Where the doctor asks what is there, this tries what a participant will do: start JupyterLab, start
a kernel, run a cell, see a picture, compile a loop. Each trial says what it saw, or what went wrong
and the command that mends it. The last line is short enough to be mailed to the instructor; it ends
with a code of the versions, so that laptops that differ from the projector are found before Monday.

How the real one differs: PyTorch has `torch.utils.collect_env`, which prints versions for a bug
report and tries nothing.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GIB = 2**30
MEMORY_WANTED, DISK_WANTED = 1.0, 0.5  # GiB: a server, a browser's tab and two kernels; caches
PATIENCE = 120  # seconds for a cell, on a laptop that compiles for the first time

CELL = """
import numpy as np
import internals as torch
import viz
a = np.ones((2, 3))
t = torch.from_numpy(a)
viz.memory(a=a, t=t)
"""


class Failed(Exception):
    """What went wrong, in words for the participant."""


@dataclass(frozen=True)
class Trial:
    """`run` returns what it saw, or raises; `fix` is what to do then. What is not `needed` only
    warns.
    """

    name: str
    run: Callable[[], str]
    fix: str
    needed: bool = True


def preflight(trials: Sequence[Trial] | None = None) -> int:
    """Tries everything, a line each, and returns the exit status: 0 when the workshop can begin."""
    lacking = []
    trials = all_trials() if trials is None else trials
    width = max(len(trial.name) for trial in trials)
    for trial in trials:
        print(f"{trial.name:<{width}}  ", end="", flush=True)
        try:
            print(trial.run(), flush=True)
        except Exception as error:
            told = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
            print(
                f"{'FAILED' if trial.needed else 'warning'}: {told}\n{'':<{width}}  do this: "
                f"{trial.fix}",
                flush=True,
            )
            lacking += [trial.name] if trial.needed else []
    print()
    if lacking:
        print(f"NOT READY: {', '.join(lacking)}. {verdict_code()}")
        return 1
    print(f"READY. {verdict_code()}")
    return 0


def all_trials() -> list[Trial]:
    """What a participant will need, the quick things first."""
    again = (
        "make setup (or install.py of the offline bundle), then this again with .venv/bin/python"
    )
    return [
        Trial(
            "memory",
            enough_memory,
            "close other programs, or bring a machine with 4 GiB",
            needed=False,
        ),
        Trial("disk", enough_disk, "free some space, or set TMPDIR to a folder on another disk"),
        Trial("packages", same_packages, again, needed=False),
        Trial("kernel", a_picture, again),
        Trial(
            "compiler",
            a_compiled_loop,
            f"{again}; if a folder cannot be written, set INTERNALS_CACHE_DIR to one that can",
        ),
        Trial("JupyterLab", the_lab, again),
        Trial(
            "notebooks",
            the_notebooks,
            "start this in the project's folder, where `notebooks/` is",
            needed=False,
        ),
        Trial(
            "browser",
            a_browser,
            "open the address that `make lab` prints, in any browser",
            needed=False,
        ),
    ]


def verdict_code() -> str:
    """One line for the instructor: the system, the Python, and a code that two machines share if
    their packages are the same.
    """
    versions = sorted((name, installed(name) or "-") for name in locked())
    digest = hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:6]
    return (
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, code {digest}"
    )


def enough_memory() -> str:
    """For a server, a browser's tab and two kernels."""
    available = available_memory()
    if available is None:
        return "not known on this system"
    if available < MEMORY_WANTED * GIB:
        raise Failed(f"{available / GIB:.1f} GiB are free, {MEMORY_WANTED:.1f} are wanted")
    return f"{available / GIB:.1f} GiB free"


def available_memory() -> int | None:
    """In bytes; None where nobody says."""
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except ImportError:
        return None


def enough_disk() -> str:
    """For caches of compiled kernels, in the folder for temporary files."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < DISK_WANTED * GIB:
        raise Failed(f"{free / GIB:.1f} GiB are free, {DISK_WANTED:.1f} are wanted")
    return f"{free / GIB:.1f} GiB free"


def same_packages() -> str:
    """The notebooks' outputs are those of the locked versions; with others they may look different
    from the projector's.
    """
    wanted = locked()
    if not wanted:
        return "no lock file here to compare with"
    other = {
        name: have
        for name, version in wanted.items()
        if (have := installed(name)) not in (None, version)
    }
    if other:
        raise Failed(
            "not the versions of requirements.lock: "
            f"{', '.join(f'{n} {v}' for n, v in sorted(other.items()))}"
        )
    return f"{sum(installed(name) is not None for name in wanted)} as requirements.lock says"


def locked() -> dict[str, str]:
    """The versions that the project's outputs were made with, by package."""
    file = ROOT / "requirements.lock"
    return (
        dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", file.read_text(), re.M))
        if file.exists()
        else {}
    )


def installed(package: str) -> str | None:
    """The version that is here, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def a_picture() -> str:
    """Runs a cell in a kernel of its own, as a notebook would, and looks for the drawing that it
    shows.
    """
    with kernel() as run:
        shown = run(CELL)
    if "<svg" not in shown.get("text/html", ""):
        raise Failed("a cell ran, but its picture did not come")
    return "started, ran a cell, drew a picture"


def a_compiled_loop() -> str:
    """Compiles a loop as the operators on large tensors are compiled, and runs it."""
    import numpy as np

    from internals.machine_code import kernel as machine_code

    squares = np.zeros(4, np.float32)
    machine_code(square).entry("*f4")(0, 4, squares.ctypes.data)
    if squares.tolist() != [0, 1, 4, 9]:
        raise Failed(
            f"a compiled loop computed {squares.tolist()} instead of the squares of 0 to 3"
        )
    return "compiled a loop"


def square(begin, end, out):  # type: ignore[no-untyped-def]  # a kernel's arguments have no hints
    for i in range(begin, end):
        out[i] = i * i


@contextmanager
def kernel() -> Iterator[Callable[[str], dict[str, str]]]:
    """A fresh kernel; what is yielded runs a cell in it and returns what the cell shows, by MIME
    type.
    """
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(
        kernel_name="python3", startup_timeout=PATIENCE, extra_arguments=["--log-level=ERROR"]
    )

    def run(cell: str) -> dict[str, str]:
        asked = client.execute(cell)
        while True:
            message: dict[str, Any] = client.get_iopub_msg(timeout=PATIENCE)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind == "error":
                raise Failed(f"a cell stopped with {content['ename']}: {content['evalue']}")
            if kind == "execute_result":
                return dict(content["data"])
            if kind == "status" and content["execution_state"] == "idle":
                return {}

    try:
        yield run
    except Empty:
        raise Failed(f"the kernel did not answer for {PATIENCE} seconds") from None
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def the_lab() -> str:
    """Starts JupyterLab on a free port of this machine, asks it for its version, and stops it."""
    port, token = free_port(), secrets.token_hex(16)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            f"--port={port}",
            "--ServerApp.port_retries=0",
        ]
        command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
        command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        with open(Path(folder) / "log", "w+") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            try:
                return (
                    "answers (server "
                    f"{answer_of(server, f'http://127.0.0.1:{port}/api?token={token}')})"
                )
            except TimeoutError:
                log.seek(0)
                said = [line.strip() for line in log if line.strip()]
                raise Failed(
                    f"JupyterLab did not answer; it said: {' / '.join(said[-3:]) or 'nothing'}"
                ) from None
            finally:
                server.terminate()
                server.wait(timeout=30)


def answer_of(server: subprocess.Popen[bytes], address: str) -> str:
    """The server's version, as soon as it answers. Raises TimeoutError when it ends, or lets one
    wait too long.
    """
    directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        try:
            with directly.open(address, timeout=10) as answer:
                return str(json.load(answer)["version"])
        except OSError:
            time.sleep(0.2)
    raise TimeoutError


def free_port() -> int:
    """A port of this machine's own address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def the_notebooks() -> str:
    """Whether this runs beside the notebooks."""
    found = sorted((ROOT / "notebooks").glob("*.ipynb"))
    if not found:
        raise Failed("no notebooks beside the package")
    return f"{len(found)} are here"


def a_browser() -> str:
    """Whether Python can open one; JupyterLab's address can be opened by hand, too."""
    try:
        webbrowser.get()
    except webbrowser.Error:
        raise Failed("Python finds no browser") from None
    return "found"
