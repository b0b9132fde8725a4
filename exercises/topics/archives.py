"""Exercises of notebook 16."""

from __future__ import annotations
