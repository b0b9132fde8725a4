"""One image of 3 x 224 x 224 float32, 588 KiB, sent in four ways to a model that hardly computes.

As protobuf over gRPC the bytes are the tensor. REST has them behind the JSON, or as base64 in it (a
third more bytes, and two passes over them), or as a list of numbers (five times the bytes, each
parsed). Encoding is the client's part of the way and counts: every request starts from the array.
The ways take turns of a few requests each, since the first one after another way's finds its caches
cold; a ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.serving import models
from benchmarks.serving.process import ServerProcess
from internals import Tensor
from internals.serving.client import Client

PROTOBUF, BINARY, BASE64, LISTS = (
    "protobuf over gRPC",
    "JSON + binary",
    "JSON + base64",
    "JSON lists",
)
PATH = "/v2/models/shades/infer"
TURN = 5  # requests
ASKED = {"outputs": [{"name": "OUTPUT__0", "parameters": {"binary_data": False}}]}


def image(folder: Path, rounds: int = 40) -> dict[str, Any]:
    """Milliseconds and bytes of each way, and how much longer than protobuf it takes. Raises
    RuntimeError for a wrong answer.
    """
    x = models.numbers(0, models.IMAGE).reshape(1, *models.IMAGE) / 1000
    expected = x.mean((2, 3)).numpy()
    with ServerProcess(folder, "--max-delay", "0") as server, Client(server.grpc) as client:
        host, _, port = server.http.rpartition(":")
        connection = HTTPConnection(host, int(port), timeout=60)
        bodies = {
            BINARY: lambda: binary(x),
            BASE64: lambda: (as_json({"b64": base64.b64encode(memory(x)).decode()}), None),
            LISTS: lambda: (as_json(x.numpy().reshape(-1).tolist()), None),
        }
        ways: dict[str, Callable[[], np.ndarray]] = {
            name: lambda make=make: post(connection, *make())  # type: ignore[misc]
            for name, make in bodies.items()
        }
        ways = {PROTOBUF: lambda: client.infer("shades", {"x": x})["OUTPUT__0"].numpy(), **ways}
        times = take_turns(ways, rounds, expected)
        connection.close()
    sizes = {name: len(make()[0]) for name, make in bodies.items()}
    sizes[PROTOBUF] = len(models.request("shades", x).body)
    return {
        name: {
            "bytes": sizes[name],
            "milliseconds": median(times[name]) * 1000,
            "ratio": median(other / ours for other, ours in zip(times[name], times[PROTOBUF])),
        }
        for name in ways
    }


def take_turns(
    ways: dict[str, Callable[[], np.ndarray]], rounds: int, expected: np.ndarray
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, ask in ways.items():
            began = perf_counter()
            for _ in range(TURN):
                answer = ask()
            seconds = (perf_counter() - began) / TURN
            if not np.allclose(answer, expected, rtol=1e-4):
                raise RuntimeError(f"{name}: the answer is {answer}, not {expected}")
            if number:  # the first round opens connections
                times[name].append(seconds)
    return times


def memory(x: Tensor) -> memoryview:
    return memoryview(x.numpy().reshape(-1)).cast("B")


def binary(x: Tensor) -> tuple[bytes, int]:
    """JSON with the bytes behind it, and the length of the JSON."""
    head = json.dumps(
        {"inputs": [described(x) | {"parameters": {"binary_data_size": x.nbytes}}], **ASKED}
    ).encode()
    return b"".join((head, memory(x))), len(head)


def as_json(data: Any) -> bytes:
    shape = [1, *models.IMAGE]
    return json.dumps(
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": shape, "data": data}], **ASKED}
    ).encode()


def described(x: Tensor) -> dict[str, Any]:
    return {"name": "x", "datatype": "FP32", "shape": list(x.shape)}


def post(connection: HTTPConnection, body: bytes, header_length: int | None) -> np.ndarray:
    headers = (
        {} if header_length is None else {"Inference-Header-Content-Length": str(header_length)}
    )
    connection.request("POST", PATH, body, headers)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    if answer.status != 200:
        raise RuntimeError(f"HTTP {answer.status}: {said}")
    output = said["outputs"][0]
    return np.array(output["data"], np.float32).reshape(output["shape"])
