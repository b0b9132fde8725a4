"""Exercises of notebook 04."""

from __future__ import annotations
