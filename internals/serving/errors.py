"""The errors of a request, for every transport.

Each kind has the two codes with which a client sees it: a status of gRPC and one of HTTP. A message
says what is wrong and how to fix it; it never contains a traceback or the content of a tensor.

Mirrors the error handling of Triton's `TRITONSERVER_Error` and KServe's `kserve/errors.py`.

How the real one differs: Triton has eight codes, which each front end maps to its own; a full queue
is UNAVAILABLE there.
"""

from __future__ import annotations

from typing import ClassVar


class ServingError(Exception):
    """A request that is not answered with tensors. `code` is the name of a `grpc.StatusCode`."""

    code: ClassVar[str] = "UNKNOWN"
    http_status: ClassVar[int] = 500


class InvalidRequest(ServingError):
    """The request contradicts the protocol, the model's signature or a policy; to send it again
    does not help.
    """

    code, http_status = "INVALID_ARGUMENT", 400


class ModelNotFound(ServingError):
    """There is no model of that name and version."""

    code, http_status = "NOT_FOUND", 404


class TooLarge(ServingError):
    """The message is larger than the server accepts."""

    code, http_status = "RESOURCE_EXHAUSTED", 413


class QueueFull(ServingError):
    """The model's queue is full (back-pressure); to send the request again later may help."""

    code, http_status = "RESOURCE_EXHAUSTED", 429


class DeadlineExceeded(ServingError):
    """The client's deadline passed before the model was run."""

    code, http_status = "DEADLINE_EXCEEDED", 504


class Unavailable(ServingError):
    """The server is shutting down, or the model is still being loaded."""

    code, http_status = "UNAVAILABLE", 503


class ModelFailed(ServingError):
    """The model raised an error, whose message this is, in one line."""

    code, http_status = "INTERNAL", 500


class Unauthenticated(ServingError):
    """The token is missing or wrong."""

    code, http_status = "UNAUTHENTICATED", 401


class PermissionDenied(ServingError):
    """No client may do this, such as load a model on a server without `--control`."""

    code, http_status = "PERMISSION_DENIED", 403


class NotSupported(ServingError):
    """The request is part of the protocol, but not supported by this server."""

    code, http_status = "UNIMPLEMENTED", 501
