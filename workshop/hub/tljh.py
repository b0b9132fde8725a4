"""For The Littlest JupyterHub: the variables of every student's server. README.md says where this
file goes.

TLJH starts servers as system users, who cannot write each other's files, nor the project's in
/srv/internals.
"""

from __future__ import annotations

from typing import Any

PROJECT = "/srv/internals"

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821  (TLJH gives it to this file)


def code_folders(spawner: Any) -> str:
    """Where compiled code is looked for: at home, where it is also written, then where `make tour`
    has put it.
    """
    return f"/home/jupyter-{spawner.user.name}/.cache/internals:{PROJECT}/build/machine_code"


c.Spawner.environment = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GRPC_VERBOSITY": "NONE",
    "INTERNALS_CACHE_DIR": code_folders,
}
