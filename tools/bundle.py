"""`make bundle`: everything a classroom needs, in one file for a USB stick: no network on Monday.

The file holds the project as committed, the wheels of its lock file, and `install.py`. That calls
the project's own set-up, with pip told to look at the wheels only (`PIP_NO_INDEX`,
`PIP_FIND_LINKS`), so offline and online installations are the same.

    make bundle                                            for this system and Python
    make bundle ARGS="--for win_amd64 --python 3.13"       for others, by pip's platform names; may
                                                           be repeated
    make bundle ARGS=--workshop                            with the hub and grading
    make bundle ARGS=--check                               and then install it in a temporary
                                                           folder, without network
"""

from __future__ import annotations

import argparse
import hashlib
import io
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import packaging.markers

from tools.notebook_files import BUILD, ROOT

NAME = "under-the-hood"
LOCK, WORKSHOP_LOCK = "requirements.lock", "requirements-workshop.lock"
# On Linux a wheel may be built for any of these; pip takes those that are named.
LINUX = (
    "manylinux_2_28",
    "manylinux_2_27",
    "manylinux_2_26",
    "manylinux_2_24",
    "manylinux_2_17",
    "manylinux2014",
)
SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macosx": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "win": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}
MACHINES = {"win_amd64": "AMD64", "win_arm64": "ARM64"}

INSTALL = '''\
"""Installs the workshop from this folder; nothing is fetched. With Python 3.11 or newer:

    python install.py
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if sys.version_info < (3, 11):
    sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
wheels = (HERE / "wheels").as_uri()
offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels, "PYTHON": sys.executable}
project = HERE / "project"
install = [sys.executable, "tools/setup_env.py", *sys.argv[1:]]
if subprocess.run(install, cwd=project, env={**os.environ, **offline}).returncode:
    sys.exit("The installation failed. Is there a wheel for this Python in wheels/? "
             "Start here says which this bundle has.")
python = project / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
status = subprocess.run([python, "-m", "internals", "doctor", "--workshop"], cwd=project).returncode
print()
print("Open the notebooks, in the folder `project`, with:")
print(f"    {python} -m tools.lab")
sys.exit(status)
'''

START = """# Start here

1. Unpack this file anywhere. Nothing is fetched from a network.
2. `python install.py` (Python 3.11 or newer). It ends with READY, or with what to do.
3. In the folder `project`: `make lab`, or the command that install.py printed.

Wheels in here: {wheels}
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make bundle", description="the project and its wheels in one file"
    )
    parser.add_argument(
        "--for", dest="platforms", metavar="SYSTEM", action="append", default=[], type=system_name,
        help="another system, such as win_amd64, linux_x86_64 or macosx_11_0_arm64",
    )  # fmt: skip
    parser.add_argument(
        "--python", dest="pythons", metavar="VERSION", action="append", default=[],
        type=python_version, help="another Python, such as 3.13",
    )  # fmt: skip
    parser.add_argument(
        "--workshop",
        action="store_true",
        help="also the hub, nbgrader and the rest of make workshop",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="then install it in a temporary folder, without network",
    )
    parser.add_argument(
        "--output", type=Path, help="the file to write; default: build/NAME-SYSTEM.zip"
    )
    options = parser.parse_args()
    if not (ROOT / ".git").exists():
        raise SystemExit(
            "bundle: this is no git checkout; what is bundled is a commit: clone the project"
        )
    if changed := git("status", "--porcelain"):
        print(
            f"bundle: note: {len(changed)} files differ from the last commit; the bundle holds "
            "what is committed"
        )
    output = options.output or BUILD / f"{NAME}-{label(options)}.zip"
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"bundle: cannot write into {output.parent}: {error.strerror}") from None
    with tempfile.TemporaryDirectory(prefix="bundle") as folder:
        wheels = Path(folder) / "wheels"
        for lock in (LOCK, WORKSHOP_LOCK) if options.workshop else (LOCK,):
            for target in [
                Target(s, p) for s in options.platforms or [""] for p in options.pythons or [""]
            ]:
                print(f"bundle: fetching what {lock} pins, for {target}", flush=True)
                fetch(lock, wheels, target)
        write(output, sorted(wheels.iterdir()))
    size, digest = output.stat().st_size, hashlib.sha256(output.read_bytes()).hexdigest()
    print(
        f"bundle: {output.relative_to(ROOT) if output.is_relative_to(ROOT) else output}: "
        f"{size / 2**20:.0f} MiB"
    )
    print(f"bundle: sha256 {digest}", flush=True)
    return check(output, ["--workshop"] if options.workshop else []) if options.check else 0


def system_name(text: str) -> str:
    if not re.fullmatch(rf"({'|'.join(SYSTEMS)})_\w+", text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: give pip's name of it: linux_MACHINE, macosx_VERSION_MACHINE or win_MACHINE"
        )
    return text


def python_version(text: str) -> str:
    if not re.fullmatch(r"3\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r}: give it as 3.13")
    return text


def label(options: argparse.Namespace) -> str:
    """What a file for these systems is called."""
    if not options.platforms and not options.pythons:
        here = f"{platform.system().lower()}-{platform.machine().lower()}"
        return f"{here}-py{sys.version_info[0]}{sys.version_info[1]}"
    pythons = "".join(f"-py{version.replace('.', '')}" for version in options.pythons)
    return "-".join(options.platforms or [platform.system().lower()]) + pythons


@dataclass(frozen=True)
class Target:
    """A system, by pip's name, and a Python; empty for those that this runs on."""

    system: str = ""
    python: str = ""

    def __str__(self) -> str:
        return (
            " ".join(filter(None, (self.system, self.python and f"Python {self.python}")))
            or "this system"
        )

    @property
    def arguments(self) -> list[str]:
        """For pip. `linux_x86_64` stands for all the names under which its wheels go; other systems
        have one.
        """
        kind, _, machine = self.system.partition("_")
        names = (
            [f"{name}_{machine}" for name in LINUX]
            if kind == "linux"
            else [self.system]
            if self.system
            else []
        )
        chosen = [part for name in names for part in ("--platform", name)]
        chosen += ["--python-version", self.python] if self.python else []
        return [*chosen, "--only-binary=:all:"] if chosen else []

    @property
    def markers(self) -> dict[str, str]:
        """What the lock file's conditions ask about. pip itself judges them for the system that it
        runs on.
        """
        told = dict(packaging.markers.default_environment())
        if self.python:
            told |= {"python_version": self.python, "python_full_version": f"{self.python}.0"}
        kind = next((kind for kind in SYSTEMS if self.system.startswith(kind)), None)
        if kind:
            told |= SYSTEMS[kind] | {
                "platform_machine": MACHINES.get(
                    self.system, re.sub(r"^[a-z]+_(\d+_\d+_)?", "", self.system)
                )
            }
        return {key: str(value) for key, value in told.items()}


def fetch(lock: str, wheels: Path, target: Target) -> None:
    """Has pip put what a lock file pins into the folder `wheels`. Raises SystemExit when it
    cannot.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "download",
        "--quiet",
        "--require-hashes",
    ]
    with tempfile.TemporaryDirectory(prefix="bundle") as folder:
        wanted = Path(folder) / lock
        wanted.write_text(without_markers((ROOT / lock).read_text(), target.markers))
        try:
            subprocess.run(
                [*command, "--no-deps", "-r", wanted, "--dest", wheels, *target.arguments],
                cwd=ROOT,
                check=True,
            )
        except subprocess.CalledProcessError:
            raise SystemExit(
                f"bundle: pip could not fetch what {lock} pins for {target}; see above"
            ) from None


def without_markers(lock: str, environment: dict[str, str]) -> str:
    """The entries of a lock file whose conditions hold in an environment, and without the
    conditions.
    """
    kept = []
    for entry in re.split(r"\n(?=[a-z0-9])", re.sub(r"(?m)^#.*\n", "", lock)):
        requirement, _, rest = entry.partition(" \\\n")
        pinned, _, marker = requirement.partition(" ; ")
        if not marker or packaging.markers.Marker(marker).evaluate(environment):
            kept.append(f"{pinned} \\\n{rest}" if rest else pinned)
    return "\n".join(kept)


def write(output: Path, wheels: list[Path]) -> None:
    """The bundle, written beside its place first."""
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{output.name}.new")
    try:
        write_zip(temporary, wheels)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def write_zip(output: Path, wheels: list[Path]) -> None:
    """Wheels are zip files already, so they are only stored."""
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(f"{NAME}/START_HERE.md", START.format(wheels=", ".join(kinds(wheels))))
        bundle.writestr(f"{NAME}/install.py", INSTALL)
        committed = subprocess.run(
            ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(committed)) as project:
            for file in filter(tarfile.TarInfo.isfile, project):
                entry = zipfile.ZipInfo(f"{NAME}/project/{file.name}", time.gmtime(file.mtime)[:6])
                entry.external_attr, entry.compress_type = file.mode << 16, zipfile.ZIP_DEFLATED
                bundle.writestr(entry, project.extractfile(file).read())  # type: ignore[union-attr]
        for wheel in wheels:
            bundle.write(wheel, f"{NAME}/wheels/{wheel.name}", zipfile.ZIP_STORED)


def kinds(wheels: list[Path]) -> list[str]:
    """The systems and Pythons that numpy's wheels are for: it has one for each."""
    return [wheel.stem.partition("-")[2] for wheel in wheels if wheel.name.startswith("numpy-")]


def check(bundle: Path, arguments: list[str]) -> int:
    """Unpacks and installs the bundle as a participant would; pip has no index to ask."""
    with tempfile.TemporaryDirectory(prefix="participant") as folder:
        print("bundle: installing it in a temporary folder, without an index", flush=True)
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(folder)
        return subprocess.run(
            [sys.executable, "install.py", *arguments], cwd=Path(folder) / NAME
        ).returncode


def git(*arguments: str) -> list[str]:
    """The lines that git answers."""
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
