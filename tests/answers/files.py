"""The files that answers are kept in: a pickle of plain data, compressed, one for each family."""

from __future__ import annotations

import io
import lzma
import os
import pickle
from functools import cache
from pathlib import Path
from typing import Any

from tests.answers.plain import Plain, Raised, RealTensor

FOLDER = Path(__file__).parents[1] / "golden" / "pytorch"
# of each test: what was said, by number or by a checksum of what it is about
Answers = dict[str, dict[int, Plain]]


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known: dict[str, type] = {"RealTensor": RealTensor, "Raised": Raised, "complex": complex}
        if name in known:
            return known[name]
        raise pickle.UnpicklingError(f"an answer holds {module}.{name}")


@cache
def load(family: str) -> Answers:
    path = FOLDER / f"{family}.xz"
    return read(path) if path.exists() else {}


def read(path: Path) -> Any:
    return PlainUnpickler(io.BytesIO(lzma.decompress(path.read_bytes()))).load()


def write(path: Path, answers: Any) -> None:
    """The whole file or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(lzma.compress(pickle.dumps(answers, protocol=4), preset=6))
    os.replace(temporary, path)
