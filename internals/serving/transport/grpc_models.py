"""The small calls of `GRPCInferenceService`: the state of the server, its models and their
signatures.

Each is a function of the engine and a protobuf request that returns a protobuf response, and has an
entry in `CALLS`. Errors are raised as `ServingError`.

Mirrors `server/src/grpc/grpc_server.cc` of Triton (`CommonHandler`).

How the real one differs: Triton also has calls for shared memory, tracing, logging and a model's
configuration.
"""

from __future__ import annotations

from typing import Any

from ..engine import Engine
from ..errors import ServingError
from ..models.signature import TensorSpec
from ..protocol.schema import open_inference

NAME = "internals"
EXTENSIONS = ("binary_tensor_data", "model_repository", "statistics")


async def server_live(engine: Engine, request: Any) -> Any:
    return open_inference().ServerLiveResponse(live=True)


async def server_ready(engine: Engine, request: Any) -> Any:
    return open_inference().ServerReadyResponse(ready=engine.ready)


async def server_metadata(engine: Engine, request: Any) -> Any:
    from internals import __version__

    return open_inference().ServerMetadataResponse(
        name=NAME, version=__version__, extensions=EXTENSIONS
    )


async def model_ready(engine: Engine, request: Any) -> Any:
    try:
        engine.repository.get(request.name, request.version)
        ready = engine.accepting
    except ServingError:
        ready = False
    return open_inference().ModelReadyResponse(ready=ready)


async def model_metadata(engine: Engine, request: Any) -> Any:
    model = engine.repository.get(request.name, request.version).model
    answer = open_inference().ModelMetadataResponse(name=model.name, platform=model.platform)
    answer.versions.extend(engine.repository.versions(model.name))
    for spec in model.signature.inputs:
        answer.inputs.add(**described(spec))
    for spec in model.signature.outputs:
        answer.outputs.add(**described(spec))
    return answer


async def model_statistics(engine: Engine, request: Any) -> Any:
    answer = open_inference().ModelStatisticsResponse()
    if request.name:
        engine.repository.get(request.name, request.version)  # raises if there is none
    for name, version, state, _ in engine.repository.index():
        if state == "READY" and request.name in ("", name) and request.version in ("", version):
            fill_statistics(answer.model_stats.add(name=name, version=version), engine)
    return answer


async def repository_index(engine: Engine, request: Any) -> Any:
    answer = open_inference().RepositoryIndexResponse()
    for name, version, state, reason in engine.repository.index():
        if state == "READY" or not request.ready:
            answer.models.add(name=name, version=version, state=state, reason=reason)
    return answer


async def repository_model_load(engine: Engine, request: Any) -> Any:
    engine.check_control()
    await engine.repository.load(request.model_name)
    return open_inference().RepositoryModelLoadResponse()


async def repository_model_unload(engine: Engine, request: Any) -> Any:
    engine.check_control()
    await engine.repository.unload(request.model_name)
    return open_inference().RepositoryModelUnloadResponse()


# name of the call in open_inference.proto -> function
CALLS = {
    "ServerLive": server_live,
    "ServerReady": server_ready,
    "ServerMetadata": server_metadata,
    "ModelReady": model_ready,
    "ModelMetadata": model_metadata,
    "ModelStatistics": model_statistics,
    "RepositoryIndex": repository_index,
    "RepositoryModelLoad": repository_model_load,
    "RepositoryModelUnload": repository_model_unload,
}


def described(spec: TensorSpec) -> dict[str, Any]:
    """The fields of a TensorMetadata. An unknown datatype is "", an unknown shape (-1,)."""
    return {
        "name": spec.name,
        "datatype": spec.datatype,
        "shape": (-1,) if spec.shape is None else spec.shape,
    }


def fill_statistics(answer: Any, engine: Engine) -> None:
    """Fills in the protocol's statistics from the metrics. The metrics do not separate the time of
    failed requests, so it is included in that of `success`.
    """
    labels = {"model": answer.name, "version": answer.version}
    value = engine.metrics.value
    answer.inference_count = int(value("internals_execution_rows_sum", **labels))
    answer.execution_count = int(value("internals_executions_total", **labels))
    stats = answer.inference_stats
    stats.success.count = int(value("internals_requests_total", outcome="ok", **labels))
    stats.success.ns = int(value("internals_request_seconds_sum", **labels) * 1e9)
    stats.queue.count = int(value("internals_queue_seconds_count", **labels))
    stats.queue.ns = int(value("internals_queue_seconds_sum", **labels) * 1e9)
    stats.compute_infer.count = answer.execution_count
    stats.compute_infer.ns = int(value("internals_execution_seconds_sum", **labels) * 1e9)
