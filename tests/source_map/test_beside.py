"""What the source map, and our own descriptions, say of today's PyTorch is looked up in the
installed one.

The wheel holds Python files, headers, torchgen with the YAML files, and the templates of the
generators; sources in C++ it does not hold, so those are not looked up here.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from internals.source_map.entries import ROOT, entries, named_from
from internals.source_map.place import mirrors
from tools.source_map import guide

SHIPPED = (".py", ".h", ".cuh", ".pyi", ".yaml")
OUR_FILES = sorted(
    path
    for package in ("internals", "viz", "codegen", "apparatus")
    for path in (ROOT / package).rglob("*.py")
)


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder that `torch` is installed in; PyTorch itself is not imported."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("real PyTorch is not installed: make oracle")
    return Path(spec.origin).parent.parent


def shipped(site: Path, path: str) -> Path | None:
    """A file of PyTorch's tree where the wheel has it."""
    headers = site / "torch" / "include"
    candidates = [site / path, headers / path, headers / path.removeprefix("aten/src/")]
    candidates.append(
        site / "torchgen" / "packaged" / path.removeprefix("aten/src/").removeprefix("tools/")
    )
    return next((file for file in candidates if file.is_file()), None)


def is_shipped(path: str) -> bool:
    """Whether the wheel should have a file: Python and headers, but not the scripts that build
    PyTorch.
    """
    return (
        path.endswith(SHIPPED)
        and not path.startswith("tools/setup_helpers/")
        and not path.startswith("tools/pyi/")
    )


def today() -> list[tuple[str, str, tuple[str, ...]]]:
    named = [(entry.topic, file.path, file.names) for entry in entries() for file in entry.today]
    for stop in guide("reading_order"):
        file = named_from(stop["today"])
        named.append((stop["title"], file.path, file.names))
    return named


def test_files_of_today_are_in_the_wheel(site: Path) -> None:
    looked_up = [(topic, path) for topic, path, _ in today() if is_shipped(path)]
    assert len(looked_up) > 200
    assert not [(topic, path) for topic, path in looked_up if shipped(site, path) is None]


def test_names_of_today_are_in_their_files(site: Path) -> None:
    absent = []
    for topic, path, names in today():
        file = shipped(site, path) if is_shipped(path) else None
        if file is not None:
            text = file.read_text(encoding="utf-8", errors="ignore")
            parts = [
                name if path.endswith(".yaml") else re.split(r"::|(?<!^)\.", name)[-1]
                for name in names
            ]
            absent += [
                (topic, path, part)
                for part in parts
                if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text)
            ]
    assert not absent


def test_folders_of_today_are_in_the_wheel(site: Path) -> None:
    for row in guide("tree"):
        for folder in row["today"]:
            places = (
                site / folder,
                site / "torch/include" / folder,
                site / "torch/include" / folder.removeprefix("aten/src/"),
            )
            packaged = (
                site
                / "torchgen"
                / "packaged"
                / folder.removeprefix("aten/src/").removeprefix("tools/")
            )
            assert any(place.is_dir() for place in (*places, packaged)), folder


def test_files_that_our_descriptions_name_are_in_the_wheel(site: Path) -> None:
    """The first paragraph of a module names the file it mirrors: of those that a wheel holds, each
    is there.
    """
    absent, named = [], 0
    for path in OUR_FILES:
        module = (
            str(path.relative_to(ROOT).with_suffix("")).replace("/", ".").removesuffix(".__init__")
        )
        looked_up = [file for file in mirrors(module) if is_shipped(file)]
        named += len(looked_up)
        absent += [(module, file) for file in looked_up if shipped(site, file) is None]
    assert named > 150 and not absent


def test_the_lookup_sees_a_wrong_file(site: Path) -> None:
    assert (
        shipped(site, "torch/csrc/jit/runtime/operator_set.h") is None
        and shipped(site, "c10/core/TensorImpl.h") is not None
    )
