"""Exercises of notebook 26."""

from __future__ import annotations
