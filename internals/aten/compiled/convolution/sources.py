"""Which version of this package wrote a kernel: part of its name in the cache on disk, so that a changed one is compiled anew.

How the real one differs: oneDNN's kernels are assembled in each process; Inductor's cache hashes the C++ it wrote, and its own
source (`torch/_inductor/codecache.py`).
"""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from types import ModuleType


@cache
def version_of(*modules: ModuleType) -> str:
    """A digest of the modules' source."""
    return hashlib.sha256("".join(inspect.getsource(m) for m in modules).encode()).hexdigest()[:16]
