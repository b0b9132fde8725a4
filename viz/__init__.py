"""Pictures of what the layers of `internals` do, made from the reader's own objects.

Each room is one function that looks at live objects and returns a `Picture`: it shows itself in a notebook, prints as
text, and saves itself as .svg, .html, .png or .txt. Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from viz.rooms.memory import memory
from viz.rooms.pyobject import pyobject
from viz.rooms.strides import strides

__all__ = ["memory", "pyobject", "strides"]
