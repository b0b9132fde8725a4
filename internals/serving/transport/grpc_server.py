"""gRPC's server around the service: limits, health, reflection, credentials.

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

STREAMS = 1000  # calls over one connection, with those that were reset and are not cleared away yet
PENDING = 12 * STREAMS  # calls that gRPC keeps until our event loop comes to hear of them
# seconds without a new call in which a server that stops still says "unavailable", before it hangs
# up
FAREWELL = 0.05
# how often it looks in that time: a process that did not run for long has to see what waits for it
# first
TURNS = 5
PATIENCE = 1.0  # seconds for those that go on asking


class GrpcServer:
    """`await start()` returns the address it listens at; `await stop(grace)` finishes what was
    accepted.
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
        """Raises OSError when the port is taken."""
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
        """Finishes what was accepted, and refuses what comes meanwhile. Only then it hangs up.

        When gRPC stops it cancels the calls that it has and has not handed over yet: such a client
        would be told CANCELLED, which it never asked for.
        """
        until = monotonic() + grace
        await self.tell(False)
        while self.engine.under_way and monotonic() < until:
            await asyncio.sleep(FAREWELL / TURNS)
        await self.refuse_the_last(min(until, monotonic() + PATIENCE))
        await self.server.stop(max(until - monotonic(), 0))

    async def refuse_the_last(self, until: float) -> None:
        """Returns when no call has come for a while. On a busy machine calls come one by one, long
        after they were sent.
        """
        quiet, turned_away = 0, self.engine.turned_away
        while quiet < TURNS and monotonic() < until:
            await asyncio.sleep(FAREWELL / TURNS)
            quiet = quiet + 1 if self.engine.turned_away == turned_away else 0
            turned_away = self.engine.turned_away

    async def tell(self, serving: bool) -> None:
        """What the health service answers from now on."""
        status = (
            health_pb2.HealthCheckResponse.SERVING
            if serving
            else health_pb2.HealthCheckResponse.NOT_SERVING
        )
        for name in ("", SERVICE):
            await self.health.set(name, status)


def options(max_message_bytes: int) -> list[tuple[str, Any]]:
    """gRPC's own settings. Frames of 1 MiB instead of 16 KiB: an image is then one frame, not
    forty.
    """
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),  # or a second server would silently share the port
        ("grpc.http2.max_frame_size", 1 << 20),
        ("grpc.http2.lookahead_bytes", 1 << 20),
        # A client that knows the limit waits. One that resets its calls to open more is told
        # REFUSED_STREAM, because gRPC counts what it has in memory (grpc.http.overload_protection);
        # a call that it keeps is about 17 KiB.
        ("grpc.max_concurrent_streams", STREAMS),
        # Above these gRPC cancels calls by chance, whosever they are.
        ("grpc.server.max_pending_requests", PENDING),
        ("grpc.server.max_pending_requests_hard_limit", 2 * PENDING),
    ]


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def add_reflection(names: tuple[str, ...], server: Any) -> None:
    """Lets a client such as grpcurl ask for the schema. Ours is in a pool of its own, the others'
    in the shared one.
    """
    from google.protobuf import descriptor_pool

    pool = open_inference().pool
    shared = descriptor_pool.Default()
    for name in names:
        if name != SERVICE:
            add_with_dependencies(pool, shared.FindFileContainingSymbol(name))
    reflection.enable_server_reflection(names, server, pool)


def add_with_dependencies(pool: Any, file: Any) -> None:
    for needed in file.dependencies:
        add_with_dependencies(pool, needed)
    try:
        pool.FindFileByName(file.name)
    except KeyError:
        pool.AddSerializedFile(file.serialized_pb)
