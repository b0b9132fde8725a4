"""The served models, which can be replaced while requests keep coming.

    entry = repository.get("mnist")          the newest version
    await entry.batcher.submit(request)

`get` is only a look-up in a dict. An entry, which is a model with its batcher, is put there when it
is complete: read, checked, compiled, and run on zeros, all in a thread beside the event loop. So a
request never gets an incomplete model, and never waits for one to load.

    trying     v1 answers   with `--try-models`: a process of its own loads it (`trial_process.py`)
    loading    v1 answers   the new one is read, compiled, warmed up
    swap                    one assignment on the event loop
    draining   v2 answers   v1 finishes its accepted requests, then it is dropped

A file that cannot be loaded changes nothing: the previous version keeps answering, and `index` and
the log have the reason.

All methods must be called in the event loop's thread. There must be no `await` between `get` and
`submit`: then the entry is the current one, and its batcher accepts the request before it drains.

Mirrors Triton's `ModelRepositoryManager` and `ModelLifeCycle`
(`core/src/model_repository_manager/`).

How the real one differs: Triton serves only the newest version unless a policy says otherwise,
loads several models at a time, and has models that consist of others (ensembles), which have to be
loaded in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..errors import Unavailable
from ..settings import Settings
from .folder import ModelFolder, check_name, check_version
from .model_file import FileIsChanging, Stamp, read_path, read_whole, stamp_of
from .served_model import ServedModel, one_line
from .table import BatcherLike, Entry, Key, ModelState, Table
from .trial_process import try_in_process


class ModelRepository:
    """The models from the folder `settings.model_dir`, and those passed to `add`. `make_batcher` is
    the engine's method.

    `report(event, **fields)`, which is `Log.event`, is called with "model_loaded", "model_failed"
    and "model_unloaded". Raises NotADirectoryError if there is no such folder.
    """

    def __init__(
        self,
        settings: Settings,
        make_batcher: Callable[[ServedModel], BatcherLike],
        report: Callable[..., Any] = lambda event, **fields: None,
    ) -> None:
        self.settings, self.make_batcher, self.report = settings, make_batcher, report
        self.folder = None if settings.model_dir is None else ModelFolder(settings.model_dir)
        self._table = Table()
        self._ready = self._table.ready
        self._paths: dict[Key, Path] = {}  # files that the operator named
        self._unloaded: set[str] = set()  # models that only `load` or `add` brings back
        self._locks: dict[str, asyncio.Lock] = {}  # name -> held to load or unload the model
        self._draining: set[asyncio.Task[None]] = set()
        self._loader = ThreadPoolExecutor(1, "internals-model-loader")
        self._closed = False

    # What the engine asks

    def get(self, name: str, version: str = "") -> Entry:
        """The entry for a request; version "" is the newest one that is ready.

        Raises ModelNotFound, which lists the existing ones, and Unavailable for a model that is
        being loaded, was unloaded or is broken.
        """
        entry = self._ready.get((name, version))
        if entry is None:
            raise self._table.why_not(name, version)
        return entry

    def index(self) -> list[ModelState]:
        """All known versions, sorted. A version that is READY also has a reason if a newer file for
        it failed.
        """
        return list(self._table.states())

    def versions(self, name: str) -> tuple[str, ...]:
        """The versions that are ready, the oldest first; () if there is none."""
        return self._table.numbers(name)

    # What there is

    async def add(self, name: str, source: object, version: str = "1") -> Entry:
        """Serves a module, compiled or not, an exported program, a function, or the file at a path
        that the operator chose.

        Raises InvalidRequest for an impossible name or version, and the errors of loading it.
        """
        check_name(name)
        check_version(version)
        key = (name, version or "1")
        async with self._lock(name):
            self._unloaded.discard(name)
            if isinstance(source, (str, Path)):
                path = self._paths[key] = Path(source)
                self._table.version(key).tried = stamp_of(path.stat()) if path.exists() else None
                return await self._install(key, lambda: self._from_file(key))
            self._table.version(key).is_file = False
            return await self._install(
                key, lambda: ServedModel.from_module(source, *key, self.settings)
            )

    async def load_all(self) -> None:
        """Loads all models in the folder. Failures are reported, and shown by `index`."""
        await self.refresh()

    async def load(self, name: str) -> None:
        """Loads new or changed versions of a model, and drops missing ones; also after `unload`.

        Raises InvalidRequest for an impossible name, ModelNotFound if there is no such model, and
        Unavailable, with the reason, if a version cannot be loaded, even if others keep answering.
        """
        check_name(name)
        found = {key: stamp for key, stamp in (await self.scan()).items() if key[0] == name}
        if not found and name not in self._table.models:
            raise self._table.no_model(name)
        self._unloaded.discard(name)
        await self._follow(name, found, retry=True)
        for state in self.index():
            if state.name == name and state.reason:
                raise Unavailable(
                    f"version {state.version} of model '{name}' is not loaded: {state.reason}"
                )
        self.get(name)

    async def unload(self, name: str) -> None:
        """Stops serving a model, which finishes its accepted requests, until the next `load`.

        Raises InvalidRequest for an impossible name, and ModelNotFound.
        """
        check_name(name)
        if name not in self._table.models:
            raise self._table.no_model(name)
        self._unloaded.add(name)
        async with self._lock(name):
            tasks = [
                self._drain(self._table.take((name, v), "unloaded"))
                for v in list(self._table.models.get(name, ()))
            ]
            self.report("model_unloaded", model=name)
        await asyncio.gather(*(asyncio.shield(task) for task in tasks if task is not None))

    async def close(self) -> None:
        """Removes all models, and waits until they have finished their accepted requests."""
        self._closed = True
        for state in self.index():
            self._drain(
                self._table.take((state.name, state.version), "the server is shutting down")
            )
        await asyncio.gather(*self._draining)
        self._loader.shutdown(wait=False, cancel_futures=True)

    # Following the files; `reload.py` decides when

    async def scan(self) -> dict[Key, Stamp]:
        """The existing files and their stamps. Raises OSError if the folder cannot be read."""
        return await asyncio.to_thread(self._scan)

    async def refresh(
        self, found: dict[Key, Stamp] | None = None, keep: Collection[Key] = (), retry: bool = True
    ) -> None:
        """Loads new or changed files, and drops the versions of missing ones.

        `found` is the result of `scan`, None to scan now; `keep` are versions that stay although
        they are not in `found`; `retry` also loads files that failed before and have not changed.
        """
        found = await self.scan() if found is None else found
        for name in sorted({name for name, _ in found} | set(self._table.models)):
            await self._follow(
                name, {key: stamp for key, stamp in found.items() if key[0] == name}, keep, retry
            )

    async def _follow(
        self, name: str, found: dict[Key, Stamp], keep: Collection[Key] = (), retry: bool = False
    ) -> None:
        """`refresh` for one model: first loads, oldest version first, then drops."""
        async with self._lock(name):
            for key in sorted(found, key=lambda key: int(key[1])):
                if self._closed or name in self._unloaded:
                    return
                known = self._table.known(key)
                if known is None or known.tried != found[key] or (retry and known.failed):
                    await self._load_file(key, found[key])
            for version, known in list(self._table.models.get(name, {}).items()):
                key = (name, version)
                if (
                    known.is_file
                    and key not in found
                    and key not in keep
                    and key not in self._paths
                ):
                    self._drain(self._table.take(key, "its file is gone"))
                    self._table.forget(key)
                    self.report(
                        "model_unloaded", model=name, version=version, reason="its file is gone"
                    )

    async def _load_file(self, key: Key, stamp: Stamp) -> None:
        """Loads and installs a file. A failure has been reported by `_install`; the stamp prevents
        a second attempt with the same file.
        """
        self._table.version(key).tried = stamp
        try:
            await self._install(key, lambda: self._from_file(key))
        except FileIsChanging:
            self._table.version(key).tried = None  # to be tried again
        except Exception:  # reported already; the others have to be loaded all the same
            pass

    async def _install(self, key: Key, make: Callable[[], ServedModel]) -> Entry:
        """Creates a model in the loader's thread, then replaces the version's entry by it. Raises
        the errors of `make`.
        """
        try:
            model = await asyncio.get_running_loop().run_in_executor(self._loader, make)
            if self._closed:
                raise Unavailable("the server is shutting down")
            entry = Entry(model, self.make_batcher(model))
        except BaseException as error:
            self._table.fail(key, one_line(error))
            self.report(
                "model_failed", model=key[0], version=key[1], reason=self._table.version(key).reason
            )
            raise
        self._drain(self._table.put(key, entry))
        self.report(
            "model_loaded",
            model=key[0],
            version=key[1],
            signature=str(model.signature),
            notes=list(model.notes),
        )
        return entry

    def _from_file(self, key: Key) -> ServedModel:
        """Reads and loads a version's file, in the loader's thread."""
        if key in self._paths:
            path = self._paths[key]
            data, _ = read_path(path)
        elif self.folder is not None:
            found = self.folder.find(*key)
            path = found.path
            with self.folder.open_found(found) as file:
                data, _ = read_whole(file, path.name)
        else:
            raise self._table.no_model(key[0])
        if self.settings.try_models:
            try_in_process(data, path.name, key, self.settings, lambda: self._closed)
        return ServedModel(path, *key, self.settings, data=data)

    def _scan(self) -> dict[Key, Stamp]:
        found = (
            {}
            if self.folder is None
            else {key: file.stamp for key, file in self.folder.scan().items()}
        )
        for key, path in self._paths.copy().items():
            found.pop(key, None)
            if path.exists():
                found[key] = stamp_of(path.stat())
        return found

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    def _drain(self, old: Entry | None) -> asyncio.Task[None] | None:
        """Starts a task in which a replaced entry finishes its accepted requests."""
        if old is None:
            return None
        task = asyncio.get_running_loop().create_task(self._finish(old))
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)
        return task

    async def _finish(self, old: Entry) -> None:
        try:
            await old.batcher.drain()
        except Exception as error:  # the new entry answers in any case
            self.report(
                "drain_failed",
                model=old.model.name,
                version=old.model.version,
                reason=one_line(error),
            )
