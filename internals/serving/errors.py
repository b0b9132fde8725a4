"""What can go wrong with a request, said once for every transport.

Each kind has the two names under which a client sees it: the status of gRPC and that of HTTP. A
message names the thing that is wrong and what to do; it never carries a traceback or the content of
a tensor.

Mirrors the error handling of Triton's `TRITONSERVER_Error` and KServe's `kserve/errors.py`.

How the real one differs: Triton has eight codes and maps them in each front end; there a full queue
is UNAVAILABLE.
"""

from __future__ import annotations

from typing import ClassVar


class ServingError(Exception):
    """A request that is not answered with tensors. `code` is the name of a `grpc.StatusCode`."""

    code: ClassVar[str] = "UNKNOWN"
    http_status: ClassVar[int] = 500


class InvalidRequest(ServingError):
    """The request contradicts the protocol, the model's signature or a policy: sending it again
    will not help.
    """

    code, http_status = "INVALID_ARGUMENT", 400


class ModelNotFound(ServingError):
    """There is no model of that name and version."""

    code, http_status = "NOT_FOUND", 404


class TooLarge(ServingError):
    """The message is larger than the server accepts."""

    code, http_status = "RESOURCE_EXHAUSTED", 413


class QueueFull(ServingError):
    """The model has as many requests waiting as it may: back-pressure. Sending it again later may
    help.
    """

    code, http_status = "RESOURCE_EXHAUSTED", 429


class DeadlineExceeded(ServingError):
    """The client's deadline passed before the model was run."""

    code, http_status = "DEADLINE_EXCEEDED", 504


class Unavailable(ServingError):
    """The server is shutting down, or the model is still being loaded."""

    code, http_status = "UNAVAILABLE", 503


class ModelFailed(ServingError):
    """The model raised: the message is the model's own, in one line."""

    code, http_status = "INTERNAL", 500


class Unauthenticated(ServingError):
    """The token is absent or not the right one."""

    code, http_status = "UNAUTHENTICATED", 401


class PermissionDenied(ServingError):
    """What was asked for is not allowed to anyone over the wire, such as loading a model without
    `--control`.
    """

    code, http_status = "PERMISSION_DENIED", 403


class NotSupported(ServingError):
    """The protocol knows it, this server does not."""

    code, http_status = "UNIMPLEMENTED", 501
