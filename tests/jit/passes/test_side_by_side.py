"""The same random graphs through our passes and through real PyTorch's: the texts agree.

Programs are kept to what both decide alike. Elsewhere ours do more (dead values of loops, writes
after the last read) or, where PyTorch would be wrong, less; the tests of each pass have examples.
"""

from __future__ import annotations

import pytest

from tests.jit.passes.pass_support import after, by_torch, canonical, seeds
from tests.jit.programs.graphs import FEATURES, program

PURE = FEATURES - {"writes", "loops", "casts"}
SCALARS = frozenset({"numbers", "branches"})

CASES = {
    "dce": ("dce", PURE),
    "constant_pooling": ("constant_pooling", FEATURES - {"casts"}),
    "cse": ("cse", FEATURES - {"casts", "lists", "tuples", "loops", "optionals"}),
    "constant_propagation": ("constant_propagation", SCALARS),
    "erase_shape_information": ("erase_shape_information", FEATURES),
    "canonicalize": ("canonicalize", FEATURES),
    "lower_all_tuples": (
        "lower_all_tuples",
        FEATURES - {"lists", "optionals", "loops", "writes", "casts"},
    ),
}


@pytest.mark.parametrize("seed", seeds(15, 200))
@pytest.mark.parametrize("name", CASES)
def test_pytorch_makes_the_same_of_it(name: str, seed: int) -> None:
    theirs, features = CASES[name]
    p = program(seed, features=features, typed=False)
    if name == "cse" and "type_as" in p.text:
        return  # PyTorch believes that its result is always new memory
    assert canonical(after(name, p.text)) == by_torch(theirs, p.text)
