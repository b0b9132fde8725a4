"""JupyterHub's configuration for one classroom on one machine. `make hub` runs it; what it is told
is in `HUB_*` variables.

Everyone logs in with a shared password; instructors with one of their own, as administrators. Every
server is a process of the user who runs the hub: that keeps students from each other's pages, not
from each other's files. For a room of people who trust each other that is enough; for others see
README.md.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workshop.hub import spawner
from workshop.hub.classroom import from_environment

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  (JupyterHub gives it to this file)
room = from_environment().checked()
MIB = 2**20

# Who comes in: with HUB_PASSWORD any name of `students`, or any at all; instructors only with
# HUB_ADMIN_PASSWORD.
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = room.password
c.SharedPasswordAuthenticator.admin_password = room.admin_password
c.Authenticator.admin_users = set(room.instructors)
if room.students:
    c.Authenticator.allowed_users = set(room.students)
else:
    c.Authenticator.allow_all = True
# it becomes a folder's name, and nbgrader's student id
c.Authenticator.username_pattern = r"[a-z0-9][a-z0-9_-]{0,31}"

# Where: one address for the room; the hub and the proxy's own interface stay on the loopback
# address.
c.JupyterHub.bind_url = room.url
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{room.hub_port}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{room.proxy_port}"
c.ConfigurableHTTPProxy.auth_token = secrets.token_hex(32)
c.ConfigurableHTTPProxy.command = shlex.split(os.environ.get("HUB_PROXY", "")) or [
    sys.executable,
    "-m",
    "workshop.hub.proxy",
]
c.ConfigurableHTTPProxy.pid_file = str(room.folder / "proxy.pid")
c.JupyterHub.db_url = f"sqlite:///{room.folder / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(room.folder / "cookie_secret")
c.JupyterHub.cleanup_servers = True  # with the hub, all servers end

# Servers. `starting_at_once` of them start; who comes later sees how many are before. So no limit
# that answers 429 is needed.
spawner.ClassroomSpawner.turns = asyncio.Semaphore(room.starting_at_once)
c.JupyterHub.spawner_class = spawner.ClassroomSpawner
c.JupyterHub.concurrent_spawn_limit = 0
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.pre_spawn_hook = partial(spawner.prepare, room=room)
c.Spawner.env_keep = ["LANG", "LC_ALL"]  # no student's process sees the passwords
c.Spawner.mem_limit = room.memory_limit * MIB
c.Spawner.notebook_dir = "~"
c.Spawner.start_timeout = 900  # one's turn may come late
c.Spawner.http_timeout = 120
c.JupyterHub.log_level = os.environ.get("HUB_LOG_LEVEL", "INFO")
