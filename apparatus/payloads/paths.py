"""From the client's array to the server's tensor, step by step, six ways.

Each way is a list of steps, a function each: what one returns the next takes. Between `client` and
`server` there is a socket, which is the same for all of them: the kernel copies the body out of one
process and into the other, byte for byte. What differs is how long the body is, and what happens
before and after. `copies.follow` walks the steps and watches.

The first three are what tutorials do, with Flask or without; "protobuf" is what anyone does who
takes the generated classes; "protobuf, ours" is what `internals.serving` does; "raw" has no message
around the numbers, and so cannot say what they are.

How the real one differs: web frameworks keep more than they need; Flask's `request.json` has the
text beside the parsed object.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from internals import from_numpy
from internals.construction.tensor_numpy import borrow_array
from internals.serving.client import write_request
from internals.serving.protocol.messages import read_request
from internals.serving.protocol.schema import open_inference
from internals.serving.settings import Settings

Look = Callable[[Any], Any]


@dataclass(frozen=True)
class Step:
    """What is done, and `look`: the first piece of payload in its result, where that is no memory
    with an address.
    """

    what: str
    run: Callable[[Any], Any]
    look: Look | None = None


@dataclass(frozen=True)
class Path:
    name: str
    client: tuple[Step, ...]
    server: tuple[Step, ...]


def tensor_from(buffer: Any, dtype: Any = np.float32) -> Any:
    """A tensor on the memory of a buffer."""
    return borrow_array(np.frombuffer(buffer, dtype))


def raw_bytes(array: np.ndarray) -> memoryview:
    """An array's memory, as bytes."""
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]  # numpy's stubs lack __buffer__ before 3.12


def message(content: bytes) -> Any:
    """A ModelInferRequest with one raw input, as the generated class makes it."""
    request = open_inference().ModelInferRequest(model_name="resnet")
    request.inputs.add(name="x", datatype="FP32", shape=[len(content) // 4])
    request.raw_input_contents.append(content)
    return request


def first_raw(request: Any) -> Any:
    return request.raw_input_contents[0][:4]


def through_base64(name: str, encode: Callable[[bytes], bytes]) -> Path:
    return Path(
        name,
        (
            Step("array.tobytes()", lambda array: array.tobytes()),
            Step(encode.__name__, encode),
            Step('decode("ascii")', lambda letters: letters.decode("ascii")),
            Step("json.dumps", lambda text: json.dumps({"b64": text})),
            Step("encode", str.encode),
        ),
        (
            Step("json.loads", json.loads, look=lambda body: body["b64"][:4]),
            Step('["b64"]', lambda body: body["b64"]),
            Step("b64decode", base64.b64decode),
            Step("np.frombuffer, from_numpy", tensor_from),
        ),
    )


PATHS = {
    path.name: path
    for path in (
        Path(
            "JSON list",
            (
                Step(
                    "array.tolist()", lambda array: array.tolist(), look=lambda numbers: numbers[0]
                ),
                Step("json.dumps", lambda numbers: json.dumps({"data": numbers})),
                Step("encode", str.encode),
            ),
            (
                Step("json.loads", json.loads, look=lambda body: body["data"][0]),
                Step(
                    "np.array, from_numpy",
                    lambda body: borrow_array(np.array(body["data"], np.float32)),
                ),
            ),
        ),
        through_base64("JSON, base64 in lines", base64.encodebytes),
        through_base64("JSON, base64", base64.b64encode),
        Path(
            "protobuf",
            (
                Step("array.tobytes()", lambda array: array.tobytes()),
                Step("a message of it", message, look=first_raw),
                Step("SerializeToString", lambda request: request.SerializeToString()),
            ),
            (
                Step(
                    "FromString",
                    lambda body: open_inference().ModelInferRequest.FromString(body),
                    look=first_raw,
                ),
                Step(".raw_input_contents[0]", lambda request: request.raw_input_contents[0]),
                Step("np.frombuffer, from_numpy", tensor_from),
            ),
        ),
        Path(
            "protobuf, ours",
            (
                Step("from_numpy", from_numpy),
                Step("write_request", lambda tensor: write_request("resnet", tensor)),
            ),
            (
                Step(
                    "read_request",
                    lambda body: read_request(body, Settings())[0].inputs["INPUT__0"],
                ),
            ),
        ),
        Path(
            "raw",
            (Step("a view of the array", raw_bytes),),
            (Step("np.frombuffer, from_numpy", tensor_from),),
        ),
    )
}
