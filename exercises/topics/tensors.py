"""Exercises of notebook 01."""

from __future__ import annotations
