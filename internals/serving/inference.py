"""A request and its response, in the form that is the same for every transport: named tensors, with
the model, the wanted outputs and the deadline.

gRPC and REST write this differently; the engine, the batcher and the models do not know which one a
request came from.

Mirrors `ModelInferRequest` and `ModelInferResponse` of the Open Inference Protocol, KServe's
`kserve/protocol/infer_type.py`.

How the real one differs: Triton's `TRITONSERVER_InferenceRequest` also carries priorities, sequence
ids and a response allocator.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from internals import Tensor

Parameter = bool | int | float | str


@dataclass(slots=True)
class InferRequest:
    """A request. `inputs` have the names that the client sent, in its order; they may be views of
    the message's bytes.

    `deadline` is on the clock of `time.monotonic()`; after it the client has given up. `outputs`
    are the names of those wanted, () for all; `version` "" is the newest.
    """

    model: str
    inputs: dict[str, Tensor]
    version: str = ""
    id: str = ""
    outputs: tuple[str, ...] = ()
    deadline: float | None = None
    parameters: dict[str, Parameter] = field(default_factory=dict)


@dataclass(slots=True)
class InferResponse:
    """A response. `outputs` are by name, in the model's order: views of the batch's results."""

    model: str
    version: str
    outputs: dict[str, Tensor]
    id: str = ""
