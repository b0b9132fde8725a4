"""The source map: where in real PyTorch is what you are looking at here, then (1.0.1) and today
(2.13)?

    internals.where("autograd engine")        # words, a file of PyTorch's, an operator
                                              # "aten::conv2d"
    internals.where(torch.add)                # a function, a class, a module, any object that is no
                                              # tensor
    internals.where(error)                    # an exception, or the text of an error
    internals.source_map.where(tensor)        # a tensor too: `internals.where(tensor)` is PyTorch's
                                              # `where(condition)`

The facts are the YAML files beside this one, a file a floor: `entries.py` reads them, when first
asked. `symptoms.py` knows the errors that people paste, `search.py` finds an entry by words,
`subjects.py` finds out what an object is about, `operators.py` knows the lines that declare an
operator, and `place.py` is the answer, as text and as HTML. `command.py` is `python -m internals
where`. `guide/` holds what only the page docs/source_map.md has, the reading order and the
questions; `python -m tools.source_map` writes that page.

How the real one differs: PyTorch has no such map; its CONTRIBUTING.md describes the folders, and
aten/src/ATen/native/README.md the YAML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .place import Place

__all__ = ["topics", "where"]


def where(subject: Any) -> Place:
    """Where a thing is in real PyTorch: its files in 1.0.1 and today, the notebook that shows it,
    what to read next.

    `subject` may be words ("autograd engine"; typing errors are forgiven), a file of PyTorch's, the
    name of an operator or of one of our modules, the text of an error or a warning, an exception,
    or any object of this package: it is found by its class and module, an operator's function by
    the operator. Raises LookupError, with the three nearest topics, their files and sections of
    notebooks, when the map does not have it.
    """
    from .subjects import place_of

    return place_of(subject)


def topics() -> list[str]:
    """The names of all entries, floor by floor."""
    from .entries import entries

    return [entry.topic for entry in entries()]
