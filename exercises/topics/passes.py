"""Exercises of notebook 14."""

from __future__ import annotations
