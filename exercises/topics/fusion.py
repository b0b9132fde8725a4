"""Exercises of notebook 22."""

from __future__ import annotations
