"""Exercises of notebook 20."""

from __future__ import annotations
