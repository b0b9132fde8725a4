"""Turns every error into JSON for the client: `{"error": "input 'x' is missing; the model takes
x"}`, with the fitting status.

An unexpected error in the server has status 500, and no details: these are in the log, but even
there without the message, which could quote a request.

Mirrors `EVBufferAddErrorJson` of Triton (`server/src/http_server.cc`).

How the real one differs: Triton has 404, 500, 501 and 503, and 400 for all others; a full queue is
503.
"""

from __future__ import annotations

import json
import traceback
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from ..engine import Engine
from ..errors import ServingError, Unauthenticated

ENGINE: web.AppKey[Engine] = web.AppKey("engine")


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns exceptions of the handlers into responses, except for those of a lost connection."""
    try:
        return await handler(request)
    except ConnectionError:
        raise
    except Exception as error:
        return answer_to(request, error)


def answer_to(request: web.Request, error: Exception) -> web.Response:
    """The response for an exception; an unexpected one is also logged with its place."""
    if isinstance(error, ServingError):
        headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthenticated) else {}
        return error_response(error.http_status, str(error), headers)
    if isinstance(error, web.HTTPNotFound):
        return error_response(
            404, f"there is nothing at {request.path[:200]}; the models are under /v2/models/NAME"
        )
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        told = f"{request.path[:200]} does not take {request.method[:20]}, but {allowed}"
        return error_response(405, told, {"Allow": allowed})
    if isinstance(error, web.HTTPException):
        return error_response(error.status, error.text or error.reason)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{where.name}:{where.lineno}"
    request.app[ENGINE].log.event(
        "internal_error", path=request.path, type=type(error).__name__, where=place
    )
    return error_response(500, "the server made an error of its own; its log says where")


def error_response(
    status: int, message: str, headers: dict[str, str] | None = None
) -> web.Response:
    response = json_response({"error": message}, status, headers)
    if status in (408, 413, 417):
        response.force_close()  # the rest of the request's body will not be read
    return response


def json_response(
    said: Any, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    """A response of strict JSON (no NaN), on one line, in ASCII."""
    body = json.dumps(said, allow_nan=False, separators=(",", ":")).encode("ascii")
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")
