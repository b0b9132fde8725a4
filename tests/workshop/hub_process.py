"""A hub that runs for a test: on free ports of this machine, in a folder of its own, and gone
afterwards whatever happened.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from tools.notebook_files import ROOT
from workshop.hub.classroom import Classroom, free_ports

PATIENCE = 120  # seconds for a hub to start or end


@dataclass
class Hub:
    room: Classroom
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        return (self.room.folder / "hub.log").read_text(errors="replace")

    def memory(self) -> dict[str, list[float]]:
        """MiB of every process of the class, by kind. Proportional: memory that several share
        counts in parts.
        """
        found: dict[str, list[float]] = {"hub": [mib(psutil.Process(self.process.pid))]}
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error, OSError):
                line = " ".join(process.cmdline())
                kind = (
                    "server"
                    if "jupyterhub.singleuser" in line
                    else "kernel"
                    if "ipykernel" in line
                    else None
                )
                kind = kind or ("proxy" if "workshop.hub.proxy" in line else "other")
                found.setdefault(kind, []).append(mib(process))
        return found


def mib(process: psutil.Process) -> float:
    full: Any = process.memory_full_info()
    return getattr(full, "pss", full.uss) / 2**20


@contextlib.contextmanager
def running(folder: Path, command: list[str] | None = None, **changes: Any) -> Iterator[Hub]:
    """A hub for the length of a `with`. Everything that it started has ended when this returns."""
    port, hub_port, proxy_port = free_ports(3)
    room = replace(
        Classroom(), folder=folder, port=port, hub_port=hub_port, proxy_port=proxy_port,
        password=secrets.token_urlsafe(9), admin_password=secrets.token_urlsafe(32),
    )  # fmt: skip
    room = replace(room, **changes)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "hub.log").open("wb") as log:
        process = subprocess.Popen(
            command or [sys.executable, "-m", "workshop.hub"],
            cwd=ROOT, env={**os.environ, **room.environment()}, stdout=log,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    hub = Hub(room, process)
    family: list[psutil.Process] = []
    try:
        wait_for(hub)
        yield hub
    finally:
        with contextlib.suppress(psutil.Error):
            family = psutil.Process(process.pid).children(recursive=True)
        end(process, family)


def wait_for(hub: Hub) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert hub.process.poll() is None, f"the hub ended:\n{hub.log}"
        assert time.monotonic() < deadline, f"the hub does not answer:\n{hub.log}"
        with contextlib.suppress(urllib.error.URLError, OSError):
            with urllib.request.urlopen(f"{hub.room.url}/hub/api/", timeout=5):
                return
        time.sleep(0.2)


def end(process: subprocess.Popen[bytes], family: list[psutil.Process]) -> None:
    """The hub is asked to end, with everything it started; whoever does not is killed."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
    _, alive = psutil.wait_procs(family, timeout=5)
    for left in alive:
        with contextlib.suppress(psutil.Error):
            left.kill()
    if process.poll() is None:
        process.kill()
    process.wait()
