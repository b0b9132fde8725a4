"""A real browser, driven from Python: what the tests in `tests/browser` and `make browser-test`
look through.

`chromium` starts the browser, `lab` a JupyterLab for it, and `notebook` opens a notebook there and
does what a reader does. `pictures` says what of an output can be seen (`look.js`, in the page,
measures it), `stepper` which frames must show after which keys and clicks, and `sanitisers` what
GitHub and an untrusting JupyterLab leave of an output. `__main__` is `make browser-test`.
"""
