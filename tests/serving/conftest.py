"""What the tests of the server share: a small network, and a server that says nothing."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import internals as torch
from internals import nn


@pytest.fixture(scope="session")
def mlp() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """`serve({"name": model}, max_batch=4, ...)` is a running server on free ports of this machine,
    closed after the test.
    """
    pytest.importorskip("grpc", reason="the extra `serving` is not installed")
    pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")
    from internals import serving
    from internals.serving.observe.logs import Log

    with ExitStack() as stack:

        def start(models: dict[str, Any], log: Any = None, **settings: Any) -> Any:
            chosen = {"port": 0, "metrics_port": 0, "grace": 20.0, **settings}
            if "http_port" in chosen:
                chosen["http_port"] = 0
            log = log or Log(stream=io.StringIO())
            return stack.enter_context(serving.Server(models, serving.Settings(**chosen), log))

        yield start
