"""Who may ask: TLS, client certificates, a token; and without a token, no web page.

A browser takes requests of any page to any address, so to a server that is "reachable from this
machine only" too. Such a request tells where the page came from (`Origin`). One that reads the
answers as well needs a name of its own that leads here ("DNS rebinding"): then that name is its
`Host`. So both are looked at. gRPC needs no such look: no page can send `te: trailers`.

Mirrors `grpc-use-ssl-mutual` and `grpc-restricted-protocol` of Triton.

How the real one differs: Triton restricts protocols by a header of any name; KServe leaves it to a
proxy in front. Neither looks at `Host`; Django (`ALLOWED_HOSTS`) and Jupyter do.
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
OPEN_CALLS = (  # whether it is alive is for anyone to ask, such as a load balancer
    "/grpc.health.v1.Health/",
    "/inference.GRPCInferenceService/ServerLive",
    "/inference.GRPCInferenceService/ServerReady",
)
NO_PAGES = (
    "a server without a token (--token-file) answers no web pages, and the request comes from one: "
    "it has an Origin"
)
HOST = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::[0-9]*)?")
OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")


def server_credentials(settings: Settings) -> grpc.ServerCredentials | None:
    """gRPC's credentials, or None for plain text."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    authority = settings.tls_client_ca.read_bytes() if settings.tls_client_ca else None
    pair = (settings.tls_key.read_bytes(), settings.tls_cert.read_bytes())
    return grpc.ssl_server_credentials(
        [pair], root_certificates=authority, require_client_auth=authority is not None
    )


def same_token(header: str | bytes | None, token: str) -> bool:
    """Whether an `authorization` header says `Bearer TOKEN`; takes as long for a nearly right one
    as for a wrong one.
    """
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
        if request.path not in OPEN_PATHS and not same_token(
            request.headers.get("Authorization"), token
        ):
            raise Unauthenticated(NEEDED)
        return await handler(request)

    return check


def pages_middleware(settings: Settings) -> Middleware:
    """Refuses requests that only a web page makes: with an `Origin`, or to a name that is not the
    server's.
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
    """What a `Host` header names, without a port; the whole header if it is none, which is no
    server's name.
    """
    found = HOST.fullmatch(host.strip())
    return bare(host if found is None else found[1] or found[2] or "")


def bare(name: str) -> str:
    return name.lower().removesuffix(".")


def is_address(name: str) -> bool:
    """Whether it is an address itself, which nobody can let lead elsewhere."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
