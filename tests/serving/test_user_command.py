"""The command on a bad day: names that cannot be, files that are none, certificates, closed pipes,
signals while it loads.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals as torch
from internals import nn, serving
from internals.serving.command import main

COMMAND = [sys.executable, "-m", "internals", "serve"]
FREE = ["--port", "0", "--metrics-port", "0"]


class TakesText(nn.Module):
    def forward(self, x: torch.Tensor, how: str) -> torch.Tensor:
        return x


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, mlp: Any) -> Path:
    path = tmp_path_factory.mktemp("models") / "net.pt"
    torch.jit.save(torch.jit.script(mlp), path)
    return path


def last_words(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*arguments, *FREE]) == 1
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_a_name_that_no_model_can_have_is_one_line(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert last_words([str(archive), "--name", "a/b"], capsys).startswith(
        "serve: 'a/b' is no name of a model"
    )


def test_a_model_that_takes_texts_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.jit.save(torch.jit.script(TakesText()), tmp_path / "text.pt")
    said = last_words([str(tmp_path / "text.pt")], capsys)
    assert said.startswith(
        "serve: the argument 'how' of forward is a str, which no request can bring"
    )


@pytest.mark.skipif(
    not os.path.exists("/dev/null"), reason="there are no devices among the files here"
)
def test_a_path_that_is_neither_file_nor_folder_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        last_words(["/dev/null"], capsys)
        == "serve: /dev/null is neither a regular file nor a folder"
    )


@pytest.mark.parametrize(
    "files, why",
    [
        ({"cert": None, "key": None}, "--tls-cert {cert}: No such file or directory"),
        ({"cert": b"x", "key": None}, "--tls-key {key}: No such file or directory"),
        (
            {"cert": b"x", "key": b"x"},
            "--tls-cert {cert} and --tls-key {key} are no certificate and key in PEM: ",
        ),
    ],
)
def test_certificates_that_are_none_are_named(
    archive: Path,
    tmp_path: Path,
    files: dict[str, bytes | None],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = {name: tmp_path / f"{name}.pem" for name in files}
    for name, content in files.items():
        if content is not None:
            paths[name].write_bytes(content)
    said = last_words(
        [str(archive), "--tls-cert", str(paths["cert"]), "--tls-key", str(paths["key"])], capsys
    )
    assert said.startswith(f"serve: {why.format(**paths)}"), said


def test_authorities_that_are_none_and_keys_with_a_password_are_named(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trustme = pytest.importorskip("trustme", reason="trustme makes the certificates of this test")
    serialization = pytest.importorskip(
        "cryptography.hazmat.primitives.serialization", reason="it encrypts the key"
    )
    own = trustme.CA().issue_cert("localhost")
    cert, key, none = (tmp_path / name for name in ("cert.pem", "key.pem", "none.pem"))
    own.cert_chain_pems[0].write_to_path(cert)
    own.private_key_pem.write_to_path(key)
    none.write_bytes(b"x")
    where = [str(archive), "--tls-cert", str(cert), "--tls-key", str(key)]
    said = last_words([*where, "--tls-client-ca", str(none)], capsys)
    assert said.startswith(f"serve: --tls-client-ca {none} has no certificates in PEM: "), said
    pem, locked = serialization.Encoding.PEM, serialization.BestAvailableEncryption(b"password")
    loaded = serialization.load_pem_private_key(own.private_key_pem.bytes(), None)
    key.write_bytes(loaded.private_bytes(pem, serialization.PrivateFormat.PKCS8, locked))
    assert f"--tls-key {key} has a password" in last_words(where, capsys)


def test_an_address_that_this_machine_does_not_have_points_to_the_host(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # kept for documentation: nobody has it
    said = last_words([str(archive), "--host", "192.0.2.1"], capsys)
    assert said.startswith("serve: HTTP cannot listen at 192.0.2.1:0 (") and said.endswith(
        "--host chooses the address"
    )


@pytest.mark.parametrize("token", ["two\nlines", "a\ttab"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        serving.Settings(token=token)


def test_an_empty_token_in_the_environment_does_not_open_the_server(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERNALS_SERVE_TOKEN", "")
    assert last_words([str(archive)], capsys).startswith("serve: token='...'")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to stop a server with")
def test_it_serves_and_stops_when_nobody_reads_its_output(archive: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [*COMMAND, str(archive), *FREE], stdout=writing, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writing)
        assert process.stderr is not None
        for line in process.stderr:
            if "listening" in line:
                break
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        log = process.stderr.read()
        assert process.wait(30) == 0 and "stopped" in log and "Error" not in log, log


@pytest.mark.sampled(1 / 4)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to stop a server with")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_models_are_loaded_ends_it_at_once(
    archive: Path, number: signal.Signals
) -> None:
    program = (
        "import threading\n"
        "from internals.serving.models import repository\n"
        "def load(*arguments, **options):\n"
        "    print('loading', flush=True)\n"
        "    threading.Event().wait()\n"
        "repository.ServedModel = load\n"
        "from internals.serving.command import main\n"
        f"raise SystemExit(main([{str(archive)!r}, *{FREE}]))"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "loading\n", process.communicate()[1]
            process.send_signal(number)
            _, log = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0 and '"stopped"' in log and "Traceback" not in log, log


@pytest.mark.sampled(1 / 4)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of open files to set")
def test_without_files_to_open_it_says_so_once_a_second_and_goes_on(archive: Path) -> None:
    program = (
        "import resource, sys\n"
        "from internals.serving.command import main\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        f"raise SystemExit(main([{str(archive)!r}, *{FREE}]))"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            host, port = re.findall(r"http://([\d.]+):(\d+)/v2", line)[0]
            with ExitStack() as connections:
                for _ in range(60):
                    connections.enter_context(
                        socket.create_connection((host, int(port)), timeout=10)
                    )
                time.sleep(0.5)
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(
                    b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                )
                assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=30)
        finally:
            process.kill()
    events = [json.loads(entry) for entry in log.splitlines()]
    told = [event for event in events if event["event"] == "loop_error"]
    assert 1 <= len(told) <= 60 and told[0]["message"] == "socket.accept() out of system resource"
