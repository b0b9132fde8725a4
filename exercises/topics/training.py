"""Exercises of notebook 10."""

from __future__ import annotations
