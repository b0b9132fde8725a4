"""Exercises of notebook 21."""

from __future__ import annotations
