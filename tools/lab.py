"""`make lab`: opens JupyterLab at the first notebook.

JupyterLab shows pictures that are HTML only in notebooks that it trusts: those which ran here, or
were signed here. So the project's notebooks are signed first; their pictures then show before
anything has run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import nbformat
from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir
from nbformat.sign import NotebookNotary

from tools.notebook_files import BUILD, FOLDER, ROOT, kernel_environment, notebook_paths

FIRST = FOLDER / "spine.ipynb"
SETTINGS = Path(__file__).parent / "lab_settings"


def main() -> int:
    if not (writable(Path(jupyter_data_dir())) and writable(Path(jupyter_config_dir()))):
        os.environ["JUPYTER_DATA_DIR"] = str(BUILD / "jupyter")
        os.environ["JUPYTER_CONFIG_DIR"] = str(BUILD / "jupyter" / "config")
    trust(notebook_paths())
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.app_settings_dir={SETTINGS}",
        "--LabApp.extension_manager=readonly",
        "--log-level=WARN",  # the address, which is what one looks for, is printed at any level
        *(["--allow-root"] if is_root() else []),
        *(["--no-browser"] if not has_browser() else []),
        *sys.argv[1:],
    ]
    if FIRST.exists():
        # The server prints this as the address to open, and opens it itself where there is a
        # browser.
        command.append(f"--LabApp.default_url=/lab/tree/{FIRST.relative_to(ROOT).as_posix()}")
    print(
        f"lab: starting JupyterLab at {FIRST.name}; its address follows; stop it with Ctrl-C",
        flush=True,
    )
    try:
        return subprocess.run(
            command, cwd=ROOT, env={**os.environ, **kernel_environment()}
        ).returncode
    except KeyboardInterrupt:
        return 0


def trust(paths: list[Path]) -> None:
    """Signs the notebooks as `jupyter trust` does, in the store of this user; signed ones are left
    alone.
    """
    notary = NotebookNotary()
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        if not notary.check_signature(notebook):
            notary.sign(notebook)
    print(f"lab: {len(paths)} notebooks are trusted", flush=True)


def has_browser() -> bool:
    """Whether opening a page would show a window (on Linux a text browser would take over the
    terminal instead).
    """
    if sys.platform.startswith("linux") and not any(
        map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    ):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def writable(folder: Path) -> bool:
    """Whether the folder, or the nearest one above it that exists, can be written."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


if __name__ == "__main__":
    sys.exit(main())
