"""The server: loads the models, listens, serves, and stops without dropping accepted requests.

`await start()` loads the models and opens the ports. `await stop()` reports "not ready", accepts no
more requests, finishes the accepted ones (within `grace` seconds), and closes. As a context
manager, the server runs in a thread of its own, with its own event loop: that is for notebooks and
tests. With `python -m internals serve` it runs in the main thread.

Mirrors `InferenceServer::Init` and `Stop` of Triton (`core/src/server.cc`) and its `main.cc`,
KServe's `model_server.py`.

How the real one differs: when it stops, Triton keeps its ports open until its models have finished;
KServe can start several processes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from .batching.batcher import Batcher
from .batching.record import Recorder
from .engine import Engine
from .freed_memory import give_back
from .models.reload import watch
from .observe.logs import Log
from .settings import Settings
from .transport.grpc_server import GrpcServer
from .transport.http_server import HttpServer

LEEWAY = 0.5  # seconds to close idle connections, even after the grace is over
Models = Mapping[str, Any]
T = TypeVar("T")


class Server:
    """Serves `models`, a dict from names to modules (or functions of tensors) or paths of archives;
    without any, the models in `model_dir`.

    `grpc_address` and `http_address` are the addresses at which it listens, "127.0.0.1:8001".
    """

    def __init__(
        self, models: Models | None = None, settings: Settings | None = None, log: Log | None = None
    ) -> None:
        self.models = dict(models or {})
        self.settings = settings or Settings()
        self.log = log or Log(self.settings.log, secrets=(self.settings.token,))
        self.engine: Engine | None = None
        self.grpc_address = self.http_address = self.metrics_address = ""
        self._tasks: list[asyncio.Task[None]] = []  # until it stops
        self._runs = False

    async def start(self) -> None:
        """Loads the models, then listens. Raises the errors of loading, OSError if a port is taken,
        and RuntimeError if the server runs already.
        """
        self._check_stopped()
        self.engine = engine = Engine(self.settings, self.log)
        self.grpc, self.http = GrpcServer(engine), HttpServer(engine)
        try:
            for name, model in self.models.items():
                await self.add(name, model)
            if not self.models:
                await engine.repository.load_all()
            self.http_address, self.metrics_address = await self.http.start()
            self.grpc_address = await self.grpc.start()
            self._runs = True
        except BaseException:
            await self.stop(0)
            raise
        if self.settings.watch is not None:
            self._tasks.append(asyncio.create_task(watch(engine.repository, self.settings.watch)))
        self._tasks.append(asyncio.create_task(give_back()))
        where = {
            "grpc": self.grpc_address,
            "http": self.http_address,
            "metrics": self.metrics_address,
        }
        self.log.event("listening", **where, tls=self.settings.tls_cert is not None)

    async def stop(self, grace: float | None = None) -> None:
        """Finishes the accepted requests, within `grace` seconds (default: that of the settings),
        and closes.
        """
        assert self.engine is not None, "the server was not started"
        grace = self.settings.grace if grace is None else grace
        self.log.event("stopping", grace=grace)
        self.engine.stopping.set()
        self._runs = False
        while self._tasks:
            self._tasks.pop().cancel()
        until = time.monotonic() + grace
        # gRPC and HTTP share the time; requests under way still need their models.
        await self.grpc.stop(grace)
        for closing in (self.http.stop(), self.engine.close()):
            try:
                await asyncio.wait_for(closing, max(until - time.monotonic(), LEEWAY))
            except TimeoutError:
                self.log.event("gave_up", why=f"a model still runs after {grace} s")
        self.log.event("stopped")
        self.log.close()

    async def add(self, name: str, model: Any) -> None:
        """Serves one more model under this name."""
        assert self.engine is not None
        await self.engine.repository.add(name, model)

    def record(self, name: str, version: str = "") -> Recorder:
        """A recorder of the events in the model's batcher from now on."""
        assert self.engine is not None
        batcher = self.engine.repository.get(name, version).batcher
        assert isinstance(batcher, Batcher)
        batcher.recorder = Recorder()
        return batcher.recorder

    def _check_stopped(self) -> None:
        if self._runs:
            raise RuntimeError(
                f"this server runs already, at {self.grpc_address}: make another one"
            )

    def __enter__(self) -> Server:
        self._check_stopped()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="internals.serving", daemon=True
        )
        self._thread.start()
        try:
            self.call(self.start())
        except BaseException:
            self._end_thread()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.call(self.stop())
        self._end_thread()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the server's thread, and returns its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
