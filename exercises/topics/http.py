"""Exercises of notebook 25."""

from __future__ import annotations
