"""The gRPC server around the service: limits, health, reflection, credentials.

Mirrors `server/src/grpc/grpc_server.cc` of Triton.

How the real one differs: Triton uses gRPC's C++ server with a completion queue and threads; this is
`grpc.aio`, the same C core driven by Python's event loop.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ..engine import Engine
from ..protocol.schema import open_inference
from .grpc_service import SERVICE, handlers
from .security import TokenInterceptor, server_credentials

STREAMS = 1000  # calls over one connection, including cancelled ones that gRPC has not removed yet
PENDING = 12 * STREAMS  # calls that gRPC holds until our event loop accepts them
# A server that stops answers "unavailable" until no new call has come for so many seconds, ...
FAREWELL = 0.05
# ... which it checks in so many steps: if the process was suspended, the calls that came meanwhile
# are handled between two steps.
TURNS = 5
PATIENCE = 1.0  # seconds at most, if calls keep coming


class GrpcServer:
    """The server for an engine: `await start()` returns its address, and `await stop(grace)`
    finishes the accepted requests.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.settings = engine, engine.settings
        settings = engine.settings
        token = [] if settings.token is None else [TokenInterceptor(settings.token)]
        self.server = grpc.aio.server(
            interceptors=token, options=options(settings.max_message_bytes)
        )
        self.server.add_generic_rpc_handlers((handlers(engine),))
        self.health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self.server)
        if settings.reflection:
            names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
            add_reflection(names, self.server)

    async def start(self) -> str:
        """Listens, and returns the address. Raises OSError if the port is taken."""
        where = f"{bracketed(self.settings.host)}:{self.settings.port}"
        credentials = server_credentials(self.settings)
        try:
            if credentials is None:
                port = self.server.add_insecure_port(where)
            else:
                port = self.server.add_secure_port(where, credentials)
        except RuntimeError:
            raise OSError(
                f"gRPC cannot listen at {where}: is another server there? --port chooses another "
                "port"
            ) from None
        await self.server.start()
        await self.tell(True)
        return f"{bracketed(self.settings.host)}:{port}"

    async def stop(self, grace: float) -> None:
        """Finishes the accepted requests, refuses those that come meanwhile, and only then closes.

        When gRPC stops, it cancels the calls that it has received but not handed over yet; their
        clients would get the confusing status CANCELLED.
        """
        until = monotonic() + grace
        await self.tell(False)
        while self.engine.under_way and monotonic() < until:
            await asyncio.sleep(FAREWELL / TURNS)
        await self.refuse_the_last(min(until, monotonic() + PATIENCE))
        await self.server.stop(max(until - monotonic(), 0))

    async def refuse_the_last(self, until: float) -> None:
        """Waits until no call has come for FAREWELL seconds, while the engine refuses all of them.
        On a busy machine, calls arrive long after they were sent.
        """
        quiet, turned_away = 0, self.engine.turned_away
        while quiet < TURNS and monotonic() < until:
            await asyncio.sleep(FAREWELL / TURNS)
            quiet = quiet + 1 if self.engine.turned_away == turned_away else 0
            turned_away = self.engine.turned_away

    async def tell(self, serving: bool) -> None:
        """Sets the answer of the health service."""
        status = (
            health_pb2.HealthCheckResponse.SERVING
            if serving
            else health_pb2.HealthCheckResponse.NOT_SERVING
        )
        for name in ("", SERVICE):
            await self.health.set(name, status)


def options(max_message_bytes: int) -> list[tuple[str, Any]]:
    """The options for gRPC. With frames of 1 MiB instead of 16 KiB, an image is one frame instead
    of forty.
    """
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),  # else a second server would silently share the port
        ("grpc.http2.max_frame_size", 1 << 20),
        ("grpc.http2.lookahead_bytes", 1 << 20),
        # A client that obeys the limit waits. One that cancels its calls to open more gets
        # REFUSED_STREAM, as gRPC counts the calls in memory (grpc.http.overload_protection); each
        # takes about 17 KiB.
        ("grpc.max_concurrent_streams", STREAMS),
        # Above these limits gRPC cancels random calls of any client.
        ("grpc.server.max_pending_requests", PENDING),
        ("grpc.server.max_pending_requests_hard_limit", 2 * PENDING),
    ]


def bracketed(host: str) -> str:
    """A host as it is written before `:port`: an IPv6 address is put in brackets."""
    return f"[{host}]" if ":" in host else host


def add_reflection(names: tuple[str, ...], server: Any) -> None:
    """Lets a client such as grpcurl ask for the schemas. Those of health and reflection are copied
    from the default pool into ours, as reflection uses one pool.
    """
    from google.protobuf import descriptor_pool

    pool = open_inference().pool
    shared = descriptor_pool.Default()
    for name in names:
        if name != SERVICE:
            add_with_dependencies(pool, shared.FindFileContainingSymbol(name))
    reflection.enable_server_reflection(names, server, pool)


def add_with_dependencies(pool: Any, file: Any) -> None:
    """Adds a file's descriptor to a pool, after those that it imports."""
    for needed in file.dependencies:
        add_with_dependencies(pool, needed)
    try:
        pool.FindFileByName(file.name)
    except KeyError:
        pool.AddSerializedFile(file.serialized_pb)
