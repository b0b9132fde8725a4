"""What the tests of scripted modules share: modules made from text, and errors in words that fit
both libraries.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import internals
from tests.jit.modules import HEAD, namespace
from tests.jit.sources import define, plain


def module(text: str, T: Any = internals, *args: Any) -> Any:
    """An instance of the class that `text` defines."""
    return define(HEAD + textwrap.dedent(text), **namespace(T))(*args)


def error_of(make: Callable[[], Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            make()
    return re.sub(r"\btorch\.(Tensor|memory_format)", r"internals.\1", plain(str(caught.value)))
