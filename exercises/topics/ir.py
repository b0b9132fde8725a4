"""Exercises of notebook 13."""

from __future__ import annotations
