"""The Open Inference Protocol over HTTP/1.1: what curl, browsers and `tritonclient[http]` speak.

    curl localhost:8000/v2/models/mlp/infer -d
        '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}'

A request goes through `rest_bodies` (received, within limits), `rest_requests` (JSON and bytes to
an `InferRequest`, with `rest_tensors` for numbers in JSON), the engine, and `rest_responses` back.
Each output comes as JSON, or as bytes behind the JSON when the client asks for that: then its
memory goes to the socket as it is. Errors are JSON, by `rest_errors`. The other questions, about
models and their readiness, are `rest_models`'.

A timeout, `parameters.timeout` in microseconds as Triton has it or the header `Request-Timeout` in
seconds, begins when the request's first line is there. A client that closes the connection takes
its request back.

Mirrors `HTTPAPIServer` of Triton (`server/src/http_server.cc`) and KServe's
`kserve/protocol/rest/v2_endpoints.py`.

How the real one differs: Triton's HTTP runs in threads of libevhtp; it compresses answers when
asked to.
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

# aiohttp logs requests that are no HTTP together with their bytes, among which a token may be.
silent = logging.Logger("internals.serving.http", logging.CRITICAL + 1)


def make_app(engine: Engine, middlewares: Iterable[Middleware] = ()) -> web.Application:
    """REST for the models of an engine, and `GET /metrics`. The middlewares see requests first."""
    app = web.Application(middlewares=[errors_as_json, *middlewares])
    app[ENGINE], app[BODIES] = engine, Bodies(engine.settings)
    app.on_response_prepare.append(name_the_server)
    app.add_routes(rest_models.routes())
    for path in ("/v2/models/{name}/infer", "/v2/models/{name}/versions/{version}/infer"):
        app.router.add_post(path, infer, expect_handler=expectation_or_error)
    app.router.add_get("/metrics", show_metrics)
    return app


def make_metrics_app(engine: Engine, middlewares: Iterable[Middleware] = ()) -> web.Application:
    """`GET /metrics` alone, and whether the server is alive, for a port of their own."""
    app = web.Application(middlewares=[errors_as_json, *middlewares])
    app[ENGINE] = engine
    app.on_response_prepare.append(name_the_server)
    app.add_routes([route for route in rest_models.routes() if route.path.startswith("/v2/health")])
    app.router.add_get("/metrics", show_metrics)
    return app


def make_runner(app: web.Application) -> web.AppRunner:
    """What listens for an app, set up so that a vanished client cancels its request, and that
    nothing is logged but by us.
    """
    return web.AppRunner(
        app,
        handler_cancellation=True,
        # rest_bodies does it: aiohttp forgets to tell a handler that waits of a deflated body cut
        # short
        auto_decompress=False,
        keepalive_timeout=IDLE,
        shutdown_timeout=app[ENGINE].settings.grace,
        access_log=None,
        logger=silent,
    )


async def infer(request: web.Request) -> web.StreamResponse:
    """POST /v2/models/NAME[/versions/VERSION]/infer"""
    engine, arrived = request.app[ENGINE], time.monotonic()
    model, version = request.match_info["name"], request.match_info.get("version", "")
    try:
        # before a body is read for nothing
        signature = engine.repository.get(model, version).model.signature
        header_length = read_header_length(request.headers)
        timeout = read_timeout(request.headers)
        async with request.app[BODIES].receive(request, header_length or 0) as body:
            asked = read_request(
                body, header_length, model, version, signature, engine.settings, arrived
            )
            del body
    except ServingError as error:  # the engine has not seen it
        engine.refuse(model, version, error, time.monotonic() - arrived)
        raise
    if timeout is not None:
        by_header = arrived + timeout
        given = asked.request.deadline
        asked.request.deadline = by_header if given is None else min(given, by_header)
    for zero_copy, nbytes in asked.copies:
        engine.metrics.input(zero_copy, nbytes)
    answer = write_response(await engine.infer(asked.request), asked.wants_bytes)
    del asked  # a slow reader keeps its answer in memory, not the inputs too
    return await send(request, *answer)


async def name_the_server(request: web.Request, response: web.StreamResponse) -> None:
    """aiohttp would tell everybody its version, and Python's."""
    response.headers["Server"] = "internals"


async def show_metrics(request: web.Request) -> web.Response:
    """GET /metrics, for Prometheus."""
    return web.Response(
        body=request.app[ENGINE].metrics.text(), headers={"Content-Type": CONTENT_TYPE}
    )


async def expectation_or_error(request: web.Request) -> web.StreamResponse | None:
    """`Expect: 100-continue` is answered before any middleware: its errors are JSON too."""

    async def nothing_wrong(request: web.Request) -> web.StreamResponse:
        await expectation(request)
        return json_response({})

    response = await errors_as_json(request, nothing_wrong)
    return response if response.status >= 400 else None
