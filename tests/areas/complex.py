"""Complex numbers (internals/aten/native_functions/complex.yaml)."""

from __future__ import annotations

UNSUITABLE = [
    ("polar", lambda v: (v["abs"].values <= 0).any(), "a length below 0: the formula takes it for one above"),
]
