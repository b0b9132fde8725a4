"""Exercises of notebook 08."""

from __future__ import annotations
