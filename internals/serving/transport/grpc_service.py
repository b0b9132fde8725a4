"""The calls of `GRPCInferenceService`, from the bytes of a request to the bytes of the response.

Messages arrive as bytes, so that tensors can stay in them (`protocol/messages.py`); the small calls
are read and written by protobuf. A `ServingError` becomes gRPC's status of the same name.

`ModelStreamInfer` answers a stream in order, with at most `STREAM_WINDOW` of its requests under
way: if a client does not read the responses, gRPC's flow control stops it from sending more
requests. The memory of all unread responses together is limited by `unread.py`.

Mirrors `server/src/grpc/infer_handler.cc` and `stream_infer_handler.cc` of Triton,
`kserve/protocol/grpc/servicer.py`.

How the real one differs: Triton's streams keep the order, too, except for decoupled models, which
may answer a request any number of times.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from ..engine import Engine
from ..errors import InvalidRequest, ModelFailed, ServingError
from ..inference import InferResponse
from ..protocol.messages import read_request, timeout_of, write_response, write_stream_response
from ..protocol.schema import open_inference
from . import grpc_models
from .unread import Unread

SERVICE = "inference.GRPCInferenceService"
STREAM_WINDOW = 32  # requests of a stream under way

StreamAnswer = tuple[bytes, str]  # a serialized ModelInferResponse, or b"" and an error
Call = Callable[[Engine, Any], Awaitable[Any]]


def handlers(engine: Engine) -> grpc.GenericRpcHandler:
    """All calls of the service, for `server.add_generic_rpc_handlers`."""
    methods = {name: small_call(engine, name, call) for name, call in grpc_models.CALLS.items()}
    service = Inference(engine)
    methods["ModelInfer"] = grpc.unary_unary_rpc_method_handler(service.infer)
    methods["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(service.stream)
    return grpc.method_handlers_generic_handler(SERVICE, methods)


class Inference:
    """The calls `ModelInfer` and `ModelStreamInfer`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.unread = Unread(engine.settings.max_queue_bytes)

    async def infer(self, message: bytes, context: grpc.aio.ServicerContext) -> bytes:
        connection = context.peer()
        try:
            content = await self.answer(message, context.time_remaining(), connection)
        except ServingError as error:
            await refuse(context, error)
            raise  # not reached: `abort` raises
        # The response counts as unread until gRPC has sent it.
        context.add_done_callback(lambda _: self.unread.release(connection, len(content)))
        return content

    async def stream(
        self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[bytes]:
        """Yields one response for each request, in order. A failed request does not end the stream,
        but a server that stops does.
        """
        connection = context.peer()
        under_way: asyncio.Queue[asyncio.Task[StreamAnswer] | None] = asyncio.Queue(STREAM_WINDOW)
        tasks: set[asyncio.Task[StreamAnswer]] = set()  # whose responses have not been sent

        async def read() -> None:
            async for message in messages:
                task = asyncio.create_task(
                    self.stream_answer(message, context.time_remaining(), connection)
                )
                tasks.add(task)
                await under_way.put(task)  # waits while the window is full
            await under_way.put(None)

        async def end_with_the_server() -> None:
            await self.engine.stopping.wait()
            reader.cancel()
            await under_way.put(None)

        reader = asyncio.create_task(read())
        ender = asyncio.create_task(end_with_the_server())
        try:
            while (task := await under_way.get()) is not None:
                content, error = await task
                yield write_stream_response(content, error)
                tasks.discard(task)
                self.unread.release(connection, len(content))
        finally:
            for pending in (reader, ender, *tasks):
                pending.cancel()
            for task in tasks:
                if task.done() and not task.cancelled() and not task.exception():
                    self.unread.release(connection, len(task.result()[0]))

    async def stream_answer(
        self, message: bytes, remaining: float | None, connection: str
    ) -> StreamAnswer:
        """The response to one request of a stream; an error becomes a part of the stream."""
        try:
            return await self.answer(message, remaining, connection), ""
        except ServingError as error:
            return b"", f"{error.code}: {error}"

    async def answer(self, message: bytes, remaining: float | None, connection: str) -> bytes:
        """The serialized ModelInferResponse to a serialized ModelInferRequest, which has
        `remaining` seconds left.

        It counts as unread until the caller releases it.
        """
        arrived = time.monotonic()
        try:
            self.unread.check(connection)
            request, copies = read_request(message, self.engine.settings)
            limits = [
                seconds for seconds in (remaining, timeout_of(request)) if seconds is not None
            ]
        except ServingError as error:
            self.engine.refuse("", "", error, time.monotonic() - arrived)
            raise
        for zero_copy, nbytes in copies:
            self.engine.metrics.input(zero_copy, nbytes)
        if limits:
            request.deadline = arrived + min(limits)
        return await self.engine.answer(request, partial(self.write, connection))

    def write(self, connection: str, response: InferResponse) -> bytes:
        """A serialized response, which counts as unread from now on."""
        try:
            content = write_response(response)
        except TypeError as error:
            raise ModelFailed(f"the model's output cannot be sent: {error}") from None
        self.unread.hold(connection, len(content))
        return content


def small_call(engine: Engine, name: str, call: Call) -> grpc.RpcMethodHandler:
    """The handler of a call whose messages protobuf reads and writes: from `name` + "Request" to
    `name` + "Response".
    """
    request_type = getattr(open_inference(), f"{name}Request")

    async def handle(message: bytes, context: grpc.aio.ServicerContext) -> bytes:
        try:
            try:
                request = request_type.FromString(message)
            except DecodeError as error:
                raise InvalidRequest(f"not a {name}Request: {error}") from None
            content: bytes = (await call(engine, request)).SerializeToString()
            return content
        except ServingError as error:
            await refuse(context, error)
            raise

    return grpc.unary_unary_rpc_method_handler(handle)


async def refuse(context: grpc.aio.ServicerContext, error: ServingError) -> None:
    """Ends a call with the status of an error. Always raises gRPC's AbortError."""
    await context.abort(grpc.StatusCode[error.code], str(error))
