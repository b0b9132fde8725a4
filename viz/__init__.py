"""Pictures of what the layers of `internals` do, made from the reader's own objects.

Each room is one function that looks at live objects and returns a `Picture`: it shows itself in a
notebook, prints as text, and saves itself as .svg, .html, .png or .txt. Nothing heavy is imported
before it is needed: not even `internals`.
"""

from __future__ import annotations

from viz.dot import Graph
from viz.rooms.access import access
from viz.rooms.allocator import allocator, allocator_timeline
from viz.rooms.archive import archive
from viz.rooms.ast import ast
from viz.rooms.autograd import autograd
from viz.rooms.autograd_steps import autograd_steps
from viz.rooms.batching import batching
from viz.rooms.batching_steps import batching_steps
from viz.rooms.big_picture import big_picture
from viz.rooms.bytecode import bytecode
from viz.rooms.chart import chart
from viz.rooms.diff import diff
from viz.rooms.dispatch import dispatch
from viz.rooms.exchange import exchange
from viz.rooms.explore import explore
from viz.rooms.flame import flame
from viz.rooms.fusion import fusion
from viz.rooms.graph import graph
from viz.rooms.images import images
from viz.rooms.memory import memory
from viz.rooms.pipeline import pipeline
from viz.rooms.ptx import ptx
from viz.rooms.pyobject import pyobject
from viz.rooms.step import step
from viz.rooms.strides import strides
from viz.rooms.timeline import timeline
from viz.rooms.versions import versions
from viz.rooms.wire import wire
from viz.rooms.you_are_here import you_are_here
from viz.scene import Picture
from viz.stepper import Stepper

__all__ = [
    "Graph",
    "Picture",
    "Stepper",
    "access",
    "allocator",
    "allocator_timeline",
    "archive",
    "ast",
    "autograd",
    "autograd_steps",
    "batching",
    "batching_steps",
    "big_picture",
    "bytecode",
    "chart",
    "diff",
    "dispatch",
    "exchange",
    "explore",
    "flame",
    "fusion",
    "graph",
    "images",
    "memory",
    "pipeline",
    "ptx",
    "pyobject",
    "step",
    "strides",
    "timeline",
    "versions",
    "wire",
    "you_are_here",
]
