"""Decides which clients may send requests: TLS, client certificates, a token; and without a token,
no web page.

A browser sends requests from any web page to any address, even to a server that is "reachable from
this machine only". Such a request has the page's address in the header `Origin`. A page that wants
to read the responses, too, can use a name of its own that resolves to this server ("DNS
rebinding"); then that name is in the header `Host`. So both headers are checked. gRPC needs no such
check, as a page cannot send `te: trailers`.

Mirrors `grpc-use-ssl-mutual` and `grpc-restricted-protocol` of Triton.

How the real one differs: Triton restricts protocols by a header of any name; KServe leaves this to
a proxy. Neither checks `Host`; Django (`ALLOWED_HOSTS`) and Jupyter do.
"""

from __future__ import annotations

import hmac
import re
from ipaddress import ip_address
from typing import Any

import grpc
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from ..errors import PermissionDenied, Unauthenticated
from ..settings import Settings

NEEDED = "the server wants a token: 'authorization: Bearer TOKEN'"
OPEN_CALLS = (  # allowed without a token, for load balancers
    "/grpc.health.v1.Health/",
    "/inference.GRPCInferenceService/ServerLive",
    "/inference.GRPCInferenceService/ServerReady",
)
NO_PAGES = (
    "a server without a token (--token-file) answers no web pages, and the request comes from one: "
    "it has an Origin"
)
# "[::1]:8000" or "name:8000", with the address or the name as a group
HOST = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::[0-9]*)?")
OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")


def server_credentials(settings: Settings) -> grpc.ServerCredentials | None:
    """gRPC's credentials, or None without TLS."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    authority = settings.tls_client_ca.read_bytes() if settings.tls_client_ca else None
    pair = (settings.tls_key.read_bytes(), settings.tls_cert.read_bytes())
    return grpc.ssl_server_credentials(
        [pair], root_certificates=authority, require_client_auth=authority is not None
    )


def same_token(header: str | bytes | None, token: str) -> bool:
    """Whether an `authorization` header is `Bearer TOKEN`. The comparison takes the same time for
    every wrong token: else a client could find it byte by byte.
    """
    said = header.encode("utf-8", "surrogateescape") if isinstance(header, str) else header or b""
    scheme, _, credentials = said.partition(b" ")
    return hmac.compare_digest(credentials, token.encode()) and scheme.lower() == b"bearer"


class TokenInterceptor(grpc.aio.ServerInterceptor):
    """Refuses every gRPC call without the token, except for those in OPEN_CALLS."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.refusal = grpc.unary_unary_rpc_method_handler(refuse)

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        if details.method.startswith(OPEN_CALLS):
            return await continuation(details)
        header = dict(details.invocation_metadata).get("authorization")
        return await continuation(details) if same_token(header, self.token) else self.refusal


async def refuse(request: Any, context: Any) -> None:
    """Handles a call without the token: ends it with UNAUTHENTICATED."""
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, NEEDED)


def token_middleware(token: str) -> Middleware:
    """Refuses every HTTP request without the token, except for those of OPEN_PATHS."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in OPEN_PATHS and not same_token(
            request.headers.get("Authorization"), token
        ):
            raise Unauthenticated(NEEDED)
        return await handler(request)

    return check


def pages_middleware(settings: Settings) -> Middleware:
    """Refuses requests that come from a web page: those with an `Origin`, or to a name that is not
    the server's.
    """
    names = {bare(name) for name in ("localhost", settings.host, *settings.allowed_hosts)}

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if "Origin" in request.headers:
            raise PermissionDenied(NO_PAGES)
        for host in request.headers.getall("Host", ()):
            if not is_address(name := name_in(host)) and name not in names:
                raise PermissionDenied(
                    f"this server is not called {ascii(name[:100])}: start it with --allowed-hosts "
                    "or with a token"
                )
        return await handler(request)

    return check


def name_in(host: str) -> str:
    """The name in a `Host` header, without a port. If the header is malformed, all of it, which is
    not the name of any server.
    """
    found = HOST.fullmatch(host.strip())
    return bare(host if found is None else found[1] or found[2] or "")


def bare(name: str) -> str:
    """A host name in lower case, without the dot that may end it."""
    return name.lower().removesuffix(".")


def is_address(name: str) -> bool:
    """Whether a host is an IP address, which DNS rebinding cannot use."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
