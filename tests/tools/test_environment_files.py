"""environment.yml, pyproject.toml, requirements.lock and docs/dependencies.md say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
# where conda calls a package otherwise
CONDA_NAMES = {"graphviz": "python-graphviz", "prometheus-client": "prometheus_client"}
NOT_IN_CONDA = {"graphviz-pure", "tritonclient"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
WANTED = PROJECT["dependencies"] + EXTRAS["serving"] + EXTRAS["test"]
CUDA = EXTRAS["cuda"]
WORKSHOP = EXTRAS["workshop"]


def conda_lists() -> tuple[list[str], list[str]]:
    """What environment.yml takes from conda, and what it takes from pip."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = [line for entry in entries if isinstance(entry, dict) for line in entry["pip"]]
    return [entry for entry in entries if isinstance(entry, str)], pip


def name_of(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert match, requirement
    return match.group().lower()


def locked(file: str = "requirements.lock") -> dict[str, str]:
    lines = (ROOT / file).read_text().splitlines()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", "\n".join(lines), re.M))


def test_environment_yml_agrees_with_pyproject() -> None:
    conda, pip = conda_lists()
    expected_conda = {
        r.replace(name_of(r), CONDA_NAMES.get(name_of(r), name_of(r)), 1)
        for r in WANTED
        if name_of(r) not in NOT_IN_CONDA
    }
    assert set(conda) - {"pip"} == expected_conda | {"python" + PROJECT["requires-python"]}
    assert set(pip) == {r for r in WANTED if name_of(r) in NOT_IN_CONDA}


def test_lock_pins_every_dependency_and_what_builds_the_project() -> None:
    pins = locked()
    assert {name_of(r) for r in WANTED} | {"setuptools"} <= pins.keys()
    assert not {"torch", "micrograd", "wheel"} & pins.keys()


def test_lock_pins_versions_that_pyproject_allows() -> None:
    packaging = pytest.importorskip("packaging.requirements")
    pins = locked()
    for requirement in map(packaging.Requirement, WANTED):
        assert requirement.specifier.contains(pins[requirement.name.lower()]), requirement


def test_what_make_cuda_adds_fits_to_what_is_there() -> None:
    packaging = pytest.importorskip("packaging.requirements")
    base, added = locked(), locked("requirements-cuda.lock")
    for requirement in map(packaging.Requirement, CUDA):
        assert (
            requirement.specifier.contains(added[requirement.name]) and requirement.name not in base
        )
    both = base.keys() & added.keys()
    assert {"numba", "numpy"} <= both and all(base[name] == added[name] for name in both)


def test_what_make_workshop_adds_fits_to_what_is_there() -> None:
    packaging = pytest.importorskip("packaging.requirements")
    base, added = locked(), locked("requirements-workshop.lock")
    for requirement in map(packaging.Requirement, WORKSHOP):
        assert (
            requirement.specifier.contains(added[requirement.name]) and requirement.name not in base
        )
    both = base.keys() & added.keys()
    assert {"jupyterlab", "nbconvert"} <= both and all(base[name] == added[name] for name in both)


def test_only_systems_that_have_cuda_get_it() -> None:
    lines = (ROOT / "requirements-cuda.lock").read_text().splitlines()
    packages = [line for line in lines if "==" in line]
    assert len(packages) > 5 and all("sys_platform" in line for line in packages)
    assert all("--hash=sha256:" in line for line in lines if line.startswith("    "))


def test_what_make_bench_adds_fits_to_what_is_there() -> None:
    packaging = pytest.importorskip("packaging.requirements")
    base, added = locked(), locked("requirements-bench.lock")
    for requirement in map(packaging.Requirement, PROJECT["optional-dependencies"]["bench"]):
        assert requirement.specifier.contains(added[requirement.name])
    both = base.keys() & added.keys()
    assert {"pyperf", "setuptools"} <= both and all(base[name] == added[name] for name in both)
    assert added["torch"] == locked("requirements-oracle.lock")["torch"]


def test_pypis_minitorch_which_overwrites_torch_is_nowhere() -> None:
    for file in LOCKS:
        assert "minitorch" not in locked(file)


LOCKS = [f"requirements{added}.lock" for added in ("", "-oracle", "-cuda", "-workshop", "-bench")]


@pytest.mark.parametrize("file", [*LOCKS, "environment.yml", "pyproject.toml"])
def test_no_registry_address(file: str) -> None:
    text = (ROOT / file).read_text()
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|--trusted-host", text)


def test_oracle_is_the_version_that_the_bench_extra_names() -> None:
    bench = PROJECT["optional-dependencies"]["bench"]
    pinned = re.search(
        r"^torch==(\d+\.\d+)\.", (ROOT / "requirements-oracle.lock").read_text(), re.M
    )
    assert pinned and f"torch=={pinned.group(1)}.*" in bench


def test_every_dependency_is_explained() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text().lower()
    explained = set(re.findall(r"^\| `([^`]+)`", text, re.M))
    compared_with = {name_of(r) for r in PROJECT["optional-dependencies"]["bench"]}
    assert explained == {name_of(r) for r in WANTED + CUDA + WORKSHOP} | compared_with | {
        "setuptools"
    }
