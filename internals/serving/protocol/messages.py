"""Reads requests from gRPC messages and writes responses to them, without passing the tensors
through protobuf.

`read_request` finds the raw contents in the message, lets protobuf read the rest, and creates
tensors that are views of the message's bytes. `write_response` lets protobuf write everything but
the tensors, and appends their memory.

A tensor can also be sent as `contents`, with a field for each element. That is the slow path of the
protocol; these are copied.

Mirrors `InferGRPCToInput` and `InferResponseCompleteCommon` of Triton
(`server/src/grpc/infer_handler.cc`).

How the real one differs: Triton also accepts BYTES. (It refuses a request with both forms of
contents, as this does.)
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

RAW_INPUT_CONTENTS, RAW_OUTPUT_CONTENTS = 7, 6  # field numbers in open_inference.proto
INFER_RESPONSE = 2  # of ModelStreamInferResponse
# datatype -> the field of `contents` that has its elements
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
    """Reads a serialized ModelInferRequest. Also returns for each input whether it is a view of the
    message, and its number of bytes.

    Raises InvalidRequest if it is not one, or contradicts itself; NotSupported for shared memory
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
    """A serialized ModelInferResponse, into which each tensor is copied once. Raises TypeError for
    a complex tensor.
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
    """A serialized ModelStreamInferResponse with a serialized ModelInferResponse as `content`."""
    head = open_inference().ModelStreamInferResponse(error_message=error).SerializeToString()
    return wire.put_in(head, INFER_RESPONSE, [memoryview(content)])


def memory_of(tensor: Tensor) -> memoryview:
    """The elements as bytes, row-major: the tensor's own memory, or that of a copy if the tensor is
    not contiguous.
    """
    array = tensor.detach().contiguous().numpy()
    return memoryview(array.reshape(-1)).cast("B") if array.size else memoryview(b"")


def read_contents(given: Any, settings: Settings) -> Tensor:
    """The tensor of an input whose elements are in `contents`. Raises InvalidRequest."""
    kind = CONTENTS.get(given.datatype)
    if kind is None:
        check_header(given.datatype, (), given.name)  # raises for an unknown datatype
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
    """The Python value of an InferParameter, which is a protobuf `oneof`; "" if it is not set."""
    kind = value.WhichOneof("parameter_choice")
    found: Parameter = getattr(value, kind) if kind else ""
    return found


def refuse_extensions(parameters: Any, what: str) -> None:
    """Raises NotSupported for parameters of Triton that change the answer: ignoring them would give
    a wrong one.
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
    """The request's parameter `timeout`, which is in microseconds, in seconds; None for no limit.
    Raises InvalidRequest.
    """
    timeout = request.parameters.get("timeout", 0)
    if type(timeout) is not int or timeout < 0:
        raise InvalidRequest(
            "the parameter 'timeout' is an integer of microseconds, 0 for no limit"
        )
    return timeout / 1e6 if timeout else None
