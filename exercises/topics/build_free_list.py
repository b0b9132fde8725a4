"""Exercises of notebook 05."""

from __future__ import annotations
