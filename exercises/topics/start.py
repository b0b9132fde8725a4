"""Exercises of notebook 00."""

from __future__ import annotations
