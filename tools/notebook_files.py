"""Where the notebooks are, and the environment in which their kernels run.

Stored outputs are compared with new ones, so every run (`make notebooks`, `make test`, `make tour`,
`make lab`) has to start its kernels alike.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
BUILD = ROOT / "build"
KERNEL = "python3"
CELL_TIMEOUT = 120  # seconds


def notebook_paths(names: list[str] | None = None) -> list[Path]:
    """All notebooks in order, then those of the folder `deeper`; or those whose file names start
    with one of `names` (as in `make notebooks ARGS=03`).
    """
    paths = sorted(FOLDER.glob("*.ipynb"), key=lambda path: (number(path.name), path.name))
    paths += sorted(FOLDER.glob("deeper/*.ipynb"))
    if names:
        wanted = tuple(Path(name).name for name in names)
        paths = [path for path in paths if path.name.startswith(wanted)]
        if not paths:
            raise SystemExit(f"no notebook in {FOLDER.name}/ starts with {' or '.join(wanted)}")
    return paths


def number(name: str) -> int:
    """A notebook's place in the order: 14 for `14b_…`, -1 for the spine, which comes first."""
    return int(name[:2]) if name[:2].isdigit() else -1


def kernel_environment() -> dict[str, str]:
    """Variables that make a kernel's output the same in every run."""
    return {
        "PYTHONHASHSEED": "0",  # the order of sets of strings
        "OMP_NUM_THREADS": "1",  # the order of floating-point sums
        "GRPC_VERBOSITY": "NONE",  # gRPC's log has times and ports in it
        "IPYTHONDIR": str(BUILD / "ipython"),  # no start-up files of the user's own
        "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(BUILD / "numba_cache")),
    }


if __name__ == "__main__":  # for a shell: eval "$(python -m tools.notebook_files)"
    for name, value in {
        "INTERNALS_CACHE_DIR": str(BUILD / "machine_code"),
        **kernel_environment(),
    }.items():
        print(f"export {name}={shlex.quote(os.environ.get(name, value))}")
