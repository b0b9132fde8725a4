"""Numbers that all files of this package agree on; here so that none of them needs llvmlite to know."""

from __future__ import annotations

LANES = 16  # numbers in a vector, and channels in a block
