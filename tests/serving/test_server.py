"""A server from outside: what a client sees of the Open Inference Protocol over gRPC."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

grpc = pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals as torch
from internals import serving
from internals.serving.engine import Engine
from internals.serving.observe.logs import Log
from internals.serving.protocol.schema import open_inference
from internals.serving.transport.grpc_server import GrpcServer
from tests.serving.models_to_serve import Gate, refuses_negatives

Serve = Callable[..., Any]
X = torch.zeros(1, 8)


def outcomes(server: Any, model: str) -> dict[str, float]:
    """How many requests ended how, as the metrics have it."""
    codes = (
        "ok",
        "cancelled",
        "deadline_exceeded",
        "resource_exhausted",
        "invalid_argument",
        "internal",
        "unavailable",
    )
    count = {
        code: server.engine.metrics.value(
            "internals_requests_total", model=model, version="1", outcome=code
        )
        for code in codes
    }
    return {code: n for code, n in count.items() if n}


def until(condition: Callable[[], bool], what: str) -> None:
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError(f"waited in vain for {what}")


def test_answers_are_the_models(serve: Serve, mlp: Any) -> None:
    server = serve({"mlp": mlp})
    x = torch.randn(5, 8)
    with serving.Client(server.grpc_address) as client, torch.no_grad():
        assert torch.equal(client.infer("mlp", x), mlp(x))
        assert torch.equal(client.infer("mlp", {"input": x})["OUTPUT__0"], mlp(x))
        assert torch.equal(client.infer("mlp", x, version="1"), mlp(x))
        assert client.infer("mlp", torch.zeros(0, 8)).shape == (0, 3)


def test_many_clients_at_once_get_each_their_own(serve: Serve, mlp: Any) -> None:
    server = serve({"mlp": mlp}, max_batch=8)
    xs = [torch.randn(1 + i % 3, 8) for i in range(60)]

    async def all_at_once() -> list[Any]:
        async with serving.AsyncClient(server.grpc_address) as client:
            return await asyncio.gather(*(client.infer("mlp", x) for x in xs))

    with torch.no_grad():
        for x, y in zip(xs, asyncio.run(all_at_once())):
            assert torch.allclose(y, mlp(x), rtol=1e-4, atol=1e-6)
    value = server.engine.metrics.value
    assert outcomes(server, "mlp") == {"ok": 60}
    assert value("internals_executions_total", model="mlp", version="1") < 60
    assert value("internals_execution_rows_sum", model="mlp", version="1") == sum(
        x.shape[0] for x in xs
    )


def test_tensors_of_our_client_are_not_copied_on_the_way_in(serve: Serve) -> None:
    seen: list[int] = []

    def spy(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.data_ptr() % 16)
        return x + 1

    server = serve({"spy": spy})
    with serving.Client(server.grpc_address) as client:
        client.infer("spy", torch.randn(3, 4))
    assert seen[-1] == 0
    assert server.engine.metrics.value("internals_input_bytes_total", copied="0") == 48
    assert server.engine.metrics.value("internals_input_bytes_total", copied="1") == 0


def test_tritons_client_unmodified(serve: Serve, mlp: Any) -> None:
    triton = pytest.importorskip("tritonclient.grpc", reason="the extra `test` is not installed")
    server = serve({"mlp": mlp}, control=True)
    client = triton.InferenceServerClient(server.grpc_address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("mlp")
    assert not client.is_model_ready("none")
    assert client.get_server_metadata().name == "internals"
    metadata = client.get_model_metadata("mlp", as_json=True)
    assert metadata["platform"] == "internals_python" and metadata["versions"] == ["1"]
    assert metadata["inputs"] == [{"name": "input", "datatype": "FP32", "shape": ["-1", "8"]}]
    assert metadata["outputs"] == [{"name": "OUTPUT__0", "datatype": "FP32", "shape": ["-1", "3"]}]
    x = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    given = triton.InferInput("input", x.shape, "FP32")
    given.set_data_from_numpy(x)
    wanted = mlp(torch.from_numpy(x)).detach().numpy()
    result = client.infer(
        "mlp", [given], outputs=[triton.InferRequestedOutput("OUTPUT__0")], request_id="7"
    )
    assert (
        np.allclose(result.as_numpy("OUTPUT__0"), wanted, atol=1e-6)
        and result.get_response().id == "7"
    )
    assert [m.state for m in client.get_model_repository_index().models] == ["READY"]
    assert client.get_inference_statistics("mlp").model_stats[0].inference_count == 4

    answers: list[tuple[Any, Any]] = []
    done = threading.Semaphore(0)

    def take(result: Any, error: Any) -> None:
        answers.append((result, error))
        done.release()

    client.start_stream(callback=take)
    bad = triton.InferInput("input", [1, 2], "FP32")
    bad.set_data_from_numpy(np.zeros((1, 2), np.float32))
    for i in range(10):
        client.async_stream_infer("mlp", [bad if i == 5 else given], request_id=str(i))
    for _ in range(10):
        assert done.acquire(timeout=20)
    client.stop_stream()
    assert [error is None for _, error in answers] == [i != 5 for i in range(10)]
    assert "the model takes [-1, 8]" in answers[5][1].message()
    assert [r.get_response().id for r, _ in answers if r is not None] == [
        str(i) for i in range(10) if i != 5
    ]
    client.unload_model("mlp")
    assert not client.is_model_ready("mlp")
    with pytest.raises(
        triton.InferenceServerException, match="model 'mlp' is not available: unloaded"
    ):
        client.infer("mlp", [given])
    client.close()


@pytest.mark.parametrize(
    "ask, status, why",
    [
        (
            lambda c: c.infer("none", torch.zeros(1, 8)),
            "NOT_FOUND",
            "there is no model 'none'; there is mlp",
        ),
        (lambda c: c.infer("mlp", torch.zeros(1, 8), version="9"), "NOT_FOUND", "no version '9'"),
        (
            lambda c: c.infer("mlp", torch.zeros(1, 9)),
            "INVALID_ARGUMENT",
            "the model takes [-1, 8]",
        ),
        (
            lambda c: c.infer("mlp", torch.zeros(1, 8).double()),
            "INVALID_ARGUMENT",
            "is FP64, the model takes FP32",
        ),
        (
            lambda c: c.infer("mlp", {"y": torch.zeros(1, 8)}),
            "INVALID_ARGUMENT",
            "no input 'y'; it has input",
        ),
        (
            lambda c: c.infer("mlp", torch.zeros(1, 8), outputs=["z"]),
            "INVALID_ARGUMENT",
            "no output 'z'; it has OUTPUT__0",
        ),
        (lambda c: c.call("ModelMetadata", name="none"), "NOT_FOUND", "there is no model 'none'"),
        (
            lambda c: c.call("RepositoryModelLoad", model_name="mlp"),
            "PERMISSION_DENIED",
            "start it with --control",
        ),
    ],
)
def test_what_cannot_be_answered_says_why(
    serve: Serve, mlp: Any, ask: Any, status: str, why: str
) -> None:
    server = serve({"mlp": mlp})
    with (
        serving.Client(server.grpc_address) as client,
        pytest.raises(serving.RemoteError) as caught,
    ):
        ask(client)
    assert caught.value.status.name == status and why in str(caught.value)


def test_one_bad_request_fails_alone(serve: Serve) -> None:
    server = serve({"root": refuses_negatives}, max_batch=8, max_delay=100.0)
    xs = [torch.full((1, 4), -1.0 if i == 3 else float(i)) for i in range(8)]

    async def all_at_once() -> list[Any]:
        async with serving.AsyncClient(server.grpc_address) as client:
            return await asyncio.gather(
                *(client.infer("root", x) for x in xs), return_exceptions=True
            )

    for i, answer in enumerate(asyncio.run(all_at_once())):
        if i == 3:
            assert (
                answer.status.name == "INTERNAL"
                and "negative numbers are not for this model" in str(answer)
            )
        else:
            assert torch.allclose(answer, torch.full((1, 4), float(i)).sqrt())


def test_a_model_whose_rows_depend_on_each_other_is_found_out(serve: Serve) -> None:
    server = serve({"softmax": lambda x: x.softmax(0)}, max_batch=8, max_delay=50.0)
    xs = [torch.full((1, 4), float(i)) for i in range(8)]

    async def all_at_once() -> list[Any]:
        async with serving.AsyncClient(server.grpc_address) as client:
            return await asyncio.gather(*(client.infer("softmax", x) for x in xs))

    for _ in range(2):  # the second time they are not even tried together
        assert all(y.tolist() == [[1.0] * 4] for y in asyncio.run(all_at_once()))
    said = [
        line for line in server.log.stream.getvalue().splitlines() if "model_not_batched" in line
    ]
    assert len(said) == 1 and "a row's result depends on the other rows of the batch" in said[0]


def test_deadline_and_cancellation_come_before_compute(serve: Serve) -> None:
    gate = Gate()
    server = serve({"gate": gate}, max_batch=1)
    gate.hold()

    async def run() -> None:
        async with serving.AsyncClient(server.grpc_address) as client:
            first = asyncio.create_task(client.infer("gate", torch.ones(1, 4)))
            await asyncio.to_thread(gate.entered.acquire)
            batcher = server.engine.repository.get("gate").batcher
            with pytest.raises(serving.RemoteError, match="DEADLINE_EXCEEDED"):
                await client.infer("gate", torch.ones(1, 4), timeout=0.05)
            await asyncio.to_thread(until, lambda: batcher.queued == 0, "the late one to leave")
            taken_back = asyncio.create_task(client.infer("gate", torch.ones(1, 4)))
            await asyncio.to_thread(until, lambda: batcher.queued == 1, "a request in line")
            taken_back.cancel()
            await asyncio.to_thread(until, lambda: batcher.queued == 0, "it to leave")
            gate.open.set()
            assert torch.equal(await first, torch.full((1, 4), 2.0))

    asyncio.run(run())
    assert gate.rows == [1]  # neither of the two was computed
    until(lambda: sum(outcomes(server, "gate").values()) == 3, "all three to be counted")
    counted = outcomes(server, "gate")
    assert counted["ok"] == 1 and counted["cancelled"] + counted.get("deadline_exceeded", 0) == 2


def test_a_full_queue_says_so_at_once(serve: Serve) -> None:
    gate = Gate()
    server = serve({"gate": gate}, max_batch=1, max_queue=3)
    gate.hold()

    async def run() -> list[Any]:
        async with serving.AsyncClient(server.grpc_address) as client:
            first = asyncio.create_task(client.infer("gate", torch.ones(1, 4)))
            await asyncio.to_thread(gate.entered.acquire)
            others = [asyncio.create_task(client.infer("gate", torch.ones(1, 4))) for _ in range(8)]
            refused, _ = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            while len(refused) < 5:
                refused, _ = await asyncio.wait(others, timeout=0.05)
            gate.open.set()
            return [await first, *await asyncio.gather(*others, return_exceptions=True)]

    answers = asyncio.run(run())
    refused = [a for a in answers if isinstance(a, Exception)]
    assert len(refused) == 5 and all("RESOURCE_EXHAUSTED: 3 requests" in str(a) for a in refused)
    assert outcomes(server, "gate") == {"ok": 4, "resource_exhausted": 5}


def test_a_crowd_over_one_new_connection_is_answered_or_told_to_come_later(
    serve: Serve, mlp: Any
) -> None:
    server = serve({"mlp": mlp})

    async def all_at_once() -> list[Any]:
        async with serving.AsyncClient(server.grpc_address) as client:
            return await asyncio.gather(
                *(client.infer("mlp", X) for _ in range(800)), return_exceptions=True
            )

    answers = asyncio.run(all_at_once())
    refused = {answer.status.name for answer in answers if isinstance(answer, Exception)}
    assert refused <= {"RESOURCE_EXHAUSTED"}
    assert sum(not isinstance(answer, Exception) for answer in answers) >= 256


def test_a_message_that_is_too_large_is_refused(serve: Serve, mlp: Any) -> None:
    server = serve({"mlp": mlp}, max_message_bytes=10_000)
    with serving.Client(server.grpc_address) as client:
        with pytest.raises(serving.RemoteError, match="RESOURCE_EXHAUSTED"):
            client.infer("mlp", torch.zeros(1000, 8))
        assert client.infer("mlp", torch.zeros(1, 8)).shape == (1, 3)


def test_stopping_answers_what_was_accepted_and_nothing_else(serve: Serve) -> None:
    gate = Gate()
    server = serve({"gate": gate}, max_batch=2)
    gate.hold()
    with serving.Client(server.grpc_address) as client, ThreadPoolExecutor(8) as pool:
        accepted = [
            pool.submit(client.infer, "gate", torch.full((1, 2), float(i)), timeout=20)
            for i in range(5)
        ]
        gate.entered.acquire()
        batcher = server.engine.repository.get("gate").batcher
        until(lambda: batcher.queued + sum(gate.rows) >= 5, "all to be accepted")
        stopped = pool.submit(server.call, server.stop())
        until(lambda: not server.engine.accepting, "the server to stop accepting")
        with pytest.raises(serving.RemoteError, match="UNAVAILABLE"):
            client.infer("gate", torch.ones(1, 2), timeout=20)
        gate.open.set()
        assert [a.result()[0, 0].item() for a in accepted] == [0.0, 2.0, 4.0, 6.0, 8.0]
        stopped.result(20)


def test_a_model_that_does_not_come_back_is_given_up_after_the_grace(serve: Serve) -> None:
    gate = Gate()
    server = serve({"gate": gate}, grace=0.05)
    gate.hold()
    with serving.Client(server.grpc_address) as client, ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(client.infer, "gate", X, timeout=20)
        gate.entered.acquire()
        server.call(server.stop())
        with pytest.raises(serving.RemoteError):
            accepted.result()
    gate.open.set()
    events = [json.loads(line) for line in server.log.stream.getvalue().splitlines()]
    assert [event["event"] for event in events][-2:] == ["gave_up", "stopped"]
    assert events[-2]["why"] == "a model still runs after 0.05 s"


def test_an_open_stream_does_not_hold_the_server_up(serve: Serve, mlp: Any) -> None:
    server = serve({"mlp": mlp}, grace=1000.0)
    with grpc.insecure_channel(server.grpc_address) as channel:
        wait = threading.Event()

        def messages() -> Any:
            yield serving.client.write_request("mlp", torch.zeros(1, 8))
            wait.wait(30)

        answers = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer")(
            messages()
        )
        first = open_inference().ModelStreamInferResponse.FromString(next(answers))
        assert first.infer_response.outputs[0].shape == [1, 3]
        server.call(server.stop())  # or this would take 1000 seconds
        assert list(answers) == []
        wait.set()


def test_health_and_reflection(serve: Serve, mlp: Any) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
        ProtoReflectionDescriptorDatabase,
    )

    server = serve({"mlp": mlp})
    with grpc.insecure_channel(server.grpc_address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", "inference.GRPCInferenceService"):
            assert (
                health.Check(health_pb2.HealthCheckRequest(service=name)).status
                == health_pb2.HealthCheckResponse.SERVING
            )
        database = ProtoReflectionDescriptorDatabase(channel)
        assert "inference.GRPCInferenceService" in database.get_services()
        file = database.FindFileContainingSymbol("inference.ModelInferRequest")
        assert [field.number for field in file.message_type[12].field] == [1, 2, 3, 4, 5, 6, 7]
        database.FindFileContainingSymbol("grpc.health.v1.Health")


def test_a_port_that_is_taken_is_named(serve: Serve, mlp: Any) -> None:
    server = serve({"mlp": mlp})
    port = int(server.grpc_address.rpartition(":")[2])
    with pytest.raises(
        OSError, match=f"gRPC cannot listen at 127.0.0.1:{port}: .* --port chooses another"
    ):
        serve({"mlp": mlp}, port=port)
    with pytest.raises(OSError, match="HTTP cannot listen at .* --metrics-port chooses another"):
        serve({"mlp": mlp}, metrics_port=int(server.http_address.rpartition(":")[2]))


def test_two_models_do_not_wait_for_each_other(serve: Serve, mlp: Any) -> None:
    gate = Gate()
    server = serve({"gate": gate, "mlp": mlp})
    gate.hold()
    with serving.Client(server.grpc_address) as client, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.infer, "gate", torch.ones(1, 2))
        gate.entered.acquire()
        assert client.infer("mlp", torch.zeros(2, 8), timeout=20).shape == (2, 3)
        gate.open.set()
        assert slow.result().tolist() == [[2.0, 2.0]]


def test_grpc_hangs_up_when_the_last_call_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine calls reach the event loop late: whatever gRPC still holds at the end, it
    cancels.
    """
    turned_away = []

    async def late_calls(engine: Engine) -> None:
        for _ in range(6):
            await asyncio.sleep(0.03)
            engine.turned_away += 1

    async def stop() -> None:
        engine = Engine(serving.Settings(port=0), Log(stream=io.StringIO()))
        server = GrpcServer(engine)
        hang_up = server.server.stop

        async def count_and_hang_up(grace: float) -> None:
            turned_away.append(engine.turned_away)
            await hang_up(grace)

        monkeypatch.setattr(server.server, "stop", count_and_hang_up)
        await server.start()
        calls = asyncio.create_task(late_calls(engine))
        await server.stop(20.0)
        await calls

    asyncio.run(stop())
    assert turned_away == [6]
