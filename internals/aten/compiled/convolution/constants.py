"""Numbers that all files of this package agree on; here so that none of them needs llvmlite to know.

How the real one differs: oneDNN has blocks of 4, 8 and 16 channels, as the CPU's vectors are long.
"""

from __future__ import annotations

LANES = 16  # numbers in a vector, and channels in a block
