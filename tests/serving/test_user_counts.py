"""What the metrics count is what clients saw, once each; and readiness does not fall because a
newer version is coming.
"""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals as torch
from internals import serving
from internals.serving.client import write_request
from internals.serving.engine import Engine
from internals.serving.errors import QueueFull
from internals.serving.models import repository
from internals.serving.observe.logs import Log
from internals.serving.transport.grpc_service import Inference


def outcomes(metrics: Any, model: str) -> dict[str, float]:
    text = metrics.text().decode()
    lines = [
        line
        for line in text.splitlines()
        if line.startswith(f'internals_requests_total{{model="{model}"')
    ]
    return {
        line.partition('outcome="')[2].partition('"')[0]: float(line.rpartition(" ")[2])
        for line in lines
    }


def test_an_answer_that_was_computed_and_not_sent_counts_once(
    serve: Callable[..., Any], mlp: Any
) -> None:
    server = serve({"mlp": mlp})
    service = Inference(server.engine)
    service.unread.together = service.unread.most
    service.unread.of["somebody"] = service.unread.most
    with pytest.raises(QueueFull, match="have not read"):
        server.call(service.answer(write_request("mlp", torch.zeros(2, 8)), None, "somebody"))
    assert outcomes(server.engine.metrics, "mlp") == {"resource_exhausted": 1.0}


def test_a_newer_version_that_is_loading_does_not_make_the_server_unready(
    tmp_path: Path, mlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1", "2"):
        (tmp_path / "mlp" / version).mkdir(parents=True)
        torch.jit.save(torch.jit.script(mlp), tmp_path / "mlp" / version / "model.pt")
    loading, go_on, make = threading.Event(), threading.Event(), repository.ServedModel

    def slow(path: Path, name: str, version: str, *arguments: Any, **options: Any) -> Any:
        if version == "2":
            loading.set()
            assert go_on.wait(20)
        return make(path, name, version, *arguments, **options)

    monkeypatch.setattr(repository, "ServedModel", slow)

    async def main() -> None:
        engine = Engine(serving.Settings(model_dir=tmp_path), Log(stream=io.StringIO()))
        load = asyncio.create_task(engine.repository.load_all())
        assert await asyncio.to_thread(loading.wait, 20)
        try:
            assert engine.repository.get("mlp").model.version == "1"
            assert engine.ready
        finally:
            go_on.set()
            await load
        assert engine.repository.get("mlp").model.version == "2"
        await engine.close()

    asyncio.run(main())


def test_a_deadline_that_passes_while_the_model_runs_counts_as_one(
    serve: Callable[..., Any],
) -> None:
    """gRPC cancels such a call; its client saw DEADLINE_EXCEEDED."""
    go_on = threading.Event()

    def waits(x: torch.Tensor) -> torch.Tensor:
        assert go_on.wait(20)
        return x

    server = serve({"waits": waits}, max_delay=0.0)
    with serving.Client(server.grpc_address) as client:
        with pytest.raises(serving.RemoteError, match="DEADLINE_EXCEEDED"):
            client.infer("waits", torch.zeros(1, 2), timeout=0.2)
        end = time.monotonic() + 20
        while not (counted := outcomes(server.engine.metrics, "waits")) and time.monotonic() < end:
            time.sleep(0.01)
        go_on.set()
    assert counted == {"deadline_exceeded": 1.0}
