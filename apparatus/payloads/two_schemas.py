"""A client with one schema calls a server with another: what evolution of a schema comes down to,
over a real gRPC connection.

A gRPC server knows methods by name and messages as bytes. Which class turns the bytes into a
message is each side's own business, and while a new release is rolled out it is not the same class
on both sides.

Mirrors `grpc/_server.py` and the stubs that protoc generates (`*_pb2_grpc.py`), without generating
any.

How the real one differs: generated code takes both sides' classes from one file, so the difference
does not show in the source.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

SERVICE, METHOD = "similar.Images", "AddImage"
TIMEOUT = 20.0
GRACE = 5.0  # seconds for calls to end; a server that stops at once tells its clients of an error


class Server:
    """A server with one method, on a free port of this machine: `with
    Server(schema.AddImageRequest, answer) as server:`.

    `answer` takes a message of the server's own class and returns one of any. A request that the
    class cannot read is refused by gRPC with INTERNAL, before `answer` hears of it.
    """

    def __init__(self, request: Any, answer: Callable[[Any], Any]) -> None:
        self.received: list[Any] = []
        self.answer = answer
        method = grpc.unary_unary_rpc_method_handler(
            self.handle,
            request_deserializer=request.FromString,
            response_serializer=lambda reply: reply.SerializeToString(),
        )
        self.server = grpc.server(ThreadPoolExecutor(1))
        self.server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(SERVICE, {METHOD: method})]
        )
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"

    def handle(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.received.append(request)
        return self.answer(request)

    def __enter__(self) -> Server:
        self.server.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.stop(GRACE).wait()


def call(address: str, request: Any, reply: Any) -> Any:
    """Send a message, and read the answer as a message of class `reply`. Raises `grpc.RpcError`."""
    with grpc.insecure_channel(address) as channel:
        method = channel.unary_unary(
            f"/{SERVICE}/{METHOD}",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=reply.FromString,
        )
        return method(request, timeout=TIMEOUT, wait_for_ready=True)


def meet(request: Any, server_class: Any) -> Any:
    """What a server with its own class for the request sees of a message that a client sent."""
    with Server(server_class, lambda seen: seen) as server:
        call(server.address, request, server_class)
        (seen,) = server.received
        return seen
