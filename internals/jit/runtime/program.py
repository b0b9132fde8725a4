"""tbd"""
from __future__ import annotations
from .interpreter import Interpreter
def run_code(code, args):
    return Interpreter(code, *args).run()
