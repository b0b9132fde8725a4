"""Written by `python -m codegen`; see codegen/__init__.py."""
