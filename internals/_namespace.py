"""The functions of the top-level namespace that are not generated from the YAML file."""

from __future__ import annotations

__all__: list[str] = []
