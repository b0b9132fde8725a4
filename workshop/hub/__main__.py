"""`make hub`: a hub for one class on this machine, until Ctrl-C. README.md in this folder says how
a class is held with it.

    make hub                                                  this machine only: to try it
    HUB_PASSWORD=... make hub ARGS="--ip 0.0.0.0"             for the room
    HUB_PASSWORD=... make hub ARGS="--ip 0.0.0.0 --students ada,grace,alan --course internals"

Passwords are read from HUB_PASSWORD and HUB_ADMIN_PASSWORD: what stands on a command line, everyone
on the machine can read.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workshop.hub import preparing
from workshop.hub.classroom import (
    Classroom,
    ClassroomError,
    free_ports,
    from_environment,
    is_loopback,
    names,
)

CONFIGURATION = Path(__file__).parent / "jupyterhub_config.py"


def main(arguments: Sequence[str] | None = None) -> int:
    if os.name == "nt" or importlib.util.find_spec("jupyterhub") is None:
        print(
            "hub: needs JupyterHub (`make workshop`), which runs on Linux and macOS",
            file=sys.stderr,
        )
        return 2
    try:
        room = asked_for(from_environment(), arguments)
        print(f"hub: preparing {room.folder}", flush=True)
        preparing.prepare(room)
    except (ClassroomError, OSError) as error:
        print(f"hub: {error}", file=sys.stderr)
        return 2
    print(announcement(room, preparing.free_mib()), flush=True)
    # The hub takes this process's place, and so its signals: Ctrl-C ends it with all servers.
    command = [sys.executable, "-m", "jupyterhub", "-f", str(CONFIGURATION)]
    os.execve(sys.executable, command, {**os.environ, **room.environment()})


def asked_for(room: Classroom, arguments: Sequence[str] | None) -> Classroom:
    """The classroom that the command line asks for. Raises ClassroomError if it would not be
    safe.
    """
    parser = argparse.ArgumentParser(
        prog="python -m workshop.hub", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument(
        "--ip",
        default=room.ip,
        help="where to listen: 0.0.0.0 for the room; default: this machine only",
    )
    parser.add_argument("--port", type=int, default=room.port)
    parser.add_argument(
        "--students", type=names, default=room.students, help="who may come in; default: any name"
    )
    parser.add_argument(
        "--instructors", type=names, default=room.instructors, help="administrators, who can grade"
    )
    parser.add_argument(
        "--course", default=room.course, help="with nbgrader, under this name; default: without"
    )
    parser.add_argument(
        "--memory-limit",
        type=int,
        default=room.memory_limit,
        help="MiB a process of a student may have",
    )
    parser.add_argument(
        "--folder", type=Path, default=room.folder, help="where homes and settings are"
    )
    options = parser.parse_args(arguments)
    room = replace(room, **{**vars(options), "folder": options.folder.resolve()})
    if not room.password and is_loopback(room.ip):
        room = replace(room, password=secrets.token_urlsafe(9))
    if not room.admin_password:
        room = replace(room, admin_password=secrets.token_urlsafe(24))
    if not room.hub_port:
        hub_port, proxy_port = free_ports(2)
        room = replace(room, hub_port=hub_port, proxy_port=proxy_port)
    return room.checked()


def announcement(room: Classroom, free: int) -> str:
    """What an instructor writes on the board, and what the machine can bear."""
    limits = (
        f"a process may have {room.memory_limit} MiB, an idle kernel ends after "
        f"{room.idle_minutes} minutes"
    )
    each, many = preparing.student_mib(room), preparing.students_that_fit(room, free)
    everywhere = room.ip in ("", "*", "0.0.0.0", "::")
    lines = {
        "address": f"http://{own_address() if everywhere else room.ip}:{room.port}",
        "students": f"{', '.join(room.students) or 'any name'}; password {room.password}",
        "instructors": f"{', '.join(room.instructors)}; password {room.admin_password}",
        "memory": (
            f"{free / 1024:.1f} GiB are free: about {many} students with one open notebook each "
            f"({each} MiB)"
        ),
        "limits": limits,
        "course": room.course or "none (--course NAME adds nbgrader)",
        "files": f"{room.homes} (one folder for each student; nothing in them is overwritten)",
    }
    return "\n".join(
        [*(f"hub: {name:12} {text}" for name, text in lines.items()), "hub: stop it with Ctrl-C"]
    )


def own_address() -> str:
    """This machine's address in its network, as far as it can tell: no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


if __name__ == "__main__":
    sys.exit(main())
