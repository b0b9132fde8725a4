"""Small archives around code or JSON that is made to harm, and a process of their own to load them
in.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

from tests.serialization.archives_101 import archive as archive_101, one_function

PT2 = Path(__file__).parents[1] / "archives" / "pt2"
CLASS = (
    "class A(Module):\n  training : bool\n  def forward(self: __torch__.A, x: Tensor) -> Tensor:\n"
)
MODULE = b"\x80\x02c__torch__\nA\n)\x81}X\x08\x00\x00\x00training\x88sb."


def script(body: str, definitions: str = "", data: bytes = MODULE) -> bytes:
    """An archive of today: a module whose `forward(x)` has these lines; `definitions` follow in the
    record.
    """
    lines = textwrap.indent(body, "    ") + "\n"
    code = CLASS + lines + definitions
    return zipped({"data.pkl": data, "code/__torch__.py": code, "constants.pkl": b"\x80\x02).",
                   "version": "3\n"})  # fmt: skip


def script_101(body: str) -> bytes:
    """The same in the layout of 1.0.1."""
    lines = textwrap.indent(body, "  ") + "\n"
    return archive_101(one_function(f"def forward(self, x: Tensor) -> Tensor:\n{lines}"))


def pt2(change: Any, name: str = "small") -> bytes:
    """The exported program `name` of `tests/archives`, whose JSON `change` writes to."""
    with zipfile.ZipFile(PT2 / f"{name}.pt2") as z:
        records = {each.partition("/")[2]: z.read(each) for each in z.namelist()}
    model = json.loads(records["models/model.json"])
    change(model)
    return zipped(records | {"models/model.json": json.dumps(model)})


def zipped(records: dict[str, Any], top: str = "x") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in records.items():
            z.writestr(f"{top}/{name}", content)
    return out.getvalue()


BEFORE = """
import io, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import internals as torch
from internals import export, jit
data = io.BytesIO(sys.stdin.buffer.read())
"""


def in_a_process(program: str, data: bytes, seconds: int = 60) -> str:
    """What `program` prints, a process of its own with `data`, 2 GiB and so many seconds; it fails
    if that is not enough.
    """
    run = subprocess.run(
        [sys.executable, "-c", BEFORE + program], input=data, capture_output=True, timeout=seconds
    )
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    return run.stdout.decode()
