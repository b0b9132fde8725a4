"""Makes and keeps up the project's environment, `.venv`, from nothing but a plain Python.

    python3 tools/setup_env.py            what `make setup` does
    python3 tools/setup_env.py --oracle   also real PyTorch, to compare with: `make oracle`
    python3 tools/setup_env.py --cuda     also numba's CUDA compiler: `make cuda`

When nothing changed this returns at once: the stamp `.venv/ready.json` says for which lock file, pyproject.toml,
Python and folder the environment was made. It is removed before any work and written last, by renaming, so an
interrupted installation leaves no stamp, and the next run starts from an empty folder.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENV = ROOT / ".venv"
STAMP = ENV / "ready.json"
PYTHON = ENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
ORACLE_LOCK = ROOT / "requirements-oracle.lock"
CUDA_LOCK = ROOT / "requirements-cuda.lock"


def main() -> int:
    parser = argparse.ArgumentParser(description="make or update the project's .venv")
    parser.add_argument("--oracle", action="store_true", help="also install real PyTorch, for side-by-side tests")
    parser.add_argument("--cuda", action="store_true", help="also what compiles for a GPU (450 MB; not on macOS)")
    parser.add_argument("--pip-args", default="", help="more arguments for that pip, such as another index")
    options = parser.parse_args()
    try:
        with only_one_at_a_time():
            ensure_environment()
            if options.oracle:
                ensure_oracle(options.pip_args.split())
            if options.cuda:
                ensure_cuda()
    except subprocess.CalledProcessError as error:
        print(f"setup failed: {' '.join(map(str, error.cmd))} ended with status {error.returncode}", file=sys.stderr)
        return 1
    return 0


def ensure_environment() -> None:
    wanted = fingerprint()
    found = read_stamp()
    if found is not None and not os.environ.get("PYTHON"):
        wanted["python"] = found.get("python", "")  # whoever names no Python is content with the one that is there
    if found == wanted and PYTHON.exists():
        return
    # A changed lock file is installed over what is there (which keeps the oracle); anything else starts afresh.
    same_python = found is not None and all(found.get(k) == wanted[k] for k in ("python", "folder"))
    STAMP.unlink(missing_ok=True)
    if not (same_python and PYTHON.exists()):
        say(f"making {ENV.name} with Python {sys.version.split()[0]}")
        if ENV.exists():
            shutil.rmtree(ENV)
        venv.create(ENV, with_pip=True)
    say("installing what requirements.lock names (a minute or two, once)")
    pip("install", "--require-hashes", "-r", "requirements.lock")
    say("installing this project into it, editable")
    # "compat" puts this folder itself on the path, so that a package added later is found without a new installation.
    pip("install", "--no-deps", "--no-build-isolation", "--config-settings", "editable_mode=compat", "--editable", ".")
    write_stamp(wanted)
    say(f"{ENV.name} is ready")


def ensure_oracle(pip_args: list[str]) -> None:
    version = pinned_torch()
    wanted = version.rpartition(".")[0]  # a patch release or a local build such as 2.13.0+cpu serves as well
    found = installed_torch()
    if found is not None and (found + ".").startswith(wanted + "."):
        return
    say(f"installing PyTorch {version}, to compare with (large)")
    pip("install", *pip_args, "-r", ORACLE_LOCK.name)
    found = installed_torch()
    if found is None or not (found + ".").startswith(wanted + "."):
        raise SystemExit(f"setup failed: the oracle has to be PyTorch {wanted}, pip installed {found}")
    say(f"PyTorch {found} is there")


def ensure_cuda() -> None:
    if sys.platform == "darwin":
        raise SystemExit("setup failed: there is no CUDA on macOS; the simulated device needs nothing to be installed")
    wanted = pinned(CUDA_LOCK, "numba-cuda")
    if installed("numba-cuda") == wanted:
        return
    say(f"installing numba-cuda {wanted} and NVIDIA's compiler (large)")
    pip("install", "--require-hashes", "-r", CUDA_LOCK.name)
    say(f"numba-cuda {wanted} is there")


def fingerprint() -> dict[str, str]:
    """What the environment depends on. The folder counts, because a venv cannot be moved."""
    names = ("requirements.lock", "pyproject.toml")
    files = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in names}
    return {**files, "python": ".".join(map(str, sys.version_info[:2])), "folder": str(ROOT)}


def read_stamp() -> dict[str, str] | None:
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) else None


def write_stamp(content: dict[str, str]) -> None:
    temporary = STAMP.with_suffix(".new")
    temporary.write_text(json.dumps(content, indent=1))
    temporary.replace(STAMP)


def pinned_torch() -> str:
    return pinned(ORACLE_LOCK, "torch")


def pinned(lock: Path, package: str) -> str:
    for line in lock.read_text().splitlines():
        name, _, version = line.partition("==")
        if name == package:
            return version.split()[0]
    raise SystemExit(f"setup failed: {lock.name} pins no {package}")


def installed_torch() -> str | None:
    return installed("torch")


def installed(package: str) -> str | None:
    ask = f"import importlib.metadata as m\ntry: print(m.version('{package}'))\nexcept m.PackageNotFoundError: pass"
    answer = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True, check=True)
    return answer.stdout.strip() or None


def pip(*arguments: str) -> None:
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", arguments[0], "--quiet", *arguments[1:]]
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
