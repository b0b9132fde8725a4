"""Exercises of notebook 09."""

from __future__ import annotations
