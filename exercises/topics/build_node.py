"""Exercises of notebook 07."""

from __future__ import annotations
