"""`python -m internals explore`: what it takes, where it writes, and what it says when it
cannot.
"""

from __future__ import annotations

import importlib.util
import webbrowser
from pathlib import Path

import numpy as np
import pytest

import internals as torch
from internals import __main__ as command_line, jit

FILE = """
import internals as torch
from internals import nn


def product(x, y, n: int = 1):
    return torch.mm(x, y) * n


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x)


class Sized(nn.Module):
    def __init__(self, n):
        super().__init__()


made = Net()


def refused(x):
    return {a for a in x}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("functions_to_explore.py").write_text(FILE)
    np.save("x.npy", np.ones((2, 4), np.float32))
    return "functions_to_explore.py"


def explore(*arguments: str) -> int:
    return command_line.main(["explore", *arguments])


def test_a_function_with_arguments(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = explore(
        f"{file}:product",
        "--input",
        "x.npy",
        "--ones",
        "4,3",
        "--input",
        "3",
        "-o",
        "out.html",
        "--no-open",
    )
    assert status == 0 and capsys.readouterr().out == "written: out.html\n"
    page = Path("out.html").read_text()
    # sizes of arguments are not part of a plan
    assert "aten::mm" in page and "Float(2, 4" not in page
    assert "propagate_input_shapes" in page


@pytest.mark.parametrize("name", ["Net", "made", "Net.forward"])
def test_modules(file: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = explore(f"{file}:{name}", "--ones", "2,4", "-o", "out.html", "--no-open")
    if name == "Net.forward":  # a method without its module
        assert status == 1 and "cannot be compiled or called" in capsys.readouterr().err
    else:
        assert status == 0 and "aten::linear" in Path("out.html").read_text()


def test_a_saved_file(file: str) -> None:
    jit.save(jit.script(torch.nn.Linear(4, 2)), "linear.pt")
    assert explore("linear.pt", "--input", "x.npy", "-o", "out.html", "--no-open") == 0
    assert 'data-pane="archive"' in Path("out.html").read_text()


def test_the_browser_is_opened_unless_it_is_not_wanted(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or len(opened) < 2)
    assert explore(f"{file}:product") == 0
    where = Path(capsys.readouterr().out.removeprefix("written: ").rstrip("\n"))
    assert (
        opened == [where.absolute().as_uri()]
        and where.exists()
        and where.parent.name.startswith("explore-")
    )
    where.unlink()
    where.parent.rmdir()
    assert explore(f"{file}:product", "-o", "out.html") == 0
    assert "no browser could be started here" in capsys.readouterr().out
    assert explore(f"{file}:product", "-o", "out.html", "--no-open") == 0 and len(opened) == 2


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["{file}:nothing"], "has no 'nothing'; it has product, Net, Sized, refused"),
        (["{file}:product.inner"], "has no 'product.inner'"),
        (["{file}:"], "names no function; functions_to_explore.py has product, Net"),
        (
            ["{file}:Net.forward"],
            "forward is a method: if functions_to_explore.py:Net is a module, give that",
        ),
        (["{file}"], "say which function, as in functions_to_explore.py:product"),
        (["absent.py:f"], "absent.py: there is no such file"),
        (
            ["absent.pt"],
            "'absent.pt': there is no such file (a function is given as FILE.py:FUNCTION)",
        ),
        (["x.npy"], "x.npy"),
        (["{file}:Sized"], "is a class that cannot be made without arguments"),
        (["{file}:refused"], "line 28"),
        (["{file}:product", "--ones", "2"], "missing value for argument 'y'"),
        (["{file}:product", "--input", "no.npy"], "--input no.npy: there is no such file"),
        (["{file}:product", "-o", "out.pdf"], "-o out.pdf: the page is HTML"),
        (["{file}:product", "-o", "absent/out.html"], "absent"),
    ],
)
def test_what_it_says_when_it_cannot(
    file: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore("--no-open", *[a.format(file=file) for a in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("explore: ") and said in captured.err and not captured.out
    assert not Path("out.html").exists()


@pytest.mark.parametrize(
    "line, said",
    [("1 / 0", "ZeroDivisionError"), ("exit(3)", "SystemExit: 3"), ("def", "SyntaxError")],
)
def test_a_file_that_fails_when_it_is_imported(
    file: str,
    line: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("failing.py").write_text(f"{line}\n")
    folder = Path("no-temporary-folder-is-left")
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert explore("failing.py:f", "--no-open") == 1
    assert f"failing.py cannot be imported: {said}" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_a_file_of_a_package_imports_its_neighbours(file: str) -> None:
    folder = Path("package_to_explore") / "inner"
    folder.mkdir(parents=True)
    for name, text in {
        "__init__.py": "", "factor.py": "FACTOR = 3", "inner/__init__.py": "",
        "inner/part.py": (
            "from ..factor import FACTOR\nn: int = FACTOR\ndef f(x):\n    return x * 2\n"
        ),
    }.items():  # fmt: skip
        (folder.parent / name).write_text(text)
    assert explore(f"{folder}/part.py:f", "--ones", "2", "-o", "out.html", "--no-open") == 0
    assert "aten::mul" in Path("out.html").read_text()


def test_help_says_that_the_file_is_executed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        explore("--help")
    assert "FILE.py is executed" in capsys.readouterr().out


def test_without_viz_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert explore("f.py:f") == 1
    assert "explore needs the package viz, which is not here" in capsys.readouterr().err
