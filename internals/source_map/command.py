"""`python -m internals where WORDS`: where in real PyTorch is it?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] = ()) -> int:
    """Prints the place of the words; 1 when the map has nothing about them."""
    parser = argparse.ArgumentParser(
        prog="python -m internals where",
        description=(
            "where in PyTorch is it, in 1.0.1 and today, and which notebook shows it running"
        ),
    )
    parser.add_argument(
        "words",
        nargs="*",
        help='a topic, a file, an operator, a name: autograd engine, "aten::conv2d"',
    )
    parser.add_argument(
        "--topics", action="store_true", help="list everything that the map knows by name"
    )
    options = parser.parse_args(list(arguments))
    from internals.source_map import topics, where

    if options.topics or not options.words:
        print("\n".join(topics()))
        return 0
    try:
        print(where(" ".join(options.words)).text(lines=True))
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 1
    return 0
