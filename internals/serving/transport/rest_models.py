"""The REST calls about the server and its models: the protocol's metadata and readiness, and
Triton's calls of the repository.

Mirrors `HTTPAPIServer::HandleModelMetadata`, `HandleModelReady` and `HandleRepositoryIndex` of
Triton (`server/src/http_server.cc`).

How the real one differs: Triton also has calls for a model's configuration and statistics; the
latter are in /metrics here.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

import internals

from ..errors import InvalidRequest, NotSupported, Unavailable
from ..models.signature import TensorSpec
from .rest_bodies import BODIES
from .rest_errors import ENGINE, json_response

EXTENSIONS = ["binary_tensor_data", "model_repository"]


def routes() -> list[web.RouteDef]:
    model = "/v2/models/{name}"
    return [
        web.get("/v2", server_metadata),
        web.get("/v2/", server_metadata),
        web.get("/v2/health/live", live),
        web.get("/v2/health/ready", ready),
        web.get(model, model_metadata),
        web.get(model + "/versions/{version}", model_metadata),
        web.get(model + "/ready", model_ready),
        web.get(model + "/versions/{version}/ready", model_ready),
        web.post("/v2/repository/index", repository_index),
        web.post("/v2/repository/models/{name}/load", load),
        web.post("/v2/repository/models/{name}/unload", unload),
    ]


async def server_metadata(request: web.Request) -> web.Response:
    return json_response(
        {"name": "internals", "version": internals.__version__, "extensions": EXTENSIONS}
    )


async def live(request: web.Request) -> web.Response:
    return json_response({"live": True})


async def ready(request: web.Request) -> web.Response:
    """Answers 200 while requests are accepted; 503 while a model is loaded for the first time, and
    when the server shuts down.
    """
    engine = request.app[ENGINE]
    if not engine.ready:
        raise Unavailable(
            "a model is being loaded" if engine.accepting else "the server is shutting down"
        )
    return json_response({"ready": True})


async def model_metadata(request: web.Request) -> web.Response:
    engine, name = request.app[ENGINE], request.match_info["name"]
    model = engine.repository.get(name, request.match_info.get("version", "")).model
    described = {
        "name": name,
        "versions": list(engine.repository.versions(name)),
        "platform": model.platform,
        "inputs": [describe(spec) for spec in model.signature.inputs],
        "outputs": [describe(spec) for spec in model.signature.outputs],
    }
    return json_response(described)


def describe(spec: TensorSpec) -> dict[str, Any]:
    """The metadata of a tensor, without the datatype or shape if it is unknown."""
    described: dict[str, Any] = {"name": spec.name}
    if spec.dtype is not None:
        described["datatype"] = spec.datatype
    if spec.shape is not None:
        described["shape"] = list(spec.shape)
    return described


async def model_ready(request: web.Request) -> web.Response:
    """Answers 200 if the model is ready, 503 if it is not, 404 if there is none."""
    engine, name, version = (
        request.app[ENGINE],
        request.match_info["name"],
        request.match_info.get("version", ""),
    )
    if not engine.accepting:
        raise Unavailable("the server is shutting down")
    engine.repository.get(name, version)
    return json_response({"name": name, "ready": True})


async def repository_index(request: web.Request) -> web.Response:
    """Answers all versions of all models; with {"ready": true} in the body only ready ones."""
    only_ready = (await small_json(request)).get("ready", False) is True
    entries = [
        {"name": name, "version": version, "state": state, "reason": reason}
        for name, version, state, reason in request.app[ENGINE].repository.index()
        if state == "READY" or not only_ready
    ]
    return json_response(entries)


async def load(request: web.Request) -> web.Response:
    """Loads the model's files if they are new or changed. 403 unless `control` allows it."""
    engine = request.app[ENGINE]
    engine.check_control()
    if (await small_json(request)).get("parameters"):
        raise NotSupported(
            "a model is loaded from the server's own folder: configurations and files are not "
            "accepted"
        )
    await engine.repository.load(request.match_info["name"])
    return json_response({})


async def unload(request: web.Request) -> web.Response:
    """Unloads the model, after it has answered its accepted requests. 403 unless `control` allows
    it.
    """
    engine = request.app[ENGINE]
    engine.check_control()
    await small_json(request)
    await engine.repository.unload(request.match_info["name"])
    return json_response({})


async def small_json(request: web.Request) -> dict[str, Any]:
    """The JSON object in a request's body, {} if that is empty. Raises InvalidRequest."""
    async with request.app[BODIES].receive(request) as body:
        if not body.nbytes:
            return {}
        try:
            said = json.loads(str(body[: 1 << 20], "utf-8"))
        except (ValueError, RecursionError):
            said = None
    if not isinstance(said, dict):
        raise InvalidRequest("the body is not a JSON object")
    return said
