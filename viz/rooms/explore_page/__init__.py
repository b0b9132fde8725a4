"""`viz.explore(f, x).save("page.html")`: one file in which source, trees, graph, bytecode and
kernel are tied together.

    scene        what is on the page, and what "belongs together" means
    trees        a text and its syntax trees: which characters a node stands for
    links        keys for nodes of graphs, followed through all phases, and their places in sources
    sources      the panes "source" and "ast"
    phases       the pane "ir": the graph after each phase, with what changed
    code         the pane "bytecode", and the Python that runs
    kernels      the pane "kernel": source, loop, LLVM, PTX
    archive      the pane "archive": records of a file, tied to the sources in it
    record       a compiled function -> the scene
    text         a function given as text
    writer       the scene -> HTML; `page.css` is its style, `page.js` and `state.js` its behaviour
    command      `python -m internals explore`

How the real one differs: PyTorch has no such page.
"""
