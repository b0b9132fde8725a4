"""A student's server: a process of the user who runs the hub, in a home of its own, with a limit to
its memory.

JupyterHub's SimpleLocalProcessSpawner states a limit and enforces none. Here the system enforces
it: a process that asks for more gets none, so that Python raises MemoryError in that student's
cell, and the room's machine does not begin to swap.

When a whole class logs in at once, servers take turns to start. Hubs usually limit this with
`concurrent_spawn_limit`, past which a student sees an error, 429 "Too many users trying to log in
right now", and has to try again; here the page waits, says how many are before, and goes on by
itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from jupyterhub.spawner import SimpleLocalProcessSpawner
from jupyterhub.utils import exponential_backoff

from tools.notebook_files import BUILD, kernel_environment
from workshop.hub.classroom import Classroom
from workshop.hub.handout import hand_out

SHARED_CODE = os.environ.get("INTERNALS_CACHE_DIR") or str(BUILD / "machine_code")


class ClassroomSpawner(SimpleLocalProcessSpawner):
    """Starts servers in turn; limits each process to `mem_limit` bytes of data: its heap, and what
    it maps for itself.
    """

    turns: asyncio.Semaphore  # of the whole class, set by the configuration
    waiting: list[ClassroomSpawner] = []

    async def start(self) -> Any:
        """Raises TimeoutError if the server does not answer after its turn came."""
        self.waiting.append(self)
        try:
            await self.turns.acquire()
        finally:
            self.waiting.remove(self)
        try:
            address = await super().start()
            await exponential_backoff(
                self.answers, f"the server of {self.user.name} does not answer", timeout=120
            )
            return address
        finally:
            self.turns.release()

    async def answers(self) -> bool:
        """Whether the server listens. Raises RuntimeError if it ended."""
        if (status := await self.poll()) is not None:
            raise RuntimeError(
                f"the server of {self.user.name} ended with status {status} before it listened"
            )
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """What the student's page shows meanwhile."""
        while self in self.waiting:
            before = self.waiting.index(self)
            yield {
                "progress": 10,
                "message": f"{before} start before you" if before else "You are next",
            }
            await asyncio.sleep(2)
        yield {"progress": 50, "message": "Your server starts"}

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        enter_home, limit = super().make_preexec_fn(name), self.mem_limit

        def before_the_server_runs() -> None:
            enter_home()
            if limit and sys.platform.startswith("linux"):
                import resource

                _, most = resource.getrlimit(resource.RLIMIT_DATA)
                resource.setrlimit(resource.RLIMIT_DATA, (limit, most))

        return before_the_server_runs


def environment_of(room: Classroom, home: Path) -> dict[str, str]:
    """The variables of a student's server and kernels: those of every run of the notebooks, with
    folders of the student's own.

    Compiled code is looked for in the student's own folder, then in the project's, which `make
    tour` fills. So nobody waits for what was compiled before, and nobody's kernel runs what another
    student's has left.
    """
    cache = home / ".cache"
    return {
        **kernel_environment(),
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "IPYTHONDIR": str(home / ".ipython"),
        "NUMBA_CACHE_DIR": str(cache / "numba"),
        "INTERNALS_CACHE_DIR": os.pathsep.join([str(cache / "internals"), SHARED_CODE]),
        "JUPYTER_CONFIG_PATH": str(room.settings),
        "NBGRADER_EXCHANGE": str(room.exchange),
        "MPLCONFIGDIR": str(cache / "matplotlib"),
        "PATH": os.pathsep.join(
            [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        ),
    }


async def prepare(spawner: SimpleLocalProcessSpawner, room: Classroom) -> None:
    """Before a server starts: its home, in another thread, because the hub goes on answering others
    meanwhile.
    """
    home = room.homes / spawner.user.name
    spawner.home_dir = str(home)
    spawner.environment = {**spawner.environment, **environment_of(room, home)}
    spawner.args = server_arguments(room, instructor=spawner.user.name in room.instructors)
    given = await asyncio.to_thread(hand_out, room.template, room.sources, home)
    if given:
        spawner.log.info("%s was given %d files", spawner.user.name, len(given))


def server_arguments(room: Classroom, instructor: bool) -> list[str]:
    """The command line of a server. What a student does not need is not loaded: nbgrader's parts
    cost 36 MiB each student.
    """
    graded, role = bool(room.course), "instructor" if instructor else "student"
    extensions = {
        "jupyter_lsp": False,
        "notebook": False,
        "nbgrader.server_extensions.formgrader": graded and instructor,
        "nbgrader.server_extensions.course_list": False,
        "nbgrader.server_extensions.assignment_list": graded,
        "nbgrader.server_extensions.validate_assignment": graded,
    }
    idle = room.idle_minutes * 60
    return [
        f"--ServerApp.jpserver_extensions={extensions}",
        f"--LabApp.app_settings_dir={room.settings / role}",
        "--LabApp.extension_manager=readonly",
        "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
        f"--MappingKernelManager.cull_idle_timeout={idle}",
        "--MappingKernelManager.cull_connected=True",  # a page that is left open keeps no kernel
        f"--ServerApp.shutdown_no_activity_timeout={2 * idle}",
        "--ServerApp.log_level=WARN",
        *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
    ]
