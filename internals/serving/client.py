"""A small gRPC client: tensors in, tensors out.

`Client` blocks, `AsyncClient` awaits. Any client of the Open Inference Protocol works, too
(`tritonclient.grpc`); this one shows how such a client works. It also puts each tensor at an offset
in the message that is a multiple of 16, so that the server does not have to copy it. The padding
before it is a field with an unknown number, which every server skips.

Mirrors `tritonclient/grpc/_client.py`.

How the real one differs: Triton's client takes a numpy array, name and datatype for each input, and
can share memory with the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc

from internals import Tensor
from internals.core.corrected import corrected

from .errors import ServingError
from .protocol import wire
from .protocol.datatypes import datatype_of
from .protocol.messages import RAW_INPUT_CONTENTS, RAW_OUTPUT_CONTENTS, memory_of
from .protocol.policies import tensor_from_memory
from .protocol.schema import open_inference
from .settings import Settings

METHOD = "/inference.GRPCInferenceService/"
PADDING = 1000  # a field number that the protocol does not use
ALIGNMENT = 16  # bytes
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.http2.max_frame_size", 1 << 20),
]
Inputs = Tensor | Sequence[Tensor] | Mapping[str, Tensor]


class RemoteError(ServingError):
    """The server's error, which it sent instead of tensors. `status` is the `grpc.StatusCode`."""

    def __init__(self, error: grpc.RpcError) -> None:
        self.status = error.code()
        super().__init__(f"{self.status.name}: {error.details()}")


class Client:
    """A connection to the server at `address` ("127.0.0.1:8001").

    `root_certificates` (a PEM file, for TLS), `certificate` and `key` (for mTLS) and `token` are
    needed if the server requires them.
    """

    def __init__(self, address: str, token: str | None = None, **tls: Path | str) -> None:
        self.channel = open_channel(grpc, address, tls)
        self.metadata = metadata(token)

    def infer(
        self,
        model: str,
        inputs: Inputs,
        *,
        version: str = "",
        id: str = "",
        outputs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Any:
        """Returns the model's outputs: a tensor, a tuple of several, or a dict if `inputs` is a
        dict.

        `inputs` are a dict by name, or in the model's order. `outputs` are the names of those
        wanted, () for all; `timeout` is in seconds. Raises RemoteError.
        """
        message = write_request(model, inputs, version, id, outputs)
        call = self.channel.unary_unary(f"{METHOD}ModelInfer")
        try:
            answer = call(message, timeout=timeout, metadata=self.metadata)
        except grpc.RpcError as error:
            raise RemoteError(error) from None
        return as_asked(read_response(answer), inputs)

    def call(self, name: str, /, timeout: float | None = None, **fields: Any) -> Any:
        """Calls another method of the service: `call("ModelMetadata", name="mlp").inputs`."""
        schema = open_inference()
        method = self.channel.unary_unary(
            METHOD + name,
            getattr(schema, f"{name}Request").SerializeToString,
            getattr(schema, f"{name}Response").FromString,
        )
        try:
            return method(
                getattr(schema, f"{name}Request")(**fields), timeout=timeout, metadata=self.metadata
            )
        except grpc.RpcError as error:
            raise RemoteError(error) from None

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AsyncClient:
    """A `Client` for `async` code:

    async with AsyncClient(address) as client:
        await client.infer("mlp", x)
    """

    def __init__(self, address: str, token: str | None = None, **tls: Path | str) -> None:
        self.channel = open_channel(grpc.aio, address, tls)
        self.metadata = metadata(token)
        self.model_infer = self.channel.unary_unary(f"{METHOD}ModelInfer")

    async def infer(
        self,
        model: str,
        inputs: Inputs,
        *,
        version: str = "",
        id: str = "",
        outputs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Any:
        """As `Client.infer`. Cancelling the task cancels the request on the server."""
        message = write_request(model, inputs, version, id, outputs)
        return as_asked(read_response(await self.send(message, timeout)), inputs)

    async def send(self, message: bytes, timeout: float | None = None) -> bytes:
        """Sends a serialized ModelInferRequest, and returns the serialized ModelInferResponse."""
        try:
            answer: bytes = await self.model_infer(message, timeout=timeout, metadata=self.metadata)
        except grpc.RpcError as error:
            raise RemoteError(error) from None
        return answer

    async def close(self) -> None:
        await self.channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def write_request(
    model: str, inputs: Inputs, version: str = "", id: str = "", outputs: Sequence[str] = ()
) -> bytes:
    """A serialized ModelInferRequest, in which the bytes of each tensor are aligned."""
    schema = open_inference()
    head = schema.ModelInferRequest(model_name=model, model_version=version, id=id)
    named = named_inputs(inputs)
    for name, tensor in named.items():
        head.inputs.add(name=name, datatype=datatype_of(tensor.dtype), shape=tensor.shape)
    for name in outputs:
        head.outputs.add(name=name)
    message = head.SerializeToString()
    # [message without tensors] then for each tensor [padding][key][length][bytes of the tensor]
    memories = [memory_of(tensor) for tensor in named.values()]
    parts: list[bytes | memoryview] = [message]
    length = len(message)
    key = wire.write_varint(RAW_INPUT_CONTENTS << 3 | wire.BYTES)
    for memory in memories:
        before = key + wire.write_varint(memory.nbytes)
        room = padding(-(length + len(before)) % ALIGNMENT)
        parts += (room, before, memory)
        length += len(room) + len(before) + memory.nbytes
    return b"".join(parts)


def padding(missing: int) -> bytes:
    """A field to be skipped, whose length is `missing` modulo 16; b"" for 0."""
    if missing == 0:
        return b""
    key = wire.write_varint(PADDING << 3 | wire.BYTES)
    # The field has its key, one byte for the length, and 0 to 15 bytes of content.
    content = (missing - len(key) - 1) % ALIGNMENT
    return key + wire.write_varint(content) + bytes(content)


def read_response(message: bytes) -> dict[str, Tensor]:
    """The outputs of a serialized ModelInferResponse: views of the message's memory where that is
    aligned, else copies.
    """
    head, raw = wire.take_out(message, RAW_OUTPUT_CONTENTS)
    said = open_inference().ModelInferResponse.FromString(head)
    accept = Settings()
    return {
        output.name: tensor_from_memory(memory, output.datatype, output.shape, output.name, accept)[
            0
        ]
        for output, memory in zip(said.outputs, raw)
    }


def named_inputs(inputs: Inputs) -> Mapping[str, Tensor]:
    """The inputs by name: `INPUT__0`, `INPUT__1`, ... without one. TypeError for non-tensors."""
    if not isinstance(inputs, Mapping):
        tensors = inputs if isinstance(inputs, Sequence) else [inputs]
        inputs = {f"INPUT__{i}": tensor for i, tensor in enumerate(tensors)}
    for name, tensor in inputs.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(
                corrected(
                    f"the input '{name}' is of type {type(tensor).__name__}, not a tensor",
                    f"{{'{name}': {tensor!r:.40}}}",
                    f"{{'{name}': torch.tensor({tensor!r:.40})}}",
                )
            )
    return inputs


def as_asked(outputs: dict[str, Tensor], inputs: Inputs) -> Any:
    """The outputs in the form of the inputs: a dict for a dict, else a tensor or a tuple."""
    if isinstance(inputs, Mapping):
        return outputs
    return next(iter(outputs.values())) if len(outputs) == 1 else tuple(outputs.values())


def metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    """The headers of a call, with the token if there is one."""
    return () if token is None else (("authorization", f"Bearer {token}"),)


def open_channel(library: Any, address: str, tls: Mapping[str, Path | str]) -> Any:
    """A channel of `library` (`grpc` or `grpc.aio`), encrypted if there are options for TLS."""
    if not tls:
        return library.insecure_channel(address, options=OPTIONS)
    names = ("root_certificates", "key", "certificate")
    for name in tls:
        if name not in names:
            raise TypeError(f"a client has no option '{name}'; for TLS it has {', '.join(names)}")
    content = [Path(tls[name]).read_bytes() if name in tls else None for name in names]
    return library.secure_channel(address, grpc.ssl_channel_credentials(*content), options=OPTIONS)
