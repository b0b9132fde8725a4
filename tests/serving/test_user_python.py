"""Mistakes in Python: a server entered twice, a client given the wrong things. Each is said at
once, by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")

from internals import serving


def test_a_server_that_runs_is_not_started_again(serve: Callable[..., Any], mlp: Any) -> None:
    server = serve({"mlp": mlp})
    address = server.grpc_address
    with pytest.raises(RuntimeError, match=f"this server runs already, at {address}"):
        server.__enter__()
    with serving.Client(address) as client:  # and still does
        assert client.call("ServerReady").ready


@pytest.mark.parametrize("value, name", [(np.zeros((1, 8), np.float32), "ndarray"), (3.0, "float")])
def test_an_input_that_is_no_tensor_is_named(value: Any, name: str) -> None:
    with serving.Client("127.0.0.1:1") as client:
        for inputs in (value, [value], {"x": value}):
            with pytest.raises(TypeError, match=f"is of type {name}, not a tensor"):
                client.infer("mlp", inputs)


def test_paths_of_certificates_may_be_texts_and_their_names_are_checked(tmp_path: Any) -> None:
    (tmp_path / "ca.pem").write_bytes(b"x")
    serving.Client("localhost:1", root_certificates=str(tmp_path / "ca.pem")).close()
    with pytest.raises(TypeError, match="root_cert.*root_certificates, key, certificate"):
        serving.Client("localhost:1", root_cert=tmp_path / "ca.pem")
