"""For the Pythons that tests start in the copy: the record of reach covers them, and PyTorch is
hidden from them too.
"""

from __future__ import annotations

import os
import sys

if os.environ.get("INTERNALS_ORACLE") == "0":
    sys.modules["torch"] = None  # type: ignore[assignment]

if folder := os.environ.get("INTERNALS_MUTANTS_REACH"):
    import atexit
    from pathlib import Path

    from tools.mutants import blocks

    place = Path(folder)
    reached = blocks.install(Path(__file__).parent)

    def leave() -> None:
        import numpy as np

        np.save(place / f"{os.getpid()}.npy", np.fromiter(reached, np.uint32, len(reached)))

    atexit.register(leave)
