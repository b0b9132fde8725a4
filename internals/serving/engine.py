"""The part of the server that is the same for every transport: it finds the model, checks the
inputs, waits for a batch, selects the outputs, and counts.

Every transport turns its bytes into an `InferRequest` and calls `infer` or `answer`. Nothing here
depends on gRPC or HTTP.

Mirrors `InferenceServer::InferAsync` of Triton (`core/src/server.cc`), KServe's `ModelServer` and
`DataPlane`.

How the real one differs: Triton's is a C library with callbacks, which also has ensembles,
sequences and response caches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic, perf_counter
from typing import TypeVar

from internals import Tensor

from .batching.batcher import Batcher
from .errors import InvalidRequest, PermissionDenied, ServingError, Unavailable
from .inference import InferRequest, InferResponse
from .models.repository import ModelRepository
from .models.served_model import ServedModel
from .observe.logs import Log
from .observe.metrics import Metrics
from .protocol.policies import arrange
from .settings import Settings

LEEWAY = 0.05  # seconds by which gRPC's clock may reach the deadline before ours
Answer = TypeVar("Answer")


class Engine:
    """The models with their batchers and metrics. `stopping` is set while the server shuts down."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings, self.log = settings, log
        self.metrics = Metrics()
        self.repository = ModelRepository(settings, self.make_batcher, log.event)
        self.stopping = asyncio.Event()
        self.under_way = 0  # requests that were accepted and are not answered yet
        self.turned_away = 0  # requests that came when it was stopping

    @property
    def accepting(self) -> bool:
        return not self.stopping.is_set()

    @property
    def ready(self) -> bool:
        """Whether requests are accepted, and no model is being loaded for the first time. (A model
        whose new version is being loaded still answers with the older one.)
        """
        loading = {known.name for known in self.repository.index() if known.state == "LOADING"}
        return self.accepting and all(self.repository.versions(name) for name in loading)

    def make_batcher(self, model: ServedModel) -> Batcher:
        return Batcher(model, self.settings, self.metrics, self.log.event)

    async def infer(self, request: InferRequest) -> InferResponse:
        """The outputs that the request asks for. Raises ServingError."""
        return await self.answer(request, lambda response: response)

    async def answer(
        self, request: InferRequest, write: Callable[[InferResponse], Answer]
    ) -> Answer:
        """Computes the response and returns the result of the transport's `write` for it. Only if
        that succeeds, too, the request counts as "ok".
        """
        began = perf_counter()
        version, outcome, accepted = request.version, "internal", False
        try:
            if not self.accepting:
                self.turned_away += 1
                raise Unavailable("the server is shutting down")
            self.under_way += 1
            accepted = True
            entry = self.repository.get(request.model, request.version)
            version = entry.model.version
            request.inputs = arrange(request.inputs, entry.model.signature)
            outputs = await entry.batcher.submit(request)
            if request.outputs:
                outputs = {name: chosen(outputs, name) for name in request.outputs}
            answer = write(InferResponse(request.model, version, outputs, request.id))
            outcome = "ok"
            return answer
        except ServingError as error:
            outcome = error.code.lower()
            self.log.failure(request.model, version, request.id, error)
            raise
        except asyncio.CancelledError:
            late = request.deadline is not None and monotonic() > request.deadline - LEEWAY
            outcome = "deadline_exceeded" if late else "cancelled"  # gRPC cancels late requests
            raise
        finally:
            self.under_way -= accepted
            self.metrics.request(request.model, version, outcome, perf_counter() - began)

    def refuse(self, model: str, version: str, error: ServingError, seconds: float) -> None:
        """Counts and logs a request that a transport could not read."""
        self.log.failure(model, version, "", error)
        self.metrics.request(model, version, error.code.lower(), seconds)

    def check_control(self) -> None:
        """Raises PermissionDenied unless clients may load and unload models."""
        if not self.settings.control:
            raise PermissionDenied(
                "this server does not load or unload models for clients: start it with --control"
            )

    async def close(self) -> None:
        """Answers the accepted requests, and unloads the models."""
        self.stopping.set()
        await self.repository.close()


def chosen(outputs: dict[str, Tensor], name: str) -> Tensor:
    """An output by name. Raises InvalidRequest if there is none."""
    if name not in outputs:
        raise InvalidRequest(f"the model has no output '{name}'; it has {', '.join(outputs)}")
    return outputs[name]
