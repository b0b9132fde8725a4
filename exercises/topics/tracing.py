"""Exercises of notebook 11."""

from __future__ import annotations
