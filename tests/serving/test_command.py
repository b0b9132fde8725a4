"""`python -m internals serve` as an operator uses it: options, what it prints, signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals as torch
from internals import serving
from internals.serving.command import main, make_settings, parser


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, mlp: Any) -> Path:
    path = tmp_path_factory.mktemp("models") / "net.pt"
    torch.jit.save(torch.jit.script(mlp), path)
    return path


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the line that says where it listens."""
    command = [
        sys.executable,
        "-m",
        "internals",
        "serve",
        *arguments,
        "--port",
        "0",
        "--metrics-port",
        "0",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            yield process, line
        finally:
            process.kill()


def grpc_address(line: str) -> str:
    found = re.search(r"gRPC (\S+),", line)
    assert found, line
    return found.group(1)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to stop a server with")
def test_a_server_from_start_to_sigterm(archive: Path) -> None:
    with running(
        str(archive), "--name", "mlp", "--max-batch", "4", "--max-delay", "1", "--workers", "2"
    ) as (
        process,
        line,
    ):
        assert line.startswith("serving mlp 1: gRPC 127.0.0.1:")
        with serving.Client(grpc_address(line)) as client:
            assert client.infer("mlp", torch.zeros(2, 8)).shape == (2, 3)
            with pytest.raises(serving.RemoteError, match="there is no model 'net'; there is mlp"):
                client.infer("net", torch.zeros(2, 8))
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    events = [json.loads(entry)["event"] for entry in log.splitlines()]
    assert events == ["model_loaded", "listening", "request_failed", "stopping", "stopped"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP here")
def test_sighup_loads_what_is_new(archive: Path, tmp_path: Path) -> None:
    with running(str(tmp_path), "--log", "text") as (process, line):
        assert line.startswith("serving no model yet: gRPC")
        (tmp_path / "late.pt").write_bytes(archive.read_bytes())
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        for entry in process.stderr:
            if "model_loaded" in entry:
                break
        with serving.Client(grpc_address(line)) as client:
            assert client.infer("late", torch.zeros(2, 8)).shape == (2, 3)


@pytest.mark.parametrize(
    "arguments, why",
    [
        (["none.pt"], "there is no file or folder none.pt"),
        (["MODEL", "--max-batch", "0"], "max_batch=0: it must be at least 1"),
        (["MODEL", "--max-delay", "-1"], "max_delay=-1.0"),
        (["MODEL", "--port", "70000"], "port=70000: a port is a number from 0 to 65535"),
        (["MODEL", "--tls-cert", "x.pem"], "a certificate and its key go together"),
        (["MODEL", "--token-file", "none"], "No such file or directory: 'none'"),
        (["FOLDER", "--name", "x"], "--name is for a single file"),
        (["MODEL", "--input", "x:FP99:1"], "FP99"),
        (["MODEL", "--model-dir", "FOLDER"], "the only folder to load from"),
        (["DAMAGED"], "damaged.pt"),
    ],
)
def test_what_does_not_fit_is_one_line(
    archive: Path,
    tmp_path: Path,
    arguments: list[str],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    damaged = tmp_path / "damaged.pt"
    damaged.write_bytes(b"no archive")
    names = {"MODEL": str(archive), "FOLDER": str(tmp_path), "DAMAGED": str(damaged)}
    free_ports = [] if "--port" in arguments else ["--port", "0", "--metrics-port", "0"]
    status = main([*(names.get(a, a) for a in arguments), *free_ports])
    said = capsys.readouterr().err
    assert status == 1
    last = said.strip().splitlines()[-1]
    assert last.startswith("serve: ") and why in last, said


def test_every_setting_has_an_option_and_its_default(archive: Path) -> None:
    options = vars(parser().parse_args([str(archive)]))
    apart = {"token"}  # comes from --token-file
    assert {field.name for field in fields(serving.Settings)} - apart <= options.keys()
    assert make_settings(options) == serving.Settings()
    text = " ".join(parser().format_help().split())
    for told in ("(8001;", "(8000)", "(32;", "(2)", "(256)", "(30)", "(256 MiB)", "(64 MiB)"):
        assert told in text


def test_without_the_extra_it_says_what_to_install(archive: Path) -> None:
    program = (
        "import sys; sys.modules['grpc'] = None\n"
        "from internals.serving.command import main\n"
        f"raise SystemExit(main([{str(archive)!r}]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 1
    assert (
        run.stderr
        == "serve: grpc is not installed: pip install -e .[serving] brings what serving needs\n"
    )


def test_internals_itself_does_not_import_serving() -> None:
    names = ("internals.serving", "grpc", "aiohttp")
    program = (
        f"import sys, internals, viz; print([m for m in sys.modules if m.startswith({names})])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert run.stdout == "[]\n", run.stderr
