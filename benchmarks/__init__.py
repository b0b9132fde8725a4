"""Measured against numpy and, where installed, PyTorch: `make bench`."""
