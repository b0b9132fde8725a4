"""Exercises of notebook 19."""

from __future__ import annotations
