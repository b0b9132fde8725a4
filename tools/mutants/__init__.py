"""A test of the tests: faults are planted in a copy of the project, and the tests that reach each
of them run until one fails.

`kinds` says what slips of the hand there are, `faults` where they could happen and which places
are drawn, `blocks` and `reach` which test runs which code, `copy` and `children` where and how a
fault runs without touching what you work on, `trial` puts one to the test, `results` and `report`
keep and show what came out. `equivalent.yaml` names faults that are none, with the reason.
"""
