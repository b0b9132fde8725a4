"""What gets into a server's log, and what must not."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

import internals

pytest.importorskip("prometheus_client", reason="the extra `serving` is not installed")

from internals.serving.errors import InvalidRequest, ModelFailed
from internals.serving.observe.logs import LONGEST, Log


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_on_one_line() -> None:
    stream = io.StringIO()
    Log("json", stream).event(
        "listening", grpc="127.0.0.1:8001", port=8001, tls=False, limit=None, share=0.5
    )
    (line,) = lines(stream)
    assert line.pop("time").endswith("Z")
    assert line == {
        "event": "listening",
        "grpc": "127.0.0.1:8001",
        "port": 8001,
        "tls": False,
        "limit": None,
        "share": 0.5,
    }


def test_as_text() -> None:
    stream = io.StringIO()
    Log("text", stream).event(
        "model loaded", name="mlp", why="asked to", seconds=0.5, none=None, empty=""
    )
    assert (
        stream.getvalue().split(" ", 1)[1]
        == 'model loaded name=mlp why="asked to" seconds=0.5 none=null empty=\n'
    )


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'json' or 'text', not as 'xml'"):
        Log("xml")


@given(st.sampled_from(["json", "text"]), st.text())
def test_whatever_a_client_sends_it_stays_one_line(format: str, text: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    Log(format, stream).event("loaded", name=text)
    line = raw.getvalue().decode("ascii")
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    if format == "json" and len(text) <= LONGEST:
        assert json.loads(line)["name"] == text


@given(st.sampled_from([float("nan"), float("inf"), -float("inf")]))
def test_lines_are_strict_json(value: float) -> None:
    stream = io.StringIO()
    Log("json", stream).event("measured", value=value)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(stream.getvalue(), parse_constant=refuse)["value"] == str(value)


@pytest.mark.parametrize("format", ["json", "text"])
def test_a_token_never_appears(format: str) -> None:
    stream = io.StringIO()
    log = Log(format, stream, secrets=("s3cr3t-t0ken", None, ""))
    log.event(
        "started",
        token="another",
        api_token="another",
        Authorization="Bearer another",
        tls_key="another",
    )
    log.event(
        "odd",
        message="the header was Bearer s3cr3t-t0ken",
        path="/v2?x=s3cr3t-t0ken",
        names=["s3cr3t-t0ken"],
    )
    log.failure("s3cr3t-t0ken", "1", "s3cr3t-t0ken", InvalidRequest("s3cr3t-t0ken" * 100))
    written = stream.getvalue()
    assert written.count("\n") == 3
    assert "s3cr3t" not in written
    assert "another" not in written
    assert "[hidden]" in written


@pytest.mark.parametrize("format", ["json", "text"])
def test_contents_of_tensors_and_buffers_never_appear(format: str) -> None:
    stream = io.StringIO()
    log = Log(format, stream)
    x = internals.tensor([31337.0, 4242.0])
    for value in (
        x,
        [x],
        x.numpy(),
        b"31337",
        bytearray(b"31337"),
        memoryview(b"31337"),
        {"x": 31337},
        ValueError("31337"),
    ):
        log.event("odd", value=value)
    written = re.sub(r"[0-9-]+T[0-9:.]+Z", "", stream.getvalue())  # a time may have any digits
    assert "31337" not in written
    assert "4242" not in written
    assert "<Tensor>" in written
    assert "<memoryview>" in written


def test_nor_what_a_model_prints_into_its_error() -> None:
    stream = io.StringIO()
    x = internals.tensor([[31337.0, 4242.0], [31337.0, 4242.0]])
    for message in (
        f"cannot handle {x}",
        f"cannot handle {x.numpy()!r} of rank 2",
        f"cannot {internals.nn.Parameter(x)}",
    ):
        Log("json", stream).failure("mlp", "1", "", ModelFailed(message))
    assert "31337" not in stream.getvalue()
    assert [line["message"] for line in lines(stream)] == [
        "cannot handle tensor(...)",
        "cannot handle array(...)",
        "cannot Parameter containing:\ntensor(...)",
    ]


def test_long_text_is_cut() -> None:
    stream = io.StringIO()
    Log("json", stream).event("odd", text="a" * 10_000, many=list(range(10_000)))
    (line,) = lines(stream)
    assert line["text"] == "a" * LONGEST + "... (10000 characters)"
    assert line["many"] == list(range(20))


def test_a_failure_says_what_was_wrong_with_which_request() -> None:
    stream = io.StringIO()
    assert Log("json", stream).failure(
        "mlp", "2", "r-17", InvalidRequest("input 'x' is missing; the model takes x")
    )
    (line,) = lines(stream)
    del line["time"]
    assert line == {
        "event": "request_failed",
        "model": "mlp",
        "version": "2",
        "id": "r-17",
        "code": "INVALID_ARGUMENT",
        "message": "input 'x' is missing; the model takes x",
    }


def test_failures_are_written_so_often_and_then_counted() -> None:
    stream, clock = io.StringIO(), Clock()
    log = Log("json", stream, failures_per_second=3, clock=clock)
    error = InvalidRequest("no")
    assert [log.failure("mlp", "1", str(n), error) for n in range(8)] == [True] * 3 + [False] * 5
    clock.now = 0.9
    assert not log.failure("mlp", "1", "8", error)
    clock.now = 1.0
    assert log.failure("mlp", "1", "9", error)
    written = lines(stream)
    assert [line["id"] for line in written] == ["0", "1", "2", "9"]
    assert [line.get("not_logged") for line in written] == [None, None, None, 6]
    assert {line["event"] for line in written} == {"request_failed"}


def test_events_are_not_limited_and_closing_tells_what_was_left_out() -> None:
    stream = io.StringIO()
    log = Log("json", stream, failures_per_second=1, clock=Clock())
    for n in range(5):
        log.failure("mlp", "1", str(n), InvalidRequest("no"))
        log.event("loaded", n=n)
    log.close()
    log.close()
    written = lines(stream)
    assert [line["event"] for line in written] == [
        "request_failed",
        *["loaded"] * 5,
        "requests_failed",
    ]
    assert written[-1]["not_logged"] == 4


def test_a_log_that_cannot_be_written_does_not_stop_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = io.StringIO()
    closed.close()
    Log("json", closed).event("nobody reads this")
    monkeypatch.setattr(sys, "stderr", None)
    Log("json").event("nor this")


def test_without_a_stream_it_is_standard_error_at_that_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = Log("json")
    log.event("now")
    assert json.loads(capsys.readouterr().err)["event"] == "now"


def test_a_failure_says_whose_it_is_and_why() -> None:
    stream = io.StringIO()
    assert Log("json", stream).failure("mlp", "3", "call-7", InvalidRequest("no input"))
    (line,) = lines(stream)
    assert {k: line[k] for k in ("model", "version", "id", "code", "message")} == {
        "model": "mlp", "version": "3", "id": "call-7", "code": InvalidRequest("").code,
        "message": "no input",
    }  # fmt: skip
