"""What a server does, whoever asks: find the model, check the inputs, wait for a batch, choose the outputs, count.

Every transport turns its bytes into an `InferRequest` and calls `infer`. Nothing here knows of gRPC or HTTP.

Mirrors `InferenceServer::InferAsync` of Triton (`core/src/server.cc`), KServe's `ModelServer` and `DataPlane`.

How the real one differs: Triton's is a C library with callbacks; ensembles, sequences and response caches hang on it.
"""

from __future__ import annotations

import asyncio
from time import perf_counter

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


class Engine:
    """Models, their batchers, and what was counted of them. `stopping` is set while the server is shutting down."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings, self.log = settings, log
        self.metrics = Metrics()
        self.repository = ModelRepository(settings, self.make_batcher, log.event)
        self.stopping = asyncio.Event()

    @property
    def accepting(self) -> bool:
        return not self.stopping.is_set()

    @property
    def ready(self) -> bool:
        """Whether requests are accepted, and no model is being loaded for the first time."""
        return self.accepting and all(known.state != "LOADING" for known in self.repository.index())

    def make_batcher(self, model: ServedModel) -> Batcher:
        return Batcher(model, self.settings, self.metrics, self.log.event)

    async def infer(self, request: InferRequest) -> InferResponse:
        """The model's outputs for this request, those that it asks for. Raises ServingError."""
        began = perf_counter()
        version, outcome = request.version, "ok"
        try:
            if not self.accepting:
                raise Unavailable("the server is shutting down")
            entry = self.repository.get(request.model, request.version)
            version = entry.model.version
            request.inputs = arrange(request.inputs, entry.model.signature)
            outputs = await entry.batcher.submit(request)
            if request.outputs:
                outputs = {name: chosen(outputs, name) for name in request.outputs}
            return InferResponse(request.model, version, outputs, request.id)
        except ServingError as error:
            outcome = error.code.lower()
            self.log.failure(request.model, version, request.id, error)
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self.metrics.request(request.model, version, outcome, perf_counter() - began)

    def refuse(self, model: str, version: str, error: ServingError, seconds: float) -> None:
        """Counts and logs a request that a transport could not even read."""
        self.log.failure(model, version, "", error)
        self.metrics.request(model, version, error.code.lower(), seconds)

    def check_control(self) -> None:
        """Raises PermissionDenied unless clients may load and unload models."""
        if not self.settings.control:
            raise PermissionDenied("this server does not load or unload models for clients: start it with --control")

    async def close(self) -> None:
        """Answers what was accepted, and lets the models go."""
        self.stopping.set()
        await self.repository.close()


def chosen(outputs: dict[str, Tensor], name: str) -> Tensor:
    if name not in outputs:
        raise InvalidRequest(f"the model has no output '{name}'; it has {', '.join(outputs)}")
    return outputs[name]
