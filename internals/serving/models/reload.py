"""Notices that files have changed, and that they are complete.

    await watch(repository, seconds=2.0)      look every two seconds, until cancelled
    reload_on_hangup(repository)              `kill -HUP`: look at once

The proper way to replace a model is to write a new file beside it and rename that: the new file
appears complete. A copy over the old file, or over a network, takes a while, and a look in between
sees a part of the file. So a change counts only when two looks in a row see the same stamp (time of
change, size, inode), and a missing file only when two looks miss it. A file that is loaded while it
is written to has wrong checksums, or another stamp afterwards, and is tried again.

With the signal, the operator says that all files are complete: they are loaded at once, and those
that failed before are tried again.

A look is a `stat` of each file. It also works on network file systems, where notifications
(inotify) do not.

Mirrors Triton's `--model-control-mode=poll` with `--repository-poll-secs`, and the hang-up signal
of nginx.

How the real one differs: Triton compares only times of change, and its documentation warns that a
part of a model may be loaded while it is copied; TorchServe does not look at files, but has a
management API.
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
    """Compares the files at each `look` with those at the look before."""

    def __init__(self, repository: ModelRepository) -> None:
        self.repository = repository
        self.before: dict[Key, Stamp] = {}

    async def look(self) -> None:
        """Loads files that are new or changed and the same as at the look before, and drops those
        that were missing at both.
        """
        now = await self.repository.scan()
        settled, unsure = compare(self.before, now)
        self.before = now
        await self.repository.refresh(settled, keep=unsure, retry=False)


def compare(before: Mapping[K, S], now: Mapping[K, S]) -> tuple[dict[K, S], set[K]]:
    """The files that both looks saw with the same stamp, and the keys of all others, which may
    still be changing.
    """
    settled = {key: stamp for key, stamp in now.items() if before.get(key) == stamp}
    return settled, (before.keys() | now.keys()) - settled.keys()


async def watch(repository: ModelRepository, seconds: float) -> None:
    """Looks every `seconds` until cancelled. A folder that cannot be read is reported once, until
    it can be read again.
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
    """Makes SIGHUP look at the files at once. Only for the event loop of the main thread; does
    nothing on systems without the signal.
    """
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None:  # Windows
        return
    running: set[asyncio.Task[None]] = set()  # the loop itself keeps only weak references

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
