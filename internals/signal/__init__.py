"""`torch.signal` (`torch/signal/__init__.py`): `windows`, curves to fade a piece of a signal in and
out.

How the real one differs: nothing else is in it there, either.
"""

from __future__ import annotations

from . import windows as windows
