"""Exercises of notebook 17."""

from __future__ import annotations
