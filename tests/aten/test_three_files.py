"""An operator is a line in each of three files, and everything else follows.

Two operators that do not exist are added to a copy of the project: an entry of native_functions, a
function of one element, a derivative. `added_operators.py` says what the copy can do with them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTRY = """- func: {schema}
  variants: function, method
  autogen: {name}_, {name}.out
  dispatch: {{"CPU, CUDA": scalar.{name}}}
"""
LOGCOSH = {
    "internals/aten/native_functions/pointwise_unary.yaml": ENTRY.format(
        schema="logcosh(Tensor self) -> Tensor", name="logcosh"
    ),
    "internals/aten/scalar_functions/table.py": (
        "logcosh = scalar(lambda x: abs(x) + log1p(exp(T(-2) * abs(x))) - T(0.6931471805599453))\n"
    ),
    "internals/autograd/derivatives/pointwise_unary.yaml": (
        "- name: logcosh(Tensor self) -> Tensor\n  self: grad * self.tanh()\n"
    ),
}
SQDIFF = {
    "internals/aten/native_functions/pointwise_binary.yaml": ENTRY.format(
        schema="sqdiff(Tensor self, Tensor other) -> Tensor", name="sqdiff"
    ),
    "internals/aten/scalar_functions/table.py": (
        'sqdiff = scalar(lambda a, b: (a - b) * (a - b), dtypes="fi")\n'
    ),
    "internals/autograd/derivatives/pointwise_binary.yaml": (
        "- name: sqdiff(Tensor self, Tensor other) -> Tensor\n"
        "  self: grad * 2 * (self - other)\n"
        "  other: grad * 2 * (other - self)\n"
    ),
}


@pytest.mark.slow
def test_two_new_operators_work_everywhere(tmp_path: Path) -> None:
    copied(tmp_path)
    for operator in (LOGCOSH, SQDIFF):
        assert len(operator) == 3
        for file, line in operator.items():
            add(tmp_path / file, line)
    run(tmp_path, "-m", "codegen")
    run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/aten/added_operators.py")


def copied(target: Path) -> None:
    """The source, and the tests' own configuration, in another place."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in ("internals", "codegen", "tools"):
        shutil.copytree(ROOT / folder, target / folder, ignore=ignored)
    (target / "tests" / "aten").mkdir(parents=True)
    for file in ("pyproject.toml", "tests/aten/added_operators.py"):
        shutil.copy(ROOT / file, target / file)


def add(file: Path, line: str) -> None:
    """At the end of an .yaml, and at the end of the table in the file that has it."""
    text = file.read_text(encoding="utf-8")
    end = text.index("\n\ndef get(") if file.name == "table.py" else len(text)
    file.write_text(text[:end] + line + text[end:], encoding="utf-8")


def run(folder: Path, *command: str) -> None:
    result = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
