"""Errors of our own that show the way out: what is wrong, code that has it, and code that does not.

    >>> print(corrected("a node has two inputs", "node.input()", "node.input(0)"))
    a node has two inputs
        wrong:  node.input()
        right:  node.input(0)

Where PyTorch raises an error too, its words are used instead, so that they can be searched for.
`tests/core/test_corrected.py` runs both lines of each such error.
"""


def corrected(why: str, wrong: str, right: str) -> str:
    """The text of an error: `why`, a line of code that raises it, and one that does not."""
    return f"{why}\n    wrong:  {wrong}\n    right:  {right}"
