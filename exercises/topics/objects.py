"""Exercises of notebook 02."""

from __future__ import annotations
