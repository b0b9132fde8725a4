"""The JavaScript runtime (`runtimes/node`): archives made here and by real PyTorch give the same
numbers without Python.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import internals as torch
from runtimes.corpus.make import write
from tests.runtimes import runtime_calls
from tests.serialization.expected import EXPECTED, FOLDER, decoded
from tools.browser.chromium import executable

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtimes" / "node"
NODE = shutil.which("node")
CHROMIUM = executable()

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

UNKNOWN = {"constants": "complex numbers", "dtypes": "HalfStorage"}
"""Archives of real PyTorch that this runtime refuses, and what it says."""

FUZZ = """
const fs = require("fs");
const { ScriptModule } = require(process.argv[1]);
let seed = 1;
const random = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
};
const count = { loaded: 0, refused: 0 };
for (const file of process.argv.slice(2)) {
  const whole = fs.readFileSync(file);
  for (let i = 0; i < 150; i++) {
    const bytes = new Uint8Array(i % 10 ? whole : whole.subarray(0, random(whole.length)));
    for (let k = 1 + random(4); k > 0 && i % 10; k--)
      bytes[random(bytes.length)] = [random(256), 255, 0][random(3)];
    try {
      const module = new ScriptModule(bytes);
      for (const t of module.tensors().values()) t.data;
      count.loaded++;
    } catch (error) {
      if (error.name !== "ArchiveError") throw error;
      count.refused++;
    }
  }
}
console.log(JSON.stringify(count));
"""


def node(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    return subprocess.run(
        [NODE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=ROOT,
    )


def check(*paths: Path) -> subprocess.CompletedProcess[str]:
    return node(RUNTIME / "check.js", *paths)


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network and a case, saved by internals."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("node")
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    ).eval()
    x = torch.randn(2, 4)
    with torch.no_grad():
        expected = model(x)
    torch.jit.save(torch.jit.script(model), str(folder / "mlp.pt"))
    torch.save(
        {"calls": [{"method": "forward", "inputs": [x], "expected": expected}]},
        str(folder / "mlp.case.pt"),
    )
    return folder / "mlp.pt"


def test_the_parts() -> None:
    done = node("--test", RUNTIME / "test")
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^# pass [1-9]", done.stdout, re.M)


def test_the_talks_lines(mlp: Path) -> None:
    program = """
var torchjs = require(process.argv[1]);
var script_module = new torchjs.ScriptModule(process.argv[2]);
var data = torchjs.ones([2, 4], false);
console.log(data);
var output = script_module.forward(data);
console.log(output);
"""
    done = node("-e", program, RUNTIME, mlp)
    assert done.stdout == (
        "Tensor[Type=Variable[CPUFloatType], Size=[2, 4]\nTensor[Type=Variable[CPUFloatType], "
        "Size=[2, 3]\n"
    ), done.stderr


@pytest.mark.sampled(1 / 4)
def test_the_corpus_written_here(tmp_path: Path) -> None:
    names = list(write(torch, tmp_path))
    done = check(tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(f"\n{len(names)} passed, 0 failed\n") and len(names) > 50


def test_archives_of_real_pytorch(tmp_path: Path) -> None:
    cases = {
        name: calls
        for name, entry in EXPECTED.items()
        if (calls := supported_calls(entry["calls"])) and name not in UNKNOWN
    }
    for name, calls in cases.items():
        shutil.copy(FOLDER / f"{name}.pt", tmp_path)
        torch.save({"calls": calls}, str(tmp_path / f"{name}.case.pt"))
    done = check(tmp_path)
    assert done.returncode == 0, done.stdout
    assert len(cases) > 15


def supported_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recorded calls as `check` takes them."""
    found = []
    for call in calls:
        entry = {"method": call["method"], "inputs": [decoded(a, torch) for a in call["arguments"]]}
        if "raises" in call:
            said = re.sub(r"^(\w+\.)*\w*(Error|Exception): ", "", call["raises"])
            found.append({**entry, "raises": said.split(". Declaration")[0]})
        else:
            found.append({**entry, "expected": decoded(call["returns"], torch)})
    return found


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_refused_by_name(name: str) -> None:
    done = node(
        "-e",
        "new (require(process.argv[1]).ScriptModule)(process.argv[2]).graph()",
        RUNTIME,
        FOLDER / f"{name}.pt",
    )
    assert done.returncode != 0 and "ArchiveError" in done.stderr and UNKNOWN[name] in done.stderr


@pytest.mark.parametrize("change", ["value", "dtype", "structure", "raises", "missing"])
def test_a_case_that_is_wrong_fails(mlp: Path, tmp_path: Path, change: str) -> None:
    shutil.copy(mlp, tmp_path)
    call = torch.load(str(mlp.with_suffix(".case.pt")))["calls"][0]
    expected = call.pop("expected")
    wrong = {
        "value": {"expected": expected + 1e-4},
        "dtype": {"expected": expected.double()},
        "structure": {"expected": (expected,)},
        "raises": {"raises": "some error"},
        "missing": None,
    }[change]
    if wrong is not None:
        torch.save({"calls": [{**call, **wrong}]}, str(tmp_path / "mlp.case.pt"))
    done = check(tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("FAILED mlp: ") and done.stdout.endswith("\n0 passed, 1 failed\n")


def test_an_operator_that_is_missing_is_named(tmp_path: Path) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.cosine_similarity(x, x, 0)

    torch.jit.save(torch.jit.trace(program, (torch.ones(2),)), str(tmp_path / "f.pt"))
    done = node(
        "-e",
        "const t = require(process.argv[1]); new "
        "t.ScriptModule(process.argv[2]).forward(t.ones([2]))",
        RUNTIME,
        tmp_path / "f.pt",
    )
    assert "this runtime has no aten::cosine_similarity" in done.stderr


def test_damaged_archives_are_refused_or_load(mlp: Path) -> None:
    done = node("-e", FUZZ, RUNTIME, mlp, FOLDER / "control_flow.pt", FOLDER / "objects.pt")
    assert done.returncode == 0, done.stderr
    count = json.loads(done.stdout)
    assert count["loaded"] + count["refused"] == 450 and min(count.values()) > 20


@pytest.mark.sampled(1 / 4)
def test_any_call_of_an_operator_is_answered_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A few for each; `make runtimes-test ARGS=--full` makes many more. Whatever goes wrong is a
    ScriptError.
    """
    assert runtime_calls.main(["node", str(RUNTIME / "check.js"), "--calls", "4"]) == 0, (
        capsys.readouterr().out[-5000:]
    )


def test_records_that_inflate_too_far_are_refused(mlp: Path, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.pt"
    with zipfile.ZipFile(mlp) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry))
        new.writestr(old.namelist()[0].partition("/")[0] + "/data/bomb", b"\0" * (64 << 20))
    done = node("-e", "new (require(process.argv[1]).ScriptModule)(process.argv[2])", RUNTIME, bomb)
    assert (
        "ArchiveError" in done.stderr
        and "8 times the file and 16 MiB): a compression bomb" in done.stderr
    )


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def page_folder(mlp: Path, tmp_path: Path) -> Iterator[str]:
    """A server of the runtime's files with an archive among them; its address."""
    shutil.copytree(RUNTIME, tmp_path / "node", ignore=shutil.ignore_patterns("test"))
    shutil.copy(mlp, tmp_path / "node" / "demo")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(tmp_path / "node"))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/demo/"
    server.shutdown()
    server.server_close()


def rendered(url: str, profile: Path) -> str:
    """The page's elements after its scripts have run."""
    assert CHROMIUM is not None
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=20000",
        "--dump-dom",
    ]
    return subprocess.run(
        [CHROMIUM, *options, url], capture_output=True, text=True, timeout=300, check=True
    ).stdout


@pytest.mark.sampled(1 / 4)
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_page_opens_and_runs_an_archive(page_folder: str, tmp_path: Path) -> None:
    text = rendered(f"{page_folder}?open=mlp.pt&run", tmp_path / "profile")
    assert "Tensor[Type=Variable[CPUFloatType], Size=[1, 3]" in text
    assert text.count('class="meter') == 3
    assert "<svg" in text and "ReLU</text>" in text and "class Sequential(Module):" in text
    assert '<td class="mono">data.pkl</td>' in text


@pytest.mark.sampled(1 / 4)
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_page_says_what_is_wrong_with_a_file(page_folder: str, tmp_path: Path) -> None:
    (tmp_path / "node" / "demo" / "text.pt").write_text("hello")
    assert "not a ZIP archive" in rendered(f"{page_folder}?open=text.pt", tmp_path / "profile")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_bundled_page_needs_no_server(tmp_path: Path) -> None:
    assert node(RUNTIME / "demo" / "bundle.js", tmp_path / "demo.html").returncode == 0
    page = (tmp_path / "demo.html").read_text()
    app = "loader.run(loader.resolve('app.js', document.baseURI))"
    said = f"<script>document.title = 'ready ' + typeof {app}.open</script></body>"
    (tmp_path / "demo.html").write_text(page.replace("</body>", said))
    assert "<title>ready function</title>" in rendered(
        (tmp_path / "demo.html").as_uri(), tmp_path / "profile"
    )
