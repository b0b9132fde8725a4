"""REST on a small engine without batches: what tests of the transport ask, over real sockets."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from aiohttp import web

import internals
from internals import Tensor
from internals.serving.engine import Engine
from internals.serving.errors import ModelNotFound
from internals.serving.inference import InferRequest, InferResponse
from internals.serving.models.signature import Signature, TensorSpec
from internals.serving.models.table import ModelState
from internals.serving.observe.logs import Log
from internals.serving.settings import Settings
from internals.serving.transport.rest import make_app, make_metrics_app, make_runner
from internals.serving.transport.rest_requests import HEADER_LENGTH

Function = Callable[..., Any]


def wait_until(condition: Any) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within 30 seconds")


class Models:
    """A repository of functions from inputs to outputs, all of version 1."""

    def __init__(self, functions: dict[str, Function], signatures: dict[str, Signature]) -> None:
        self.functions, self.signatures = functions, signatures
        self.loaded: list[str] = []
        self.loading: list[ModelState] = []

    def get(self, name: str, version: str = "") -> Any:
        if name not in self.functions or version not in ("", "1"):
            raise ModelNotFound(
                f"there is no model '{name}' of version '{version}'; there are "
                f"{', '.join(self.functions)}"
            )
        model = SimpleNamespace(
            signature=self.signatures.get(name, Signature()), platform="a function"
        )
        return SimpleNamespace(model=model)

    def versions(self, name: str) -> tuple[str, ...]:
        return ("1",) if name in self.functions else ()

    def index(self) -> list[ModelState]:
        ready = [ModelState(name, "1", "READY") for name in self.functions]
        return [*ready, ModelState("broken", "1", "UNAVAILABLE", "no archive"), *self.loading]

    async def load(self, name: str) -> None:
        self.loaded.append(name)

    async def unload(self, name: str) -> None:
        self.get(name)
        del self.functions[name]


class SmallEngine(Engine):
    """An engine that calls functions. `seen` are the requests, `inputs` those of the last one."""

    def __init__(
        self, functions: dict[str, Function], signatures: dict[str, Signature], settings: Settings
    ) -> None:
        self.written = io.StringIO()
        log = Log("json", self.written, secrets=(settings.token,), failures_per_second=1_000_000)
        super().__init__(settings, log)
        self.repository = Models(functions, signatures)
        self.seen: list[InferRequest] = []

    async def infer(self, request: InferRequest) -> InferResponse:
        self.seen.append(request)
        del self.seen[:-50]
        answer = self.repository.functions[request.model](*request.inputs.values())
        outputs = await answer if asyncio.iscoroutine(answer) else answer
        if isinstance(outputs, Tensor):
            outputs = {"y": outputs}
        return InferResponse(request.model, "1", outputs, request.id)

    @property
    def inputs(self) -> dict[str, Tensor]:
        return self.seen[-1].inputs


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, as strict JSON."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.body, parse_constant=refuse)

    @property
    def error(self) -> str:
        said = self.json()
        assert list(said) == ["error"], said
        text: str = said["error"]
        return text


@dataclass
class RestServer:
    """Serves functions in a thread, as a context manager."""

    functions: dict[str, Function] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    metrics_only: bool = False
    middlewares: tuple[Any, ...] = ()

    def __enter__(self) -> RestServer:
        self.engine = SmallEngine(self.functions, self.signatures, self.settings)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.call(self.start())
        return self

    async def start(self) -> None:
        make: Any = make_metrics_app if self.metrics_only else make_app
        self.runner = make_runner(make(self.engine, self.middlewares))
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        self.port: int = self.runner.addresses[0][1]

    def __exit__(self, *exception: object) -> None:
        self.call(self.runner.cleanup())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        return ask(self.port, method, path, body, headers)

    def infer(
        self, model: str, said: Any, behind: bytes = b"", headers: dict[str, str] | None = None
    ) -> Answer:
        """POSTs JSON (an object, or bytes as they are) with bytes behind it."""
        head = said if isinstance(said, bytes) else json.dumps(said).encode()
        given = {HEADER_LENGTH: str(len(head))} if behind else {}
        return self.ask(
            "POST", f"/v2/models/{model}/infer", head + behind, {**given, **(headers or {})}
        )


def ask(
    port: int, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> Answer:
    """One request on a connection of its own; an iterator of bytes is sent in chunks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        chunked = not isinstance(body, (bytes, str, type(None)))
        connection.request(method, path, body, headers or {}, encode_chunked=chunked)
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())
    finally:
        connection.close()


def as_json(
    array: np.ndarray[Any, Any], datatype: str, name: str = "x", **more: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "datatype": datatype,
        "shape": list(array.shape),
        "data": array.tolist(),
        **more,
    }


def as_bytes(array: np.ndarray[Any, Any], datatype: str, name: str = "x") -> dict[str, Any]:
    size = {"binary_data_size": array.nbytes}
    return {"name": name, "datatype": datatype, "shape": list(array.shape), "parameters": size}


waiting: list[Tensor] = []  # inputs of requests that are in `forever` now


async def forever(x: Tensor) -> Tensor:
    waiting.append(x)
    try:
        await asyncio.Event().wait()
    finally:
        waiting.clear()
    raise AssertionError


def fail(*inputs: Tensor) -> Tensor:
    raise RuntimeError("an accident of the server's own: 31337")


MLP = Signature(
    (TensorSpec("x", internals.float32, (-1, 3)),), (TensorSpec("y", internals.float32, (-1, 3)),)
)
FUNCTIONS: dict[str, Function] = {
    "double": lambda x: x * 2,
    "echo": lambda *inputs: {f"y{i}": x for i, x in enumerate(inputs)},
    "forever": forever,
    "fail": fail,
}
