"""HTTP's server: REST and metrics, on one port or on two.

Mirrors `server/src/http_server.cc` of Triton.

How the real one differs: Triton has three ports, for gRPC (8001), REST (8000) and metrics (8002).
"""

from __future__ import annotations

import ssl

from aiohttp import web

from ..engine import Engine
from ..settings import Settings
from .grpc_server import bracketed
from .rest import make_app, make_metrics_app, make_runner
from .security import token_middleware


class HttpServer:
    """`await start()` returns the addresses of REST and of the metrics."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.runners: list[web.AppRunner] = []

    async def start(self) -> tuple[str, str]:
        """Raises OSError when a port is taken."""
        settings = self.engine.settings
        guards = () if settings.token is None else (token_middleware(settings.token),)
        if settings.http_port is None:
            both = await self.listen(make_app(self.engine, guards), settings.metrics_port, "--metrics-port")
            return both, both
        rest = await self.listen(make_app(self.engine, guards), settings.http_port, "--http-port")
        return rest, await self.listen(make_metrics_app(self.engine, guards), settings.metrics_port, "--metrics-port")

    async def listen(self, app: web.Application, port: int, option: str) -> str:
        settings = self.engine.settings
        runner = make_runner(app)
        await runner.setup()
        self.runners.append(runner)
        site = web.TCPSite(runner, settings.host, port, ssl_context=ssl_context(settings))
        try:
            await site.start()
        except OSError as error:
            raise OSError(
                f"HTTP cannot listen at {settings.host}:{port} ({error.strerror}): {option} chooses another port"
            ) from None
        return f"{bracketed(settings.host)}:{runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Finishes what was accepted, within the settings' `grace`, and closes."""
        for runner in self.runners:
            await runner.cleanup()


def ssl_context(settings: Settings) -> ssl.SSLContext | None:
    """TLS as for gRPC, or None for plain text."""
    if settings.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings.tls_cert, settings.tls_key)
    if settings.tls_client_ca is not None:
        context.load_verify_locations(settings.tls_client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
