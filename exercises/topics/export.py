"""Exercises of notebook 18."""

from __future__ import annotations
