"""A JupyterLab for tests: of a copy of the notebooks, on a free port of this machine, with a token,
and gone afterwards.

It is started as `make lab` starts it: the notebooks are signed, so that Lab trusts them, and
kernels get the same variables. Lab saves what it shows, so it is given a copy; the user's own
settings and layouts are neither read nor written.

How the real one differs: `make lab` takes Lab's own port, the notebooks themselves and the user's
settings.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apparatus.preflight import free_port
from tools.lab import SETTINGS, is_root
from tools.notebook_files import FOLDER, ROOT, kernel_environment

BESIDE = ("build", "runtimes", "tests")  # what cells read as ../NAME
UP = 90  # seconds for the server to answer


@dataclass
class Lab:
    """A server that runs. `folder` is what it shows; notebooks are in `notebooks` there."""

    url: str
    token: str
    folder: Path

    def address(self, notebook: str) -> str:
        """The page of one notebook, alone, in its default layout."""
        return f"{self.url}/doc/tree/{FOLDER.name}/{notebook}?reset&token={self.token}"


@contextmanager
def lab(
    paths: list[Path] | None = None, trusted: bool = True, theme: str = "light"
) -> Iterator[Lab]:
    """A running JupyterLab of copies of these notebooks (all of them, if None are given), which
    ends with the block.

    `theme` is "light" or "dark". Raises RuntimeError with the server's log when it does not come
    up.
    """
    with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / "files"
        copies = copy_of_notebooks(folder, paths)
        environment = environment_in(Path(temporary))
        settings(Path(environment["JUPYTERLAB_SETTINGS_DIR"]), theme)
        if trusted:
            names = [str(path) for path in copies]
            subprocess.run(
                [sys.executable, "-m", "jupyter", "trust", *names],
                env=environment,
                check=True,
                capture_output=True,
            )
        port, token = free_port(), secrets.token_hex(16)
        command = [
            *(
                sys.executable,
                "-m",
                "jupyterlab",
                "--no-browser",
                "--log-level=WARN",
                "--expose-app-in-browser",
            ),
            *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
            *(f"--ServerApp.root_dir={folder}", f"--LabApp.app_settings_dir={SETTINGS}"),
            "--LabApp.extension_manager=readonly",
            *(["--allow-root"] if is_root() else []),
        ]
        log_path = Path(temporary) / "log"
        with log_path.open("w") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, "JUPYTER_TOKEN": token},
                stdout=log,
                stderr=log,
            )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_up(url, process, log_path)
            yield Lab(url, token, folder)
        finally:
            stop(process)


def copy_of_notebooks(folder: Path, paths: list[Path] | None) -> list[Path]:
    """The notebooks as a fresh clone has them, and what they read beside them."""
    shutil.copytree(FOLDER, folder / FOLDER.name, ignore=shutil.ignore_patterns(".*"))
    copies = sorted((folder / FOLDER.name).rglob("*.ipynb"))
    if paths is not None:
        wanted = {path.name for path in paths}
        for copy in copies:
            if copy.name not in wanted:
                copy.unlink()
        for path in paths:
            shutil.copyfile(path, folder / FOLDER.name / path.name)
        copies = [folder / FOLDER.name / path.name for path in paths]
    shutil.copytree(ROOT / "docs", folder / "docs")  # a server shows nothing through a link
    for name in BESIDE:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name, target_is_directory=True)
    return copies


def environment_in(folder: Path) -> dict[str, str]:
    """Variables for the server and its kernels; everything that Jupyter writes goes into
    `folder`.
    """
    own = {
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
    }
    where = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {
        **os.environ,
        **kernel_environment(),
        "PYTHONPATH": where,
        **{k: str(v) for k, v in own.items()},
    }


def settings(folder: Path, theme: str) -> None:
    """What a reader chose in the menu Settings > Theme."""
    name = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}[theme]
    path = folder / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"theme": "{name}"}}', encoding="utf-8")


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the server answers. Raises RuntimeError with its log when it ends, or takes too
    long.
    """
    until = time.monotonic() + UP
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/api", timeout=5):
                return
        except urllib.error.HTTPError:
            return  # it answers
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(
        f"JupyterLab did not come up within {UP} s:\n{log.read_text(errors='replace')[-4000:]}"
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the server; as it ends it ends its kernels."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
