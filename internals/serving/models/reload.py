"""Noticing that files have changed, and that somebody is not still writing them.

    await watch(repository, seconds=2.0)      look every two seconds, until cancelled
    reload_on_hangup(repository)              `kill -HUP`: look at once

Who replaces a model properly writes beside it and renames: the new file is there whole from one
moment to the next. Who copies over it, or over a network, writes for a while, and a look in between
sees half a file. So a change counts when two looks in a row see the same (time of change, size,
inode), and so does a file that has gone. What is loaded all the same while it is written to has the
wrong checksums, or another stamp afterwards, and is tried again.

A signal is an operator's word that all is in place: nothing is waited for, and what failed before
is tried again.

Looking is a `stat` for each file. It works on network file systems too, where notifications
(inotify) do not.

Mirrors Triton's `--model-control-mode=poll` with `--repository-poll-secs`, and the hang-up signal
as nginx takes it.

How the real one differs: Triton compares times of change only, and its documentation warns that a
model that is being copied may be loaded half; TorchServe does not look at all and is told through
its management API.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import TypeVar

from .model_file import Stamp
from .repository import ModelRepository
from .served_model import one_line
from .table import Key

K = TypeVar("K")
S = TypeVar("S")


class Watcher:
    """Looks at the files, each time it is told to."""

    def __init__(self, repository: ModelRepository) -> None:
        self.repository = repository
        self.before: dict[Key, Stamp] = {}

    async def look(self) -> None:
        """Load what has changed and come to rest since the look before, and drop what has been gone
        for two looks.
        """
        now = await self.repository.scan()
        settled, unsure = compare(self.before, now)
        self.before = now
        await self.repository.refresh(settled, keep=unsure, retry=False)


def compare(before: Mapping[K, S], now: Mapping[K, S]) -> tuple[dict[K, S], set[K]]:
    """What both looks saw alike; and all else that one of them saw, which is not to be touched
    yet.
    """
    settled = {key: stamp for key, stamp in now.items() if before.get(key) == stamp}
    return settled, (before.keys() | now.keys()) - settled.keys()


async def watch(repository: ModelRepository, seconds: float) -> None:
    """Look every so many seconds, for ever. A folder that cannot be read is reported, once until it
    can be read again.
    """
    watcher, trouble = Watcher(repository), ""
    while True:
        try:
            await watcher.look()
            trouble = ""
        except OSError as error:
            if one_line(error) != trouble:
                trouble = one_line(error)
                repository.report("watch_failed", reason=trouble)
        await asyncio.sleep(seconds)


def reload_on_hangup(repository: ModelRepository) -> None:
    """Let SIGHUP look at the files at once. For the event loop of the main thread; does nothing
    where there is no such signal.
    """
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None:  # Windows
        return
    running: set[asyncio.Task[None]] = set()

    def look() -> None:
        task = asyncio.get_running_loop().create_task(_reload(repository))
        running.add(task)
        task.add_done_callback(running.discard)

    asyncio.get_running_loop().add_signal_handler(hangup, look)


async def _reload(repository: ModelRepository) -> None:
    try:
        await repository.refresh()
    except OSError as error:
        repository.report("watch_failed", reason=one_line(error))
