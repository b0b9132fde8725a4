"""Makes and keeps up the project's environments, `.venv` and `.venv-bench`, from nothing but a
plain Python.

    python3 tools/setup_env.py             what `make setup` does
    python3 tools/setup_env.py --oracle    also real PyTorch, to compare with: `make oracle`
    python3 tools/setup_env.py --cuda      also numba's CUDA compiler: `make cuda`
    python3 tools/setup_env.py --workshop  also a hub, grading, a browser's driver, Sphinx:
                                           `make workshop`
    python3 tools/setup_env.py --bench     instead `.venv-bench`, with the libraries that the
                                           benchmarks compare with: `make bench`

When nothing changed this returns at once: the stamp `.venv/ready.json` says for which lock files,
pyproject.toml, Python and folder the environment was made. It is removed before any work and
written last, by renaming, so an interrupted installation leaves no stamp, and the next run starts
from an empty folder.

Only the standard library is used here, because nothing else is there yet.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Environment:
    """A folder, the lock files that say what is in it, and how long filling it takes."""

    name: str
    locks: tuple[str, ...]
    patience: str

    @property
    def folder(self) -> Path:
        return ROOT / self.name

    @property
    def stamp(self) -> Path:
        return self.folder / "ready.json"

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


MAIN = Environment(".venv", ("requirements.lock",), "a minute or two")
# The peers have one of their own: whatever they install, the project's environment stays what its
# lock file says.
BENCH = Environment(
    ".venv-bench",
    ("requirements.lock", "requirements-bench.lock"),
    "several minutes, PyTorch is large",
)
ORACLE_LOCK = "requirements-oracle.lock"
CUDA_LOCK = "requirements-cuda.lock"
WORKSHOP_LOCK = "requirements-workshop.lock"


def main() -> int:
    parser = argparse.ArgumentParser(description="make or update the project's environments")
    parser.add_argument(
        "--oracle", action="store_true", help="also install real PyTorch, for side-by-side tests"
    )
    parser.add_argument(
        "--cuda", action="store_true", help="also what compiles for a GPU (450 MB; not on macOS)"
    )
    parser.add_argument(
        "--workshop",
        action="store_true",
        help="also what a classroom, its tests and the pages need",
    )
    parser.add_argument(
        "--bench", action="store_true", help="the benchmarks' .venv-bench instead, with PyTorch too"
    )
    parser.add_argument(
        "--pip-args",
        default="",
        help="more arguments for the pip that fetches PyTorch: an index, say",
    )
    options = parser.parse_args()
    try:
        with only_one_at_a_time():
            ensure_environment(BENCH if options.bench else MAIN, options.pip_args.split())
            if options.oracle:
                ensure_oracle(options.pip_args.split())
            if options.cuda:
                ensure_cuda()
            if options.workshop:
                ensure_workshop()
    except subprocess.CalledProcessError as error:
        print(
            f"setup failed: {' '.join(map(str, error.cmd))} ended with status {error.returncode}",
            file=sys.stderr,
        )
        return 1
    return 0


def ensure_environment(environment: Environment = MAIN, pip_args: list[str] | None = None) -> None:
    wanted = fingerprint(environment)
    found = read_stamp(environment)
    if found is not None and not os.environ.get("PYTHON"):
        # whoever names no Python is content with the one that is there
        wanted["python"] = found.get("python", "")
    if found == wanted and environment.python.exists():
        return
    # A changed lock file is installed over what is there (which keeps the oracle); anything else
    # starts afresh.
    same_python = found is not None and all(found.get(k) == wanted[k] for k in ("python", "folder"))
    environment.stamp.unlink(missing_ok=True)
    if not (same_python and environment.python.exists()):
        say(f"making {environment.name} with Python {sys.version.split()[0]}")
        if environment.folder.exists():
            shutil.rmtree(environment.folder)
        venv.create(environment.folder, with_pip=True)
    say(f"installing what {' and '.join(environment.locks)} say ({environment.patience}, once)")
    pip(environment, "install", "--require-hashes", "-r", environment.locks[0])
    for lock in environment.locks[1:]:
        pip(environment, "install", *(pip_args or []), "-r", lock)
    say("installing this project into it, editable")
    # "compat" puts this folder itself on the path, so that a package added later is found without a
    # new installation.
    editable = (
        "--no-deps",
        "--no-build-isolation",
        "--config-settings",
        "editable_mode=compat",
        "--editable",
        ".",
    )
    pip(environment, "install", *editable)
    write_stamp(environment, wanted)
    say(f"{environment.name} is ready")


def ensure_oracle(pip_args: list[str]) -> None:
    version = pinned_torch()
    # a patch release or a local build such as 2.13.0+cpu serves as well
    wanted = version.rpartition(".")[0]
    found = installed_torch()
    if found is not None and (found + ".").startswith(wanted + "."):
        return
    say(f"installing PyTorch {version}, to compare with (large)")
    pip(MAIN, "install", *pip_args, "-r", ORACLE_LOCK)
    found = installed_torch()
    if found is None or not (found + ".").startswith(wanted + "."):
        raise SystemExit(
            f"setup failed: the oracle has to be PyTorch {wanted}, pip installed {found}"
        )
    say(f"PyTorch {found} is there")


def ensure_cuda() -> None:
    if sys.platform == "darwin":
        raise SystemExit(
            "setup failed: there is no CUDA on macOS; the simulated device needs nothing to be "
            "installed"
        )
    wanted = pinned(CUDA_LOCK, "numba-cuda")
    if installed("numba-cuda") == wanted:
        return
    say(f"installing numba-cuda {wanted} and NVIDIA's compiler (large)")
    pip(MAIN, "install", "--require-hashes", "-r", CUDA_LOCK)
    say(f"numba-cuda {wanted} is there")


def ensure_workshop() -> None:
    """What is there is told by a copy of the lock file beside the stamp: several packages may have
    changed.
    """
    wanted = (ROOT / WORKSHOP_LOCK).read_text()
    have = MAIN.folder / WORKSHOP_LOCK
    if have.exists() and have.read_text() == wanted:
        return
    say("installing a hub, nbgrader, a browser's driver and Sphinx (a minute)")
    pip(MAIN, "install", "--require-hashes", "-r", WORKSHOP_LOCK)
    temporary = have.with_suffix(".new")
    temporary.write_text(wanted)
    temporary.replace(have)
    say("what a workshop needs is there")


def fingerprint(environment: Environment) -> dict[str, str]:
    """What the environment depends on. The folder counts, because a venv cannot be moved."""
    names = (*environment.locks, "pyproject.toml")
    files = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in names}
    return {**files, "python": ".".join(map(str, sys.version_info[:2])), "folder": str(ROOT)}


def read_stamp(environment: Environment) -> dict[str, str] | None:
    try:
        stamp = json.loads(environment.stamp.read_text())
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) else None


def write_stamp(environment: Environment, content: dict[str, str]) -> None:
    temporary = environment.stamp.with_suffix(".new")
    temporary.write_text(json.dumps(content, indent=1))
    temporary.replace(environment.stamp)


def pinned_torch() -> str:
    return pinned(ORACLE_LOCK, "torch")


def pinned(lock: str, package: str) -> str:
    for line in (ROOT / lock).read_text().splitlines():
        name, _, version = line.partition("==")
        if name == package:
            return version.split()[0]
    raise SystemExit(f"setup failed: {lock} pins no {package}")


def installed_torch() -> str | None:
    return installed("torch")


def installed(package: str) -> str | None:
    ask = (
        f"import importlib.metadata as m\ntry: print(m.version('{package}'))\nexcept "
        "m.PackageNotFoundError: pass"
    )
    answer = subprocess.run([MAIN.python, "-c", ask], capture_output=True, text=True, check=True)
    return answer.stdout.strip() or None


def pip(environment: Environment, *arguments: str) -> None:
    command = [
        str(environment.python),
        "-m",
        "pip",
        "--disable-pip-version-check",
        arguments[0],
        "--quiet",
        *arguments[1:],
    ]
    subprocess.run(command, cwd=ROOT, check=True)


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Two `make`s at once take turns (where the system has flock; elsewhere nothing is done)."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    with open(folder / "setup.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
