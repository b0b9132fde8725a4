"""The HTTP server: REST and metrics, on one port or on two.

Mirrors `server/src/http_server.cc` of Triton.

How the real one differs: Triton has three ports, for gRPC (8001), REST (8000) and metrics (8002).
"""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Callable

from aiohttp import web

from ..engine import Engine
from ..settings import Settings
from .grpc_server import bracketed
from .rest import make_app, make_metrics_app, make_runner
from .security import pages_middleware, token_middleware


class HttpServer:
    """The server for an engine: `await start()` returns the addresses of REST and metrics."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.runners: list[web.AppRunner] = []

    async def start(self) -> tuple[str, str]:
        """Listens, and returns both addresses. Raises OSError if a port is taken."""
        settings = self.engine.settings
        guards = (
            pages_middleware(settings)
            if settings.token is None
            else token_middleware(settings.token),
        )
        if settings.http_port is None:
            both = await self.listen(
                make_app(self.engine, guards), settings.metrics_port, "--metrics-port"
            )
            return both, both
        rest = await self.listen(make_app(self.engine, guards), settings.http_port, "--http-port")
        return rest, await self.listen(
            make_metrics_app(self.engine, guards), settings.metrics_port, "--metrics-port"
        )

    async def listen(self, app: web.Application, port: int, option: str) -> str:
        """Serves an app at a port, and returns its address. `option` is for the error's hint."""
        settings = self.engine.settings
        runner = make_runner(app)
        await runner.setup()
        self.runners.append(runner)
        site = web.TCPSite(runner, settings.host, port, ssl_context=ssl_context(settings))
        try:
            await site.start()
        except OSError as error:
            of_the_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
            why = (
                os.strerror(error.errno)
                if isinstance(error.errno, int) and error.errno > 0
                else error.strerror
            )
            hint = f"{option} chooses another port" if of_the_port else "--host chooses the address"
            raise OSError(
                f"HTTP cannot listen at {bracketed(settings.host)}:{port} ({why}): {hint}"
            ) from None
        return f"{bracketed(settings.host)}:{runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Finishes the accepted requests, within the settings' `grace`, and closes."""
        for runner in self.runners:
            await runner.cleanup()


def ssl_context(settings: Settings) -> ssl.SSLContext | None:
    """The same TLS as for gRPC, None without it. Raises OSError or ValueError for wrong files."""
    if settings.tls_cert is None:
        return None
    files = {
        "--tls-cert": settings.tls_cert,
        "--tls-key": settings.tls_key,
        "--tls-client-ca": settings.tls_client_ca,
    }
    for option, path in files.items():
        if path is not None and not os.access(path, os.R_OK):
            raise OSError(
                f"{option} {path}: "
                f"{'it may not be read' if path.exists() else os.strerror(errno.ENOENT)}"
            )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    cert, key, authority = files.values()
    try:
        context.load_cert_chain(
            settings.tls_cert, settings.tls_key, password=refuse_password(settings)
        )
    except ssl.SSLError as error:
        raise ValueError(
            f"--tls-cert {cert} and --tls-key {key} are no certificate and key in PEM: {error}"
        ) from None
    if settings.tls_client_ca is not None:
        try:
            context.load_verify_locations(settings.tls_client_ca)
        except ssl.SSLError as error:
            raise ValueError(
                f"--tls-client-ca {authority} has no certificates in PEM: {error}"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def refuse_password(settings: Settings) -> Callable[[], str]:
    """A callback that raises ValueError if the key has a password. Without it, OpenSSL would ask
    for the password at the terminal, and wait.
    """

    def refuse() -> str:
        raise ValueError(
            f"--tls-key {settings.tls_key} has a password: a server needs a key without one, such "
            "as a secret file"
        )

    return refuse
