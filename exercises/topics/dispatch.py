"""Exercises of notebook 06."""

from __future__ import annotations
