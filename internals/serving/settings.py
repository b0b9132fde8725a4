"""The settings of a server, which are checked before it starts.

A setting is a field here, an option of `python -m internals serve` with the same name, and a line
in docs/serving.md.

Mirrors the command line of Triton's `tritonserver` and `ModelDynamicBatching` of its
`model_config.proto`.

How the real one differs: Triton has the settings of each model in a `config.pbtxt` beside it, with
a queue policy for each priority.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

MiB = 1 << 20
HOST_NAME = re.compile(r"[\w-]+(\.[\w-]+)*\.?")


@dataclass(frozen=True)
class Settings:
    """The behaviour of a server. Raises ValueError, with the field's name, for an impossible value.

    Where it listens:
        host: the address; the default is reachable from this machine only.
        port: of gRPC; metrics_port: of HTTP, for Prometheus. 0 takes a free one.
        http_port: of REST; None for the same as metrics_port.
    Batching, for each model:
        max_batch: most rows that run together; 1 turns batching off.
        max_delay: most milliseconds that a request waits for others.
        workers: threads that run batches.
        threads: threads inside one operator, such as a matrix product.
        pad: requests whose other sizes differ are padded with zeros and run together.
    Limits:
        max_queue: most requests that wait for one model.
        max_queue_bytes: most bytes of their tensors.
        max_message_bytes: most bytes of one message.
        max_body_seconds: time in which the body of a REST request has to arrive completely.
        nan_policy: whether NaN and infinity in an input are accepted or rejected.
        grace: seconds for accepted requests to finish when the server stops.
    Security:
        tls_cert, tls_key: PEM files; both or none. tls_client_ca: PEM file of the authority that
        must have signed a client's certificate (mTLS). token: the token that clients must send, as
        `authorization: Bearer TOKEN`. allowed_hosts: names under which HTTP answers without a
        token, besides addresses, localhost
            and `host`.
        control: whether clients may load and unload models.
        model_dir: the only folder that models are read from.
        try_models: whether another process first loads and warms up a file, which may take
            `try_seconds` and `try_bytes` of memory.
    The rest:
        inputs: `NAME:DATATYPE:SIZES` for a model without these, such as `x:FP32:-1,784`.
        optimize: run models through `jit.optimize`.
        watch: seconds between looks for changed files, None for none.
        log: one JSON object or one plain line for each event.
        reflection: whether a client may ask for the schema.
    """

    host: str = "127.0.0.1"
    port: int = 8001
    metrics_port: int = 8000
    http_port: int | None = None
    max_batch: int = 32
    max_delay: float = 2.0
    workers: int = 1
    threads: int = 1
    pad: bool = False
    max_queue: int = 256
    max_queue_bytes: int = 256 * MiB
    max_message_bytes: int = 64 * MiB
    max_body_seconds: float = 60.0
    nan_policy: Literal["accept", "reject"] = "accept"
    grace: float = 30.0
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    token: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    control: bool = False
    model_dir: Path | None = None
    try_models: bool = False
    try_seconds: float = 120.0
    try_bytes: int = 4096 * MiB
    inputs: tuple[str, ...] = ()
    optimize: bool = False
    watch: float | None = None
    log: Literal["json", "text"] = "json"
    reflection: bool = True

    def __post_init__(self) -> None:
        for name in ("port", "metrics_port", "http_port"):
            port = getattr(self, name)
            require(
                port is None or 0 <= port <= 65535, name, port, "a port is a number from 0 to 65535"
            )
        for name in (
            "max_batch",
            "workers",
            "threads",
            "max_queue",
            "max_queue_bytes",
            "max_message_bytes",
            "try_bytes",
        ):
            require(getattr(self, name) >= 1, name, getattr(self, name), "it must be at least 1")
        require(
            0 <= self.max_delay < float("inf"),
            "max_delay",
            self.max_delay,
            "it is a number of milliseconds, 0 or more",
        )
        for name in ("max_body_seconds", "try_seconds"):
            seconds = getattr(self, name)
            require(0 < seconds < 1e6, name, seconds, "it is a number of seconds above 0")
        require(
            0 <= self.grace < float("inf"),
            "grace",
            self.grace,
            "it is a number of seconds, 0 or more",
        )
        require(
            self.watch is None or self.watch > 0,
            "watch",
            self.watch,
            "it is a number of seconds above 0",
        )
        require(
            self.nan_policy in ("accept", "reject"),
            "nan_policy",
            self.nan_policy,
            "it is 'accept' or 'reject'",
        )
        require(self.log in ("json", "text"), "log", self.log, "it is 'json' or 'text'")
        both = bool(self.tls_cert) == bool(self.tls_key)
        require(both, "tls_cert", self.tls_cert, "a certificate and its key go together")
        needed = bool(self.tls_cert) or not self.tls_client_ca
        require(needed, "tls_client_ca", self.tls_client_ca, "it needs tls_cert and tls_key")
        for name in self.allowed_hosts:
            require(
                bool(HOST_NAME.fullmatch(name)),
                "allowed_hosts",
                name,
                "a host is a name without a port: models.example",
            )
        sendable = self.token is None or (
            bool(self.token) and self.token.isascii() and self.token.isprintable()
        )
        require(sendable, "token", "...", "it is one line of ASCII, and not empty")


def require(fine: bool, name: str, value: object, why: str) -> None:
    """Raises ValueError about a field unless its value is fine."""
    if not fine:
        raise ValueError(f"{name}={value!r}: {why}")
