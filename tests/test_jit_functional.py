"""`nn.functional` is one text for Python and for the compiler, but for attention."""

from __future__ import annotations

import pytest

from internals import jit
from internals.jit.frontend.functional_scripts import scripted as written_for_the_compiler
from internals.nn import functional as F

# Keyword-only arguments with defaults are not in the language, in PyTorch neither.
REFUSED = {"triplet_margin_with_distance_loss"}


@pytest.mark.parametrize("name", sorted(set(F.__all__) - REFUSED))
@pytest.mark.filterwarnings("ignore")
def test_it_is_scripted_or_an_operator(name: str) -> None:
    function = getattr(F, name)
    try:
        scripted = written_for_the_compiler(function) or jit.script(function)
    except TypeError as error:
        assert "is built in" in str(error)
    else:
        assert scripted.code.startswith("def ")
