"""Exercises of notebook 24."""

from __future__ import annotations
