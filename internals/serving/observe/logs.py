"""The server's log: one line for each event.

A line is a JSON object (`{"time": "2026-11-21T22:33:00.123456Z", "event": "listening", "grpc":
"127.0.0.1:8001"}`), so that a collector can filter by field without regular expressions; or the
same as text, for people.

Successful requests are not logged: the metrics count them. Failed ones are, but at most
`failures_per_second`: a client that fails ten thousand times a second must not fill the disk. The
others are counted, and the next line has their number.

Some things are never logged: tensors and other objects, whose contents belong to users (only the
type is shown), also if a model printed them into its error; fields with a name like `token`; and
the `secrets` themselves, wherever they occur. A client cannot forge lines by a newline in a model's
name either: control characters are escaped, and long text is cut.

How the real one differs: Triton logs in the style of glog (`I1121 22:33:00.123456 1 server.cc:674]
...`), with levels of verbosity.
"""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TextIO

from ..errors import ServingError

LONGEST = 500  # characters of one field
HIDDEN = "[hidden]"
# a tensor in the error message of a model, with everything after it
PRINTED_TENSOR = re.compile(r"\b(tensor|array|Parameter)\(.*", re.DOTALL)
SECRET_NAMES = ("token", "secret", "password", "authorization", "key", "cookie")


class Log:
    """Writes events to `stream` (None: `sys.stderr` at the time of the event), as "json" or "text".
    May be used from any thread.

    If the stream cannot be written to any more, lines are lost, but the server goes on. Raises
    ValueError for another format.
    """

    def __init__(
        self,
        format: str = "json",
        stream: TextIO | None = None,
        *,
        secrets: Iterable[str | None] = (),
        failures_per_second: int = 10,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if format not in ("json", "text"):
            raise ValueError(f"a log is written as 'json' or 'text', not as {format!r}")
        self.format, self.stream = format, stream
        self.failures_per_second = failures_per_second
        self._secrets = tuple(s for s in secrets if s)
        self._clock = clock
        self._lock = threading.Lock()
        self._second_began = -math.inf
        self._failures = 0  # in this second
        self._not_logged = 0  # since the last line about a failure

    def event(self, event: str, /, **fields: Any) -> None:
        """Writes a line. Fields are strings, numbers, booleans or None, or lists of these; of any
        other value, only the type is written.
        """
        line = self._line(event, fields)
        with self._lock:
            self._write(line)

    def failure(self, model: str, version: str, id: str, error: ServingError) -> bool:
        """Writes that a request failed, and why, unless the limit for this second is reached.

        Returns whether it was written. The next failure that is written has the number of those
        that were not, as `not_logged`.
        """
        fields: dict[str, Any] = {
            "model": model,
            "version": version,
            "id": id,
            "code": error.code,
            "message": str(error),
        }
        with self._lock:
            now = self._clock()
            if now - self._second_began >= 1.0:
                self._second_began, self._failures = now, 0
            if self._failures >= self.failures_per_second:
                self._not_logged += 1
                return False
            self._failures += 1
            if self._not_logged:
                fields["not_logged"] = self._not_logged
                self._not_logged = 0
            self._write(self._line("request_failed", fields))
            return True

    def close(self) -> None:
        """Writes the number of failures that were not logged since the last line about one. The
        stream stays open, as it belongs to the caller.
        """
        with self._lock:
            count, self._not_logged = self._not_logged, 0
            if count:
                self._write(self._line("requests_failed", {"not_logged": count}))

    def _line(self, event: str, fields: dict[str, Any]) -> str:
        """The line for an event, with the time in UTC and without secrets."""
        time_of_day = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        shown = {
            name: HIDDEN if is_secret(name) else self._presentable(value)
            for name, value in fields.items()
        }
        if self.format == "json":
            return json.dumps({"time": time_of_day, "event": event, **shown}) + "\n"
        return (
            " ".join(
                [
                    time_of_day,
                    event,
                    *(f"{name}={_as_text(value)}" for name, value in shown.items()),
                ]
            )
            + "\n"
        )

    def _presentable(self, value: object) -> Any:
        """A value as JSON can hold it, without secrets and contents of tensors."""
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, (list, tuple)):
            return [self._presentable(element) for element in value[:20]]
        if not isinstance(value, str):
            return f"<{type(value).__name__}>"
        for secret in self._secrets:
            value = value.replace(secret, HIDDEN)
        value = PRINTED_TENSOR.sub(r"\1(...)", value)
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}... ({len(value)} characters)"

    def _write(self, line: str) -> None:
        stream = sys.stderr if self.stream is None else self.stream
        try:
            stream.write(line)
            stream.flush()
        except (OSError, ValueError, AttributeError):
            # a pipe without a reader, a closed file, no stderr at all
            pass


def is_secret(name: str) -> bool:
    """Whether a field of this name has to be hidden: `token`, `api_token`, `tls_key`, ..."""
    return any(part in SECRET_NAMES for part in name.lower().replace("-", "_").split("_"))


def _as_text(value: object) -> str:
    if (
        isinstance(value, str)
        and value.isascii()
        and value.isprintable()
        and not set(value) & set(' "\\=')
    ):
        return value
    return json.dumps(value)
