"""Serving: answers requests to a saved model over gRPC and HTTP, many requests in a batch. Floor 7
of the house, the talk's Section III.

    python -m internals serve MODEL.pt                  any client of the Open Inference Protocol
                                                        can call it

    with serving.Server({"mlp": model}, serving.Settings(port=0, metrics_port=0)) as server:
        with serving.Client(server.grpc_address) as client:
            client.infer("mlp", x)

The path of a request, from the network to the model and back:

- `transport/`: gRPC and REST receive bytes from the network
- `protocol/`: finds the tensors in these bytes without copying them, and refuses wrong ones
  (`policies.py`)
- `engine.py`: finds the model, checks the inputs against its signature, counts requests
- `batching/`: the request waits for others, and is run with them in a worker's thread
- `models/`: archives from one folder, with versions; loaded, replaced and unloaded while requests
  keep coming

The data passed between these parts is defined in `inference.py` and `errors.py`. Around them:
`server.py` (start, stop), `freed_memory.py`, `command.py` (options), `settings.py`, `observe/`
(metrics, log), `client.py`. The experiments of the notebooks are in `apparatus/`: `payloads` (the
cost of base64), `two_https` (HTTP/1.1 against HTTP/2), `rehearsal`.

Needs the extra `serving`: `pip install -e .[serving]`. `internals` itself never imports this
package.

How the real one differs: PyTorch has no server. TorchServe was one (its last release is from 2024);
today archives are served by Triton, whose PyTorch backend is C++ around `torch::jit::load`, or by
KServe, which runs such servers in Kubernetes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import AsyncClient, Client, RemoteError
    from .errors import ServingError
    from .server import Server
    from .settings import Settings

__all__ = ["AsyncClient", "Client", "RemoteError", "Server", "ServingError", "Settings"]

HOMES = {
    "AsyncClient": "client",
    "Client": "client",
    "RemoteError": "client",
    "Server": "server",
    "ServingError": "errors",
    "Settings": "settings",
}


def __getattr__(name: str) -> Any:
    """Imports the module of a name when it is first used, so that settings do not need gRPC."""
    if name not in HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
