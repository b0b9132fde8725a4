"""Exercises of notebook 15."""

from __future__ import annotations
