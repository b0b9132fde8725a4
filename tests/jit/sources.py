"""Functions made from text, each in a file of its own, as a reader's function is in theirs."""

from __future__ import annotations

import itertools
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any

_files = tempfile.TemporaryDirectory()  # until the tests end: errors show lines of these files
_numbers = itertools.count()


def define(text: str, **names: Any) -> Any:
    """The last function or class that `text` defines, in a module where `names` are known."""
    path = Path(_files.name) / f"source_{next(_numbers)}.py"
    path.write_bytes(textwrap.dedent(text).encode())
    module: dict[str, Any] = {"__name__": "user", "__file__": str(path), **names}
    exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module)
    return [
        v for k, v in module.items() if getattr(v, "__module__", "") == "user" and k not in names
    ][-1]


def place_free(text: str) -> str:
    """The text of a graph or of code without the directories of files, and without numbers that
    count what was before.
    """
    text = re.sub(r"source_\d+\.py", "source.py", re.sub(r"___torch_mangle_\d+\.", "", text))
    return re.sub(r"warn_id=\d+", "warn_id=0", re.sub(r"# /\S*/", "# ", text))


def plain(text: str) -> str:
    """An error's text without directories and the numbers of files."""
    lines = []
    for line in text.split("\n"):
        if line.startswith('  File "'):
            _, path, rest = line.split('"', 2)
            line = f'  File "{Path(path).stem.rstrip("0123456789")}"{rest}'
        lines.append(line)
    return re.sub(r"\S*source_\d+\.py:", "source:", "\n".join(lines))
