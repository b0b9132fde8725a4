"""A request and its answer, as every transport sees them: named tensors, and who asked for what
until when.

gRPC and REST differ in how they spell this; the engine, the batcher and the models do not know
which one it was.

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
    """`inputs` are by the names that the client sent, in its order; they may be views of the
    message's own bytes.

    `deadline` is on the clock of `time.monotonic()`: past it nobody wants the answer. `outputs` are
    those wanted, () all of them; `version` "" is the newest.
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
    """`outputs` by name, in the model's order: rows of the batch that they were computed in,
    without a copy.
    """

    model: str
    version: str
    outputs: dict[str, Tensor]
    id: str = ""
