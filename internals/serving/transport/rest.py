"""The Open Inference Protocol over HTTP/1.1, for curl, browsers and `tritonclient[http]`.

    curl localhost:8000/v2/models/mlp/infer -d
        '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}'

A request goes through `rest_bodies` (received, within limits), `rest_requests` (JSON and bytes to
an `InferRequest`, with `rest_tensors` for numbers in JSON), the engine, and `rest_responses`. Each
output is sent as JSON, or, if the client asks for that, as bytes after the JSON: then its memory
goes to the socket without a copy. Errors are sent as JSON (`rest_errors`). The calls about models
and their readiness are in `rest_models`.

A timeout (`parameters.timeout` in microseconds, as in Triton, or the header `Request-Timeout` in
seconds) starts when the request's head has arrived. If a client closes the connection, its request
is cancelled.

Mirrors `HTTPAPIServer` of Triton (`server/src/http_server.cc`) and KServe's
`kserve/protocol/rest/v2_endpoints.py`.

How the real one differs: Triton's HTTP runs in threads of libevhtp, and can compress responses.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Middleware

from ..engine import Engine
from ..errors import ServingError
from ..observe.metrics import CONTENT_TYPE
from . import rest_models
from .rest_bodies import BODIES, Bodies, expectation, send
from .rest_errors import ENGINE, errors_as_json, json_response
from .rest_requests import read_header_length, read_request, read_timeout
from .rest_responses import write_response

IDLE = 75.0  # seconds that a connection is kept for the next request

# aiohttp logs invalid requests together with their bytes, which may contain a token.
silent = logging.Logger("internals.serving.http", logging.CRITICAL + 1)


def make_app(engine: Engine, middlewares: Iterable[Middleware] = ()) -> web.Application:
    """The app with REST for the models of an engine, and `GET /metrics`. The middlewares see each
    request before the handlers.
    """
    app = web.Application(middlewares=[errors_as_json, *middlewares])
    app[ENGINE], app[BODIES] = engine, Bodies(engine.settings)
    app.on_response_prepare.append(name_the_server)
    app.add_routes(rest_models.routes())
    for path in ("/v2/models/{name}/infer", "/v2/models/{name}/versions/{version}/infer"):
        app.router.add_post(path, infer, expect_handler=expectation_or_error)
    app.router.add_get("/metrics", show_metrics)
    return app


def make_metrics_app(engine: Engine, middlewares: Iterable[Middleware] = ()) -> web.Application:
    """The app with only `GET /metrics` and the server's health, for a port of their own."""
    app = web.Application(middlewares=[errors_as_json, *middlewares])
    app[ENGINE] = engine
    app.on_response_prepare.append(name_the_server)
    app.add_routes([route for route in rest_models.routes() if route.path.startswith("/v2/health")])
    app.router.add_get("/metrics", show_metrics)
    return app


def make_runner(app: web.Application) -> web.AppRunner:
    """The runner of an app. A client that disconnects cancels its request, and aiohttp logs
    nothing.
    """
    return web.AppRunner(
        app,
        handler_cancellation=True,
        # rest_bodies decompresses: aiohttp does not report to a waiting handler that a deflated
        # body is cut short
        auto_decompress=False,
        keepalive_timeout=IDLE,
        shutdown_timeout=app[ENGINE].settings.grace,
        access_log=None,
        logger=silent,
    )


async def infer(request: web.Request) -> web.StreamResponse:
    """Handles POST /v2/models/NAME[/versions/VERSION]/infer."""
    engine, arrived = request.app[ENGINE], time.monotonic()
    model, version = request.match_info["name"], request.match_info.get("version", "")
    try:
        # first, so that no body is read for a model that does not exist
        signature = engine.repository.get(model, version).model.signature
        header_length = read_header_length(request.headers)
        timeout = read_timeout(request.headers)
        async with request.app[BODIES].receive(request, header_length or 0) as body:
            asked = read_request(
                body, header_length, model, version, signature, engine.settings, arrived
            )
            del body
    except ServingError as error:  # the engine has not counted it
        engine.refuse(model, version, error, time.monotonic() - arrived)
        raise
    if timeout is not None:
        by_header = arrived + timeout
        given = asked.request.deadline
        asked.request.deadline = by_header if given is None else min(given, by_header)
    for zero_copy, nbytes in asked.copies:
        engine.metrics.input(zero_copy, nbytes)
    answer = write_response(await engine.infer(asked.request), asked.wants_bytes)
    del asked  # a slow client keeps only its response in memory, not its inputs
    return await send(request, *answer)


async def name_the_server(request: web.Request, response: web.StreamResponse) -> None:
    """Sets the header `Server`, in which aiohttp would publish its version and Python's."""
    response.headers["Server"] = "internals"


async def show_metrics(request: web.Request) -> web.Response:
    """Handles GET /metrics, for Prometheus."""
    return web.Response(
        body=request.app[ENGINE].metrics.text(), headers={"Content-Type": CONTENT_TYPE}
    )


async def expectation_or_error(request: web.Request) -> web.StreamResponse | None:
    """Answers `Expect: 100-continue`, with errors as JSON: aiohttp calls this before any
    middleware.
    """

    async def nothing_wrong(request: web.Request) -> web.StreamResponse:
        await expectation(request)
        return json_response({})

    response = await errors_as_json(request, nothing_wrong)
    return response if response.status >= 400 else None
