"""A real browser, driven from Python: what the tests in `tests/browser` and `make browser-test` look through.

`chromium` starts the browser, `lab` a JupyterLab for it, and `notebook` opens a notebook there and does what a reader does.
`pictures` says what of an output can be seen.
"""
