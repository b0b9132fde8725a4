"""gRPC messages to requests, and responses to messages, with the tensors left out of protobuf's
hands.

`read_request` walks the message for its raw contents, lets protobuf read the rest, and makes
tensors on the message's own bytes. `write_response` lets protobuf write everything but the tensors,
and appends their memory.

A tensor can also come as `contents`, a field for each element. That is the slow way of the
protocol, converted as a whole.

Mirrors `InferGRPCToInput` and `InferResponseCompleteCommon` of Triton
(`server/src/grpc/infer_handler.cc`).

How the real one differs: Triton refuses a request that mixes both ways, as this does; and it takes
BYTES.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from internals import Tensor

from ..errors import InvalidRequest, NotSupported
from ..inference import InferRequest, InferResponse, Parameter
from ..settings import Settings
from . import wire
from .datatypes import datatype_of
from .policies import check_header, tensor_from_elements, tensor_from_memory
from .schema import open_inference

RAW_INPUT_CONTENTS, RAW_OUTPUT_CONTENTS = 7, 6  # their numbers in open_inference.proto
INFER_RESPONSE = 2
CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}


def read_request(message: bytes, settings: Settings) -> tuple[InferRequest, list[tuple[bool, int]]]:
    """A serialized ModelInferRequest; and of each input whether it stayed where it was, and its
    bytes.

    Raises InvalidRequest when it is not one, or contradicts itself; NotSupported for shared memory
    and classification.
    """
    try:
        head, raw = wire.take_out(message, RAW_INPUT_CONTENTS)
        said = open_inference().ModelInferRequest.FromString(head)
    except (ValueError, DecodeError) as error:
        raise InvalidRequest(f"not a ModelInferRequest: {error}") from None
    if raw and len(raw) != len(said.inputs):
        raise InvalidRequest(
            f"there are {len(said.inputs)} inputs, but raw_input_contents for {len(raw)}"
        )
    inputs: dict[str, Tensor] = {}
    copies: list[tuple[bool, int]] = []
    for i, given in enumerate(said.inputs):
        if given.name in inputs:
            raise InvalidRequest(f"input '{given.name}' is there twice")
        if not raw:
            tensor, zero_copy = read_contents(given, settings), False
        elif given.HasField("contents"):
            raise InvalidRequest(
                f"input '{given.name}' has contents and raw_input_contents: send one of them"
            )
        else:
            tensor, zero_copy = tensor_from_memory(
                raw[i], given.datatype, given.shape, given.name, settings
            )
        inputs[given.name] = tensor
        copies.append((zero_copy, tensor.nbytes))
    for what, given in (
        *(("input", i) for i in said.inputs),
        *(("output", o) for o in said.outputs),
    ):
        if given.parameters:
            refuse_extensions(given.parameters, f"{what} '{given.name}'")
    request = InferRequest(
        model=said.model_name,
        version=said.model_version,
        id=said.id,
        inputs=inputs,
        outputs=tuple(wanted.name for wanted in said.outputs),
        parameters={name: read_parameter(value) for name, value in said.parameters.items()},
    )
    return request, copies


def write_response(response: InferResponse) -> bytes:
    """A serialized ModelInferResponse: each tensor is copied once, into the message. Raises
    TypeError for a complex tensor.
    """
    schema = open_inference()
    head = schema.ModelInferResponse(
        model_name=response.model, model_version=response.version, id=response.id
    )
    memory = []
    for name, tensor in response.outputs.items():
        head.outputs.add(name=name, datatype=datatype_of(tensor.dtype), shape=tensor.shape)
        memory.append(memory_of(tensor))
    return wire.put_in(head.SerializeToString(), RAW_OUTPUT_CONTENTS, memory)


def write_stream_response(content: bytes = b"", error: str = "") -> bytes:
    """A serialized ModelStreamInferResponse around a serialized ModelInferResponse."""
    head = open_inference().ModelStreamInferResponse(error_message=error).SerializeToString()
    return wire.put_in(head, INFER_RESPONSE, [memoryview(content)])


def memory_of(tensor: Tensor) -> memoryview:
    """The elements as they lie in memory, row-major: the tensor's own memory, or a copy's where it
    has gaps.
    """
    array = tensor.detach().contiguous().numpy()
    return memoryview(array.reshape(-1)).cast("B") if array.size else memoryview(b"")


def read_contents(given: Any, settings: Settings) -> Tensor:
    """An input whose elements are fields."""
    kind = CONTENTS.get(given.datatype)
    if kind is None:
        check_header(given.datatype, (), given.name)  # raises for one that is served in no way
        raise InvalidRequest(
            f"input '{given.name}': {given.datatype} comes in raw_input_contents only"
        )
    filled = [field.name for field, _ in given.contents.ListFields()]
    if filled not in ([], [kind]):
        raise InvalidRequest(
            f"input '{given.name}': the elements of {given.datatype} are in {kind}, not in "
            f"{', '.join(filled)}"
        )
    return tensor_from_elements(
        getattr(given.contents, kind), given.datatype, given.shape, given.name, settings
    )


def read_parameter(value: Any) -> Parameter:
    kind = value.WhichOneof("parameter_choice")
    found: Parameter = getattr(value, kind) if kind else ""
    return found


def refuse_extensions(parameters: Any, what: str) -> None:
    """Triton's, which would change the answer: to pass over them would be to give another one than
    was asked for.
    """
    if any(name.startswith("shared_memory") for name in parameters):
        raise NotSupported(
            f"{what}: shared memory is not served: send the tensor in raw_input_contents"
        )
    if "classification" in parameters and read_parameter(parameters["classification"]):
        raise NotSupported(
            f"{what}: classification is not served: take the scores, and their largest"
        )


def timeout_of(request: InferRequest) -> float | None:
    """Seconds that the request's parameter `timeout`, in microseconds, gives it; None for no limit.
    Raises InvalidRequest.
    """
    timeout = request.parameters.get("timeout", 0)
    if type(timeout) is not int or timeout < 0:
        raise InvalidRequest(
            "the parameter 'timeout' is an integer of microseconds, 0 for no limit"
        )
    return timeout / 1e6 if timeout else None
