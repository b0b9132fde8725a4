"""Exercises of notebook 23."""

from __future__ import annotations
