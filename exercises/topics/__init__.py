"""The exercises: a file for each notebook, named by its topic, and one for each track of "build it
yourself" (`build_*.py`).

`exercises/catalogue.py` says which belongs where. Within a file they stand in the order in which
the notebook shows them.

How the real one differs: see the notebooks; these files only ask about them.
"""
