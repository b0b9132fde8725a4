"""Exercises of notebook 12."""

from __future__ import annotations
