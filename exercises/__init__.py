"""Exercises for every notebook, and an instant check of each answer: `from exercises import check`,
`check.zero_copy_1(answer)`.

A verdict says more than right or wrong: a wrong answer usually comes from a belief that many share,
and the checker names it. Each exercise is defined once, in `topics/`: the question, the start of an
answer, two hints, the solution, the checker, and the wrong answers that the checker has to
recognise. Everything else is made of that definition.

- `bets.py`       `bet`, for the questions inside a notebook: an answer first, then the experiment
- `exercise.py`   what an exercise consists of, and the decorator that makes one of a checker
- `reading.py`    what an answer of level 1 means, however it is typed
- `verdict.py`    what a check shows; what counts as not answered yet
- `checking.py`   `check`, with a name for every exercise, `hint()`, `solution()` and `progress()`
- `catalogue.py`  which topic belongs to which notebook; finding and loading exercises
- `attempt.py`    runs the text of an answer, as the notebook's cell would, and lets it be judged
- `selftest.py`   tests the checkers: solutions pass, blanks and known mistakes do not, nor does
                  anything arbitrary
- `cells.py`      writes the exercises into the notebooks
- `nbgrader_release.py`  writes a course for nbgrader
- `misconceptions.py`  writes workshop/misconceptions.md: what people believe, and what the checkers
  answer
- `scripts.py`    what the checkers of the JIT's notebooks share
- `topics/`       the exercises, a file for each notebook and for each track of "build it yourself"
- `__main__.py`   `python -m exercises list | selftest | insert | misconceptions | release`

How the real one differs: PyTorch's tutorials have no exercises. The form is that of Kaggle's
learntools (three verbs, no server) and of srush's Tensor Puzzles (the checker shows where the
answer fails).
"""

from exercises.bets import bet
from exercises.checking import check

__all__ = ["bet", "check"]
