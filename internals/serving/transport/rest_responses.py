"""Writes a response: JSON that describes the outputs, and the memory of those wanted as bytes.

    {"model_name": "mlp", "model_version": "1",
     "outputs": [{"name": "y", "datatype": "FP32", "shape": [2, 10],
                  "parameters": {"binary_data_size": 80}}]}<80 bytes>

The memory is not copied into the response: `rest_bodies.send` writes the JSON, then the memory of
each output.

Mirrors `HTTPAPIServer::InferRequestClass::FinalizeResponse` of Triton
(`server/src/http_server.cc`).

How the real one differs: the HTTP server has allocated the output itself, and adds it by reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..errors import ModelFailed
from ..inference import InferResponse
from ..protocol.datatypes import datatype_of
from ..protocol.messages import memory_of
from .rest_requests import HEADER_LENGTH
from .rest_tensors import elements_to_json

# headers, JSON, memory of the outputs
Answer = tuple[dict[str, str], bytes, list[memoryview]]


def write_response(response: InferResponse, wants_bytes: Callable[[str], bool]) -> Answer:
    """Returns the headers, the JSON, and the memory of the outputs for which `wants_bytes(name)` is
    True, in the order of the JSON.

    Raises ModelFailed for an output without a datatype in the protocol.
    """
    outputs: list[dict[str, Any]] = []
    memories: list[memoryview] = []
    binary = False
    for name, tensor in response.outputs.items():
        try:
            described: dict[str, Any] = {
                "name": name,
                "datatype": datatype_of(tensor.dtype),
                "shape": list(tensor.shape),
            }
        except TypeError as error:
            raise ModelFailed(f"output '{name}': {error}") from None
        if wants_bytes(name):
            memory = memory_of(tensor)
            described["parameters"] = {"binary_data_size": memory.nbytes}
            memories.append(memory)
            binary = True
        else:
            described["data"] = elements_to_json(tensor)
        outputs.append(described)
    said: dict[str, Any] = {
        "model_name": response.model,
        "model_version": response.version,
        "outputs": outputs,
    }
    if response.id:
        said["id"] = response.id
    head = json.dumps(said, allow_nan=False, separators=(",", ":")).encode("ascii")
    if not binary:
        return {"Content-Type": "application/json"}, head, []
    return (
        {"Content-Type": "application/octet-stream", HEADER_LENGTH: str(len(head))},
        head,
        memories,
    )
