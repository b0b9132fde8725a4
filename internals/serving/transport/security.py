"""Who may ask: TLS, client certificates, a token.

Mirrors `grpc-use-ssl-mutual` and `grpc-restricted-protocol` of Triton.

How the real one differs: Triton restricts protocols by a header of any name; KServe leaves it to a proxy in front.
"""

from __future__ import annotations

import hmac
from typing import Any

import grpc
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from ..errors import Unauthenticated
from ..settings import Settings

NEEDED = "the server wants a token: 'authorization: Bearer TOKEN'"
OPEN_CALLS = (  # whether it is alive is for anyone to ask, such as a load balancer
    "/grpc.health.v1.Health/",
    "/inference.GRPCInferenceService/ServerLive",
    "/inference.GRPCInferenceService/ServerReady",
)
OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")


def server_credentials(settings: Settings) -> grpc.ServerCredentials | None:
    """gRPC's credentials, or None for plain text."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    authority = settings.tls_client_ca.read_bytes() if settings.tls_client_ca else None
    pair = (settings.tls_key.read_bytes(), settings.tls_cert.read_bytes())
    return grpc.ssl_server_credentials([pair], root_certificates=authority, require_client_auth=authority is not None)


def same_token(header: str | bytes | None, token: str) -> bool:
    """Whether an `authorization` header says `Bearer TOKEN`; takes as long for a nearly right one as for a wrong one."""
    said = header.encode("utf-8", "surrogateescape") if isinstance(header, str) else header or b""
    scheme, _, credentials = said.partition(b" ")
    return hmac.compare_digest(credentials, token.encode()) and scheme.lower() == b"bearer"


class TokenInterceptor(grpc.aio.ServerInterceptor):
    """Refuses every gRPC call without the token, but those that ask whether the server is alive."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.refusal = grpc.unary_unary_rpc_method_handler(refuse)

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        if details.method.startswith(OPEN_CALLS):
            return await continuation(details)
        header = dict(details.invocation_metadata).get("authorization")
        return await continuation(details) if same_token(header, self.token) else self.refusal


async def refuse(request: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, NEEDED)


def token_middleware(token: str) -> Middleware:
    """The same for REST and metrics."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in OPEN_PATHS and not same_token(request.headers.get("Authorization"), token):
            raise Unauthenticated(NEEDED)
        return await handler(request)

    return check
