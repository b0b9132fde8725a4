"""A server as an operator starts it: `python -m internals serve`, a process of its own, on ports
that are free.

with ServerProcess(folder, "--max-batch", "8") as server:
    server.grpc, server.http          where it listens
    server.resident()                 the memory it has now
    server.terminate()                SIGTERM; the status it ended with
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
LISTENING = re.compile(r"gRPC (\S+), REST http://(\S+)/v2")
START, END = 120.0, 120.0  # seconds to start and to end
# in a log: something that nobody had thought of
BAD_SIGNS = ("Traceback", "never retrieved", "RuntimeWarning")
# they would choose other matrix products than this processor's
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


class ServerProcess:
    """Serves the archives of a folder; `variables` are for its environment.

    Raises RuntimeError with the end of its log if it does not start.
    """

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        self.written = tempfile.TemporaryFile("w+")
        command = [
            sys.executable,
            "-m",
            "internals",
            "serve",
            str(folder),
            "--port",
            "0",
            "--metrics-port",
            "0",
        ]
        environment = {name: value for name, value in os.environ.items() if name not in UNSET}
        environment |= variables
        self.process = subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=self.written,
        )
        assert self.process.stdout is not None
        alarm = threading.Timer(START, self.process.kill)
        alarm.start()
        said = LISTENING.search(self.process.stdout.readline())
        alarm.cancel()
        if said is None:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"the server did not start: {self.log()[-2000:]}")
        self.grpc, self.http = said.groups()

    def resident(self) -> int:
        """Bytes of its memory that are in the machine's, 0 where the system does not tell."""
        return self._status("VmRSS")

    def peak(self) -> int:
        """The most that `resident` has been."""
        return self._status("VmHWM")

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples of this name that have these labels, from /metrics."""
        with urllib.request.urlopen(f"http://{self.http}/metrics", timeout=60) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        fitting = (line for line in lines if line.split("{")[0].split(" ")[0] == name)
        return sum(
            float(line.rpartition(" ")[2])
            for line in fitting
            if all(each in line for each in wanted)
        )

    def log(self) -> str:
        self.written.seek(0)
        return self.written.read()

    def bad_signs(self) -> list[str]:
        """Lines of the log that no operator should see."""
        return [line for line in self.log().splitlines() if any(sign in line for sign in BAD_SIGNS)]

    def alive(self) -> bool:
        return self.process.poll() is None

    def terminate(self) -> int:
        """Sends SIGTERM and waits. The status it ended with, 0 if it finished what it had begun."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.terminate()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.written.close()

    def _status(self, name: str) -> int:
        try:
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        except OSError:
            return 0
        return next(
            (int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 0
        )
