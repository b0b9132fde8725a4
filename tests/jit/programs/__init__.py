"""Small programs for the script compiler: source, with `f` the function, and arguments for it.

The source is the same for us and for PyTorch: only the first line, which says what `torch` is,
differs.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tests.answers import Plain, answer

HEAD = "from typing import Any, Dict, List, NamedTuple, Optional, Tuple\nimport math\n"
_count = itertools.count()


class Program(NamedTuple):
    """`inputs` are tuples of Python expressions, one tuple a call."""

    name: str
    source: str
    inputs: tuple[str, ...]


def programs(text: str) -> list[Program]:
    """Programs separated by lines `### name` and followed by lines `>>> arguments`."""
    found = []
    for part in re.split(r"^### ", text, flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        lines = rest.splitlines()
        inputs = tuple(line[4:] for line in lines if line.startswith(">>> "))
        source = "\n".join(line for line in lines if not line.startswith(">>> ")).strip("\n") + "\n"
        found.append(Program(name.strip(), source, inputs))
    return found


def load(program: Program, directory: Path, torch: str) -> ModuleType:
    """The program as a module in which `torch` is the module called so."""
    path = directory / f"program_{next(_count)}.py"
    path.write_text(f"import {torch} as torch\n{HEAD}{program.source}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def scripted_by_pytorch(program: Program, directory: Path, say: Callable[[Any], Any]) -> Plain:
    """What `say` says of the program's `f`, scripted by real PyTorch."""

    def ask(torch: Any) -> Any:
        f = load(program, directory, "torch").f
        return say(f if hasattr(f, "graph") else torch.jit.script(f))

    return answer(ask, about=program, family="jit_graphs")


def arguments(module: ModuleType, text: str) -> tuple[Any, ...]:
    """The arguments of a call, evaluated in the module."""
    value = eval(text, vars(module))
    return value if isinstance(value, tuple) else (value,)


def normalized(graph: str) -> str:
    """The text of a graph with values numbered in the order in which they appear, and places
    without the file's path.
    """
    numbers: dict[str, str] = {}
    renamed = re.sub(r"%[\w.]+", lambda m: numbers.setdefault(m.group(), f"%{len(numbers)}"), graph)
    return re.sub(r"# \S*?([\w<>]+(?:\.py)?):(\d+:\d+)", r"# \2", renamed).strip()


def place_free(message: str) -> str:
    """An error's text without the directories of files."""
    return re.sub(
        r"program_\d+",
        "program",
        re.sub(r'File "[^"]*?(?:program_\d+\.py|<string>)"', 'File "f.py"', message),
    ).strip()
