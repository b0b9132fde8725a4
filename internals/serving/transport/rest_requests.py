"""Reads the body of an inference request: JSON, followed by the bytes of tensors that the JSON only
describes.

    {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 784],
                 "parameters": {"binary_data_size": 6272}}]}<6272 bytes>

This is the protocol's binary tensor extension. The header `Inference-Header-Content-Length` is the
length of the JSON. The tensors follow in the order of the inputs, without gaps; inputs with "data"
in the JSON may be in between. With a header length of 0 there is no JSON at all, and the body is
the model's only input: an image from curl.

Nothing in the JSON is trusted: types, sizes and names are checked before they are used, and errors
name the input. Python's parser limits the depth (to some hundred levels), and `JSON_MOST` the size:
parsed JSON takes up to twenty times its length in memory, and nothing else runs meanwhile.

Mirrors `HTTPAPIServer::EVBufferToInput` of Triton (`server/src/http_server.cc`) and KServe's
`InferRequest.from_bytes`.

How the real one differs: Triton also accepts tensors by reference, from shared memory that the
client has registered, and can turn scores into class names. Both are refused here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, prod
from typing import Any

from internals import Tensor

from ..errors import InvalidRequest, NotSupported, TooLarge
from ..inference import InferRequest, Parameter
from ..models.signature import Signature
from ..protocol.datatypes import datatype_of
from ..protocol.policies import tensor_from_memory
from ..settings import Settings
from .rest_tensors import json_type, tensor_from_json

HEADER_LENGTH = "Inference-Header-Content-Length"
TIMEOUT = "Request-Timeout"  # seconds; ours, for clients that write no JSON
JSON_MOST = 16 << 20  # bytes
MOST_TENSORS = 256
MOST_PARAMETERS = 256
LONGEST_NAME = 1024
LONGEST_TIMEOUT = 7 * 24 * 3600.0  # seconds


@dataclass(slots=True)
class RestRequest:
    """A request; `copies` tells for each input whether it is a view of the body, and its number of
    bytes; `binary` which outputs the client wants as bytes.
    """

    request: InferRequest
    copies: list[tuple[bool, int]]
    binary: dict[str, bool] = field(default_factory=dict)
    binary_default: bool = False

    def wants_bytes(self, name: str) -> bool:
        return self.binary.get(name, self.binary_default)


def read_header_length(headers: Mapping[str, str]) -> int | None:
    """The length of the JSON, None without the header. Raises InvalidRequest if it is not a number
    of bytes.
    """
    text = headers.get(HEADER_LENGTH)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidRequest(
            f"{HEADER_LENGTH} is {text[:50]!r}: it is the number of bytes of the JSON, such as 123"
        )
    return int(text)


def read_timeout(headers: Mapping[str, str]) -> float | None:
    """The seconds that the client will wait, None for any time. Raises InvalidRequest."""
    text = headers.get(TIMEOUT)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not (isfinite(seconds) and seconds > 0):
        raise InvalidRequest(
            f"{TIMEOUT} is {text[:50]!r}: it is a number of seconds above 0, such as 0.5"
        )
    return min(seconds, LONGEST_TIMEOUT)


def read_request(
    body: memoryview,
    header_length: int | None,
    model: str,
    version: str,
    signature: Signature,
    settings: Settings,
    arrived: float,
) -> RestRequest:
    """Reads the request in a body. `arrived`, on the clock of `time.monotonic()`, is the start of
    its timeout.

    Raises InvalidRequest, TooLarge or NotSupported.
    """
    if header_length is not None and header_length > body.nbytes:
        raise InvalidRequest(
            f"{HEADER_LENGTH} is {header_length}, but the body has {body.nbytes} bytes"
        )
    if header_length == 0:
        name, tensor, zero_copy = read_raw(body, signature, settings)
        request = InferRequest(model=model, version=version, inputs={name: tensor})
        return RestRequest(request, [(zero_copy, tensor.nbytes)], binary_default=True)
    said = parse(body if header_length is None else body[:header_length], header_length is None)
    rest = None if header_length is None else body[header_length:]
    parameters = read_parameters(said, "the request")
    inputs, copies = read_inputs(said, rest, settings)
    binary = read_outputs(said)
    default = flag(parameters.pop("binary_data_output", False), "binary_data_output", "the request")
    timeout = parameters.pop("timeout", 0)
    if type(timeout) is not int or timeout < 0:
        raise InvalidRequest(
            f"parameters.timeout is {json_type(timeout)}: it is an integer of microseconds, 0 for "
            "no limit"
        )
    request = InferRequest(
        model=model,
        version=version,
        id=text_of(said, "id", "the request") if "id" in said else "",
        inputs=inputs,
        outputs=tuple(binary),
        deadline=arrived + min(timeout / 1e6, LONGEST_TIMEOUT) if timeout else None,
        parameters=parameters,
    )
    return RestRequest(
        request,
        copies,
        {name: given for name, given in binary.items() if given is not None},
        default,
    )


def parse(text: memoryview, whole: bool) -> dict[str, Any]:
    """Parses the JSON object. `whole` tells that all of the body was taken as JSON, because there
    is no header with its length.
    """
    if text.nbytes > JSON_MOST:
        raise TooLarge(
            f"the JSON has {text.nbytes} bytes, {JSON_MOST} are parsed: send tensors as binary "
            "data behind it"
        )
    hint = (
        f"; when tensors follow it, {HEADER_LENGTH} has to say how long it is"
        if whole
        else f" in its first {text.nbytes} bytes"
    )
    try:
        said = json.loads(str(text, "utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON{hint}: {error}") from None
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"the body is not JSON in UTF-8{hint}: byte {error.start} is not text"
        ) from None
    except RecursionError:
        raise InvalidRequest(
            "the JSON is nested too deeply: a tensor is nested as deeply as it has dimensions"
        ) from None
    except ValueError:
        raise InvalidRequest("the JSON has a number with thousands of digits") from None
    if not isinstance(said, dict):
        raise InvalidRequest(f"the JSON is {json_type(said)}: a request is an object with 'inputs'")
    return said


def read_inputs(
    said: dict[str, Any], rest: memoryview | None, settings: Settings
) -> tuple[dict[str, Tensor], list[tuple[bool, int]]]:
    """Returns the input tensors by name, and the `copies` of `RestRequest`. Each tensor is in its
    "data", or in the next `binary_data_size` bytes of `rest`, which follows the JSON.
    """
    inputs: dict[str, Tensor] = {}
    copies: list[tuple[bool, int]] = []
    position = 0
    for i, given in enumerate(list_of_objects(said, "inputs")):
        name = text_of(given, "name", f"inputs[{i}]")
        if name in inputs:
            raise InvalidRequest(f"input '{name}' is there twice")
        what = f"input '{name}'"
        datatype, shape = text_of(given, "datatype", what), read_shape(given, what)
        size = read_parameters(given, what).get("binary_data_size")
        if size is None:
            if "data" not in given:
                raise InvalidRequest(
                    f"{what} has neither data nor, among its parameters, binary_data_size"
                )
            # `pop`: the parsed list is large, and can be freed when it has become a tensor
            tensor, zero_copy = tensor_from_json(given.pop("data"), datatype, shape, name, settings)
        else:
            memory = next_memory(given, size, rest, position, what)
            position += memory.nbytes
            tensor, zero_copy = tensor_from_memory(memory, datatype, shape, name, settings)
        inputs[name] = tensor
        copies.append((zero_copy, tensor.nbytes))
    if rest is not None and position != rest.nbytes:
        raise InvalidRequest(
            f"behind the JSON are {rest.nbytes} bytes, of which the inputs take {position}: "
            f"the binary_data_size of all inputs together is the rest of the body"
        )
    return inputs, copies


def next_memory(
    given: dict[str, Any], size: Parameter, rest: memoryview | None, position: int, what: str
) -> memoryview:
    """The `size` bytes at `position` of `rest`. Raises InvalidRequest if they are not there."""
    if type(size) is not int or size < 0:
        raise InvalidRequest(
            f"{what}: binary_data_size is {json_type(size)}: it is a number of bytes, not negative"
        )
    if "data" in given:
        raise InvalidRequest(f"{what} has data and binary_data_size: send one of them")
    if rest is None:
        raise InvalidRequest(
            f"{what} has binary_data_size, but the header {HEADER_LENGTH} is missing: it says "
            "where the JSON ends"
        )
    if size > rest.nbytes - position:
        raise InvalidRequest(
            f"{what}: binary_data_size is {size}, but the body has {rest.nbytes - position} bytes "
            "for it"
        )
    return rest[position : position + size]


def read_outputs(said: dict[str, Any]) -> dict[str, bool | None]:
    """The wanted outputs, and whether each is wanted as bytes (None if it does not say)."""
    wanted: dict[str, bool | None] = {}
    for i, given in enumerate(list_of_objects(said, "outputs") if "outputs" in said else ()):
        name = text_of(given, "name", f"outputs[{i}]")
        if name in wanted:
            raise InvalidRequest(f"output '{name}' is there twice")
        what = f"output '{name}'"
        parameters = read_parameters(given, what)
        if parameters.get("classification"):
            raise NotSupported(
                f"{what}: classification is not served: take the scores, and their largest"
            )
        wanted[name] = (
            flag(parameters["binary_data"], "binary_data", what)
            if "binary_data" in parameters
            else None
        )
    return wanted


def read_raw(
    body: memoryview, signature: Signature, settings: Settings
) -> tuple[str, Tensor, bool]:
    """The only input of a model, from bytes without JSON: its name, the tensor, and whether it is a
    view. The signature must be known except for one size, which follows from the number of bytes.
    """
    if (
        len(signature.inputs) != 1
        or (spec := signature.inputs[0]).dtype is None
        or spec.shape is None
    ):
        raise InvalidRequest(
            f"{HEADER_LENGTH}: 0 means no JSON: that takes a model with one input, of known "
            "datatype and shape"
        )
    known = prod(size for size in spec.shape if size != -1) * spec.dtype.itemsize
    if spec.shape.count(-1) > 1 or known == 0:
        raise InvalidRequest(
            f"input '{spec.name}' is {list(spec.shape)}: bytes alone do not tell its shape, send "
            "JSON before them"
        )
    shape = [body.nbytes // known if size == -1 else size for size in spec.shape]
    return spec.name, *tensor_from_memory(body, datatype_of(spec.dtype), shape, spec.name, settings)


def read_shape(given: dict[str, Any], what: str) -> list[int]:
    """The "shape" of an input. Raises InvalidRequest unless it is a list of 64-bit integers."""
    shape = given.get("shape")
    if (
        not isinstance(shape, list)
        or set(map(type, shape)) - {int}
        or any(abs(size) >= 1 << 63 for size in shape)
    ):
        raise InvalidRequest(f"{what}: shape is a list of integers of 64 bits, such as [1, 784]")
    return shape


def read_parameters(said: dict[str, Any], what: str) -> dict[str, Parameter]:
    """The "parameters" of the request or of a tensor. Raises InvalidRequest for wrong ones, and
    NotSupported for shared memory.
    """
    parameters = said.get("parameters", {})
    if not isinstance(parameters, dict) or len(parameters) > MOST_PARAMETERS:
        raise InvalidRequest(f"{what}: parameters is an object of at most {MOST_PARAMETERS} values")
    for key, value in parameters.items():
        if type(value) not in (bool, int, float, str):
            raise InvalidRequest(
                f"{what}: the parameter '{key[:50]}' is {json_type(value)}: it is a number, a "
                "string, true or false"
            )
        if key.startswith("shared_memory"):
            raise NotSupported(
                f"{what}: shared memory is not served: send the tensor as binary data"
            )
    return dict(parameters)


def list_of_objects(said: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The value of "inputs" or "outputs". Raises InvalidRequest unless it is a list of objects."""
    found = said.get(key)
    if not isinstance(found, list) or set(map(type, found)) - {dict}:
        raise InvalidRequest(
            f"'{key}' is {json_type(found)}: it is a list of objects, each with a 'name'"
        )
    if len(found) > MOST_TENSORS:
        raise InvalidRequest(f"there are {len(found)} {key}: at most {MOST_TENSORS} are accepted")
    return found


def text_of(said: dict[str, Any], key: str, what: str) -> str:
    """The string under a key. Raises InvalidRequest if it is missing or too long."""
    text = said.get(key)
    if not isinstance(text, str) or len(text) > LONGEST_NAME:
        raise InvalidRequest(f"{what}: '{key}' is a string of at most {LONGEST_NAME} characters")
    return text


def flag(value: Parameter, key: str, what: str) -> bool:
    """The value of a parameter that is a boolean. Raises InvalidRequest for another type."""
    if not isinstance(value, bool):
        raise InvalidRequest(f"{what}: {key} is {json_type(value)}: it is true or false")
    return value
