"""What Triton's clients ask for besides tensors is honoured or refused over gRPC as over REST,
never passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

grpc = pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals as torch
from internals import serving
from internals.serving.client import METHOD, write_request
from internals.serving.protocol.schema import open_inference


def ask(server: Any, change: Callable[[Any], object]) -> tuple[Any, str]:
    """The status and message for a request for one row of zeros, after `change` was made to it."""
    message = open_inference().ModelInferRequest.FromString(write_request("mlp", torch.zeros(1, 8)))
    change(message)
    with grpc.insecure_channel(server.grpc_address) as channel:
        try:
            channel.unary_unary(f"{METHOD}ModelInfer")(message.SerializeToString(), timeout=20)
        except grpc.RpcError as error:
            return error.code(), error.details()
    return grpc.StatusCode.OK, ""


def test_the_timeout_among_the_parameters_is_a_deadline(
    serve: Callable[..., Any], mlp: Any
) -> None:
    server = serve({"mlp": mlp}, max_delay=10_000.0, max_batch=4)

    def timeout(microseconds: int) -> Callable[[Any], object]:
        return lambda message: message.parameters["timeout"].CopyFrom(
            open_inference().InferParameter(int64_param=microseconds)
        )

    assert ask(server, timeout(1))[0] is grpc.StatusCode.DEADLINE_EXCEEDED
    # and it did not wait for company until then
    assert ask(server, timeout(1_000_000))[0] is grpc.StatusCode.OK
    code, told = ask(server, timeout(-1))
    assert code is grpc.StatusCode.INVALID_ARGUMENT and "microseconds" in told


@pytest.mark.parametrize(
    "change, told",
    [
        (
            lambda m: m.outputs.add(name="OUTPUT__0").parameters["classification"],
            "output 'OUTPUT__0': classification",
        ),
        (
            lambda m: m.inputs[0].parameters["shared_memory_region"],
            "input 'INPUT__0': shared memory",
        ),
        (
            lambda m: m.outputs.add(name="OUTPUT__0").parameters["shared_memory_region"],
            "'OUTPUT__0': shared memory",
        ),
    ],
)
def test_what_is_not_served_is_refused(
    serve: Callable[..., Any], mlp: Any, change: Callable[[Any], Any], told: str
) -> None:
    def ask_for_it(message: Any) -> None:
        change(message).int64_param = 2

    code, message = ask(serve({"mlp": mlp}), ask_for_it)
    assert code is grpc.StatusCode.UNIMPLEMENTED and told in message


def test_a_request_does_not_wait_for_company_until_its_deadline(
    serve: Callable[..., Any], mlp: Any
) -> None:
    """Nothing is known yet of how long the model takes: half of what is left is kept for it."""
    server = serve({"mlp": mlp}, max_delay=60_000.0, max_batch=4)
    with serving.Client(server.grpc_address) as client:
        assert client.infer("mlp", torch.zeros(1, 8), timeout=2.0).shape == (1, 3)
