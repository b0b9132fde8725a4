"""What an operator sees of a server: numbers for Prometheus, and lines for whatever collects logs.

    metrics.py   counters, histograms and gauges, cheap enough to be fed on every request
    logs.py      events as lines; failures at most so many a second; nothing secret

How the real one differs: Triton keeps its metrics and its log in C++, adds the GPUs' to the first,
and can trace single requests.
"""

from __future__ import annotations

from .logs import Log
from .metrics import Metrics

__all__ = ["Log", "Metrics"]
