"""Reads an answer of level 1 as it was meant: the question is what somebody believes, not how they
typed it.

numpy's numbers, tensors and fractions become Python's numbers, arrays become lists, "400" becomes
400 and "True" True, and blanks around a word go. True stays True: that is an answer to another
question. Answers of the other levels are judged as they are.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")


def as_meant(answer: Any) -> Any:
    if isinstance(answer, str):
        return _word(str(answer).strip())
    if isinstance(answer, dict):
        return {key: as_meant(value) for key, value in answer.items()}
    if type(answer) in (list, tuple):
        return type(answer)(as_meant(value) for value in answer)
    if isinstance(answer, Fraction):
        return float(answer)
    if callable(unpacked := getattr(answer, "tolist", None)) and not isinstance(answer, type):
        return as_meant(unpacked())
    return answer


def _word(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    if not NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("+-").isdigit() else float(text)
