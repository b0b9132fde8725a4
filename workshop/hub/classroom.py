"""What one classroom is: its address, its passwords, its folders, how much memory a student has.

`python -m workshop.hub` takes these from its command line, JupyterHub's configuration from the
environment (`HUB_*`), and a test makes a classroom of its own. Safe is what one gets without
asking: only this machine reaches the hub, everyone needs a password, and a hub that others can
reach starts only with a password that a person chose.

How the real one differs: PyTorch has none. A hub for people who need protection from each other is
TLJH's, with a system user for each of them: see README.md.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from tools.notebook_files import BUILD

SHORTEST_PASSWORD = 8  # both are JupyterHub's own limits
SHORTEST_ADMIN_PASSWORD = 32


class ClassroomError(ValueError):
    """The classroom that was asked for would not be safe, or cannot be."""


@dataclass(frozen=True)
class Classroom:
    """All that the hub has to be told. `students` may be empty: then whoever has the password comes
    in, under any name.

    memory_limit is in MiB, for each process of a student: past it, Python raises MemoryError in the
    student's own cell.
    """

    folder: Path = BUILD / "hub"
    ip: str = "127.0.0.1"
    port: int = 8000
    # these two, on the loopback address, are for the hub's own processes; 0: any that are free
    hub_port: int = 0
    proxy_port: int = 0
    password: str = field(default="", repr=False)
    admin_password: str = field(default="", repr=False)
    instructors: tuple[str, ...] = ("instructor",)
    students: tuple[str, ...] = ()
    course: str = ""  # its name for nbgrader; empty: nothing is graded, and nbgrader not loaded
    memory_limit: int = 3072
    starting_at_once: int = 4
    idle_minutes: int = 60

    @property
    def homes(self) -> Path:
        """Where each student has a folder."""
        return self.folder / "homes"

    @property
    def template(self) -> Path:
        """What every new student gets a copy of."""
        return self.folder / "template"

    @property
    def sources(self) -> Path:
        """The project's sources, for all to read."""
        return self.folder / "sources"

    @property
    def url(self) -> str:
        """The address that students open, as far as this machine knows it."""
        return f"http://{self.ip}:{self.port}"

    @property
    def exchange(self) -> Path:
        """Where nbgrader hands assignments out and takes answers in."""
        return self.folder / "exchange"

    @property
    def settings(self) -> Path:
        """JupyterLab's and nbgrader's settings for everyone."""
        return self.folder / "settings"

    def checked(self) -> Classroom:
        """This classroom. Raises ClassroomError, which names the remedy, if it would let in who
        should stay outside.
        """
        if not self.password:
            where = "" if is_loopback(self.ip) else f" at {self.ip}, which others can reach,"
            raise ClassroomError(
                f"a hub{where} needs a password: set HUB_PASSWORD ({SHORTEST_PASSWORD} characters "
                "or more)"
            )
        for name, secret, shortest in (
            ("HUB_PASSWORD", self.password, SHORTEST_PASSWORD),
            ("HUB_ADMIN_PASSWORD", self.admin_password, SHORTEST_ADMIN_PASSWORD),
        ):
            if len(secret) < shortest:
                raise ClassroomError(f"{name} has {len(secret)} characters; {shortest} are needed")
        if self.password == self.admin_password:
            raise ClassroomError("HUB_ADMIN_PASSWORD is HUB_PASSWORD: every student could grade")
        if not self.instructors:
            raise ClassroomError("HUB_INSTRUCTORS is empty: nobody could hand out or collect")
        if both := set(self.students) & set(self.instructors):
            raise ClassroomError(f"{', '.join(sorted(both))}: an instructor and a student at once")
        return self

    def environment(self) -> dict[str, str]:
        """This classroom as `HUB_*` variables, of which `from_environment` makes it again."""
        return {f"HUB_{f.name.upper()}": as_text(getattr(self, f.name)) for f in fields(self)}


def from_environment(environment: Mapping[str, str] = os.environ) -> Classroom:
    """The classroom that `HUB_*` variables describe, not yet checked; what is not set is as in
    `Classroom`.

    Raises ClassroomError if a number is none.
    """
    values: dict[str, object] = {}
    for f in fields(Classroom):
        name = f"HUB_{f.name.upper()}"
        if not (text := environment.get(name)):
            continue
        if isinstance(f.default, int):
            if not text.isdecimal():
                raise ClassroomError(f"{name} is {text!r}, which is no number")
            values[f.name] = int(text)
        elif isinstance(f.default, tuple):
            values[f.name] = names(text)
        else:
            values[f.name] = Path(text).resolve() if isinstance(f.default, Path) else text
    return Classroom(**values)  # type: ignore[arg-type]


def as_text(value: object) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)


def names(text: str) -> tuple[str, ...]:
    """The names of a list with commas or spaces between them, as JupyterHub writes them: in small
    letters, each once.
    """
    return tuple(dict.fromkeys(text.lower().replace(",", " ").split()))


def is_loopback(ip: str) -> bool:
    """Whether only this machine reaches a server at this address. `""` and `*` mean all
    addresses.
    """
    if ip == "localhost":
        return True
    try:
        return ipaddress.ip_address(ip).is_loopback
    except ValueError:
        return False


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address on which nobody listens now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
