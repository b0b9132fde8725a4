"""REST of a whole server: the models are real, requests are batched, and what it counts is
right.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")
pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals
from internals import nn, serving
from internals.serving.observe.logs import Log
from internals.serving.observe.metrics import Metrics
from internals.serving.transport.rest_requests import HEADER_LENGTH
from tests.serving.rest_support import Answer, as_bytes, as_json, ask

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def mlp() -> nn.Module:
    internals.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)).eval()


class Served:
    def __init__(self, folder: Path) -> None:
        self.model = mlp()
        archive = folder / "mlp.pt"
        internals.jit.save(internals.jit.script(self.model), str(archive))
        self.written = io.StringIO()
        settings = serving.Settings(
            port=0, metrics_port=0, token="s3cr3t-t0ken", max_delay=20.0, control=True
        )
        self.server = serving.Server(
            {"mlp": archive}, settings, Log("json", self.written, secrets=("s3cr3t-t0ken",))
        )

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        port = int(self.server.http_address.rpartition(":")[2])
        return ask(
            port, method, path, body, {"Authorization": "Bearer s3cr3t-t0ken", **(headers or {})}
        )

    @property
    def metrics(self) -> Metrics:
        assert self.server.engine is not None
        return self.server.engine.metrics

    def infer(self, said: dict[str, Any], behind: bytes = b"") -> Answer:
        head = json.dumps(said).encode()
        return self.ask(
            "POST", "/v2/models/mlp/infer", head + behind, {HEADER_LENGTH: str(len(head))}
        )

    def expected(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with internals.no_grad():
            array: np.ndarray[Any, Any] = self.model(internals.from_numpy(x)).numpy()
        return array


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("models"))
    with found.server:
        yield found


def test_the_model_describes_itself(served: Served) -> None:
    described = served.ask("GET", "/v2/models/mlp").json()
    assert described["versions"] == ["1"] and described["platform"].startswith("internals_")
    (given,) = described["inputs"]
    assert (given["datatype"], given["shape"]) == ("FP32", [-1, 4])
    (made,) = described["outputs"]
    assert (made["name"], made["shape"]) == ("OUTPUT__0", [-1, 3])
    assert served.ask("GET", "/v2/models/mlp/ready").status == 200
    assert served.ask("GET", "/v2/health/ready").status == 200
    index = served.ask("POST", "/v2/repository/index").json()
    assert [(entry["name"], entry["state"]) for entry in index] == [("mlp", "READY")]


def test_json_and_bytes_give_what_the_model_gives(served: Served) -> None:
    name = served.ask("GET", "/v2/models/mlp").json()["inputs"][0]["name"]
    for given in (name, "INPUT__0"):
        (output,) = served.infer({"inputs": [as_json(X, "FP32", given)]}).json()["outputs"]
        np.testing.assert_allclose(
            np.array(output["data"]).reshape(2, 3), served.expected(X), rtol=1e-6
        )
        said = {"inputs": [as_bytes(X, "FP32", given)], "parameters": {"binary_data_output": True}}
        answer = served.infer(said, X.tobytes())
        back = np.frombuffer(answer.body[int(answer.headers[HEADER_LENGTH]) :], np.float32).reshape(
            2, 3
        )
        np.testing.assert_allclose(back, served.expected(X), rtol=1e-6)


def test_requests_of_many_clients_share_batches(served: Served) -> None:
    wrong = []

    def ask_often(seed: int) -> None:
        x = np.random.default_rng(seed).normal(size=(1 + seed % 3, 4)).astype(np.float32)
        said = {
            "inputs": [as_bytes(x, "FP32", "INPUT__0")],
            "parameters": {"binary_data_output": True},
        }
        for _ in range(5):
            answer = served.infer(said, x.tobytes())
            back = np.frombuffer(
                answer.body[int(answer.headers[HEADER_LENGTH]) :], np.float32
            ).reshape(-1, 3)
            if not np.allclose(back, served.expected(x), rtol=1e-5, atol=1e-6):
                wrong.append(seed)

    metrics = served.metrics
    before = metrics.value("internals_executions_total", model="mlp", version="1")
    threads = [threading.Thread(target=ask_often, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert metrics.value("internals_executions_total", model="mlp", version="1") - before < 40


@pytest.mark.parametrize(
    ("said", "status", "told"),
    [
        ({"inputs": [as_json(X, "FP32", "z")]}, 400, "the model has no input 'z'; it has"),
        ({"inputs": []}, 400, "is missing; the model takes"),
        ({"inputs": [as_json(X, "FP64", "INPUT__0")]}, 400, "is FP64, the model takes FP32"),
        (
            {"inputs": [as_json(X.T.copy(), "FP32", "INPUT__0")]},
            400,
            "has the shape [4, 2], the model takes [-1, 4]",
        ),
        (
            {"inputs": [as_json(X, "FP32", "INPUT__0")], "outputs": [{"name": "y"}]},
            400,
            "the model has no output 'y'",
        ),
        ({"inputs": [as_json(X, "FP32", "INPUT__0")], "parameters": {"timeout": 1}}, 504, ""),
    ],
)
def test_the_engine_refuses_by_name(
    served: Served, said: dict[str, Any], status: int, told: str
) -> None:
    answer = served.infer(said)
    assert answer.status == status, answer.body
    assert told in answer.error


def test_without_the_token_nothing_is_told(served: Served) -> None:
    for path in ("/v2/models/mlp", "/metrics"):
        answer = served.ask("GET", path, headers={"Authorization": "Bearer wrong"})
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "token" in answer.error


def test_what_was_counted_and_what_was_not_logged(served: Served) -> None:
    served.infer({"inputs": [as_bytes(X, "FP32", "INPUT__0")]}, X.tobytes())
    text = served.ask("GET", "/metrics").body.decode()
    assert 'internals_requests_total{model="mlp",outcome="ok",version="1"}' in text
    assert 'internals_execution_rows_count{model="mlp",version="1"}' in text
    assert served.metrics.value("internals_input_bytes_total", copied="0") > 0
    served.ask("GET", "/v2/s3cr3t-t0ken")
    served.ask("POST", "/v2/models/s3cr3t-t0ken/infer", b"{}")
    assert "s3cr3t" not in served.written.getvalue()
    assert '"event": "listening"' in served.written.getvalue()


def test_load_and_unload(served: Served) -> None:
    assert served.ask("POST", "/v2/repository/models/mlp/load").status == 200
    assert served.ask("GET", "/v2/models/mlp/ready").status == 200
    assert served.ask("POST", "/v2/repository/models/../load").status == 400
    assert served.ask("POST", "/v2/repository/models/nope/load").status in (400, 404)
