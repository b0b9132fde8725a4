"""What others run agrees with the project: repo2docker's files, and the values for Zero to
JupyterHub on Kubernetes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from nbformat.sign import NotebookNotary

from tools.notebook_files import ROOT, kernel_environment, notebook_paths
from workshop.hub import preparing
from workshop.hub.handout import SIGNATURES

BINDER = ROOT / "binder"
VALUES = ROOT / "workshop" / "hub" / "values.yaml"
# Of the chart's values.schema.yaml (4.x), what is used here: the chart refuses any key that it does
# not know.
CHART: dict[str, Any] = {
    "hub": {"config": dict, "concurrentSpawnLimit": int},
    "proxy": {"service": {"type": str}, "https": {"enabled": bool, "type": str, "hosts": list}},
    "singleuser": {
        "image": {"name": str, "tag": str},
        "memory": {"guarantee": str, "limit": str},
        "cpu": {"guarantee": float, "limit": (int, float)},
        "defaultUrl": str,
        "extraEnv": dict,
        "lifecycleHooks": {"postStart": dict, "preStop": dict},
        "storage": {"type": str, "homeMountPath": str, "capacity": str},
        "startTimeout": int,
        "cloudMetadata": {"blockWithIptables": bool, "ip": str},
        "profileList": list,
    },
    "cull": {"enabled": bool, "timeout": int, "every": int},
    "prePuller": {"hook": {"enabled": bool}, "continuous": {"enabled": bool}},
    "scheduling": {
        "userScheduler": {"enabled": bool},
        "podPriority": {"enabled": bool},
        "userPlaceholder": {"enabled": bool, "replicas": int},
    },
}


def values() -> dict[str, Any]:
    return yaml.safe_load(VALUES.read_text())


def unknown(given: Any, known: Any, where: str = "") -> list[str]:
    """What the chart would refuse: keys that it does not have, and values of another type."""
    if not isinstance(known, dict):
        return [] if isinstance(given, known) else [f"{where} is {given!r}"]
    if not isinstance(given, dict):
        return [f"{where} is {given!r}"]
    return [
        problem
        for key, value in given.items()
        for problem in (
            unknown(value, known[key], f"{where}.{key}") if key in known else [f"{where}.{key}"]
        )
    ]


def test_the_chart_knows_every_key() -> None:
    assert unknown(values(), CHART) == []
    assert unknown({"singleuser": {"memroy": {}}, "cull": {"timeout": "1h"}}, CHART) == [
        ".singleuser.memroy",
        ".cull.timeout is '1h'",
    ]
    for profile in values()["singleuser"]["profileList"]:
        assert profile["display_name"] and set(profile) <= {
            "display_name",
            "description",
            "default",
            "kubespawner_override",
        }


def test_kernels_in_the_cloud_run_as_everywhere() -> None:
    variables = values()["singleuser"]["extraEnv"]
    assert all(isinstance(value, str) for value in variables.values()), (
        "Kubernetes takes strings only"
    )
    for name in ("PYTHONHASHSEED", "OMP_NUM_THREADS", "GRPC_VERBOSITY"):
        assert variables[name] == kernel_environment()[name]


def test_a_pod_is_promised_what_a_student_was_measured_to_need() -> None:
    promised = int(values()["singleuser"]["memory"]["guarantee"].removesuffix("M")) * 10**6 / 2**20
    needed = preparing.SERVER_MIB + preparing.NOTEBOOK_MIB
    assert needed <= promised < 1.5 * needed


def test_no_secret_is_stored() -> None:
    text = VALUES.read_text()
    settings = "\n".join(line.partition("#")[0] for line in text.splitlines())
    assert not re.search(
        r"password|secret|token|cookie|[0-9a-f]{32}", settings.replace("shared-password", ""), re.I
    )


def test_repo2docker_installs_what_make_setup_installs() -> None:
    """It looks in `binder/` for all files once that folder is there, and prefers environment.yml
    and a Dockerfile.
    """
    assert {path.name for path in BINDER.iterdir()} == {
        "requirements.txt",
        "runtime.txt",
        "postBuild",
        "start",
    }
    lines = [
        line
        for line in (BINDER / "requirements.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert lines == ["-r ../requirements.lock"] and (BINDER / "../requirements.lock").is_file()
    version = re.fullmatch(r"python-(\d+)\.(\d+)\n", (BINDER / "runtime.txt").read_text())
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert version and oldest == f">={version[1]}.{version[2]}"


@pytest.mark.skipif(os.name == "nt", reason="the scripts run in a Linux image")
def test_the_images_scripts_run() -> None:
    for script in ("postBuild", "start"):
        assert os.access(BINDER / script, os.X_OK)
        subprocess.run(["bash", "-n", str(BINDER / script)], check=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    plain = {
        name: value
        for name, value in os.environ.items()
        if name not in {*kernel_environment(), "INTERNALS_CACHE_DIR"}
    }
    run = subprocess.run(
        [str(BINDER / "start"), "env"], cwd=ROOT.parent,
        env={**plain, "PATH": path, "REPO_DIR": str(ROOT)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    said = set(run.stdout.splitlines())
    assert {
        f"{name}={value}"
        for name, value in kernel_environment().items()
        if name != "NUMBA_CACHE_DIR"
    } <= said
    assert f"INTERNALS_CACHE_DIR={ROOT / 'build' / 'machine_code'}" in said


@pytest.mark.sampled(1 / 8)
def test_what_a_pod_runs_when_it_starts(tmp_path: Path) -> None:
    command = values()["singleuser"]["lifecycleHooks"]["postStart"]["exec"]["command"][-1]
    match = re.fullmatch(r"cd /srv/internals && python -m (\S+) /home/jovyan", command)
    assert match

    def start() -> str:
        run = subprocess.run(
            [sys.executable, "-m", match[1], str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    paths = [path for path in (ROOT / "notebooks").iterdir() if path.suffix in (".ipynb", ".py")]
    assert start() == f"{tmp_path} was given {len(paths)} files\n"
    assert start() == f"{tmp_path} was given 0 files\n"
    first = tmp_path / "notebooks" / notebook_paths(["00"])[0].name
    first.unlink()
    assert start() == f"{tmp_path} was given 1 files\n"
    with NotebookNotary(data_dir=str(tmp_path / SIGNATURES)) as notary:
        assert notary.check_signature(nbformat.read(first, as_version=4))


def test_the_instructors_page_leads_somewhere_and_says_what_was_measured() -> None:
    folder = VALUES.parent
    page = (folder / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", page):
        assert (folder / target).exists(), f"README.md links to {target}, which is not there"
    assert f"Plan {preparing.SERVER_MIB + preparing.NOTEBOOK_MIB} MiB" in page
    assert f"with `--course`, {preparing.GRADING_MIB} more" in page
    overview = (folder / "__init__.py").read_text()
    for path in folder.iterdir():
        if path.suffix in (".py", ".yaml", ".md") and path.name != "__init__.py":
            assert f"`{path.name}`" in overview or path.name in overview, (
                f"{path.name} is not described"
            )


def test_tljhs_file_sets_what_every_run_of_the_notebooks_has() -> None:
    class Settings:
        def __getattr__(self, name: str) -> Settings:
            value = Settings()
            setattr(self, name, value)
            return value

    class Ada:
        user = type("User", (), {"name": "ada"})

    settings = Settings()
    exec(
        (VALUES.parent / "tljh.py").read_text(),
        {"get_config": lambda: settings, "__name__": "config"},
    )
    variables: Any = settings.Spawner.environment
    for name in ("PYTHONHASHSEED", "OMP_NUM_THREADS", "GRPC_VERBOSITY"):
        assert variables[name] == kernel_environment()[name]
    own, shared = variables["INTERNALS_CACHE_DIR"](Ada()).split(":")
    assert (
        own == "/home/jupyter-ada/.cache/internals"
        and shared == "/srv/internals/build/machine_code"
    )
