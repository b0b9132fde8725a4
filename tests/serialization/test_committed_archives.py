"""The archives that are committed do not say where they were made: PyTorch notes the files that
code was compiled from.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tests.serialization.inspection_support import ARCHIVES, FILES

ABSOLUTE = re.compile(rb"(?<![\w.])(/[\w.-]+)+\.py|[A-Za-z]:\\\\?[\w.-]+\\|/(home|root|Users)/")


def contents(path: Path) -> dict[str, bytes]:
    if not zipfile.is_zipfile(path):
        return {"": path.read_bytes()}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ARCHIVES).as_posix())
def test_no_absolute_paths(path):
    found = {
        name: match.group()
        for name, data in contents(path).items()
        if (match := ABSOLUTE.search(data))
    }
    assert not found, f"made without relative_sources.use_relative_names(): {found}"


def test_a_path_would_be_seen():
    assert ABSOLUTE.search(b"X1\0\0\0/opt/python/lib/torch/nn/functional.pyq\x05")
    assert not ABSOLUTE.search(b"X1\0\0\0torch/nn/functional.pyq\x05")
