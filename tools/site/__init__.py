"""The documentation's pages (`make site`): notebooks as they are stored, texts, a reference from
docstrings, the source.

    __main__     the command: the steps below, one after the other, and what came of them
    tree         a folder for Sphinx to read: copies of the texts and notebooks, beside pages that
                 are written for it
    landing      the first page: groups of notebooks, as in the talk, and the ways to teach with
                 them
    catalogue    what a module offers, read from its source without importing it
    docstrings   a docstring of ours, plain text with `names` and aligned lines, as reStructuredText
    reference    a page for each package
    operators    a page for what is declared in YAML: schema, kernels, derivative
    code_pages   the source files that pages link to, highlighted
    extension    what Sphinx does differently for us: links into the source, drawings that follow
                 the page's theme
    links        whether every link of the finished pages leads somewhere, and nothing is fetched
                 from elsewhere

Sphinx, myst-nb and the theme furo are in the extra `workshop`; `docs/site/conf.py` sets them up. No
notebook is run here, and the pages work from a disk, without a server or a network.
"""
