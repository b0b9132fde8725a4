"""Sphinx's settings for the documentation's pages; `make site` (tools/site) puts the sources
together and runs it.
"""

project = "PyTorch under the hood"
author = "The authors of PyTorch under the hood"
copyright = "The authors. Code: BSD 3-Clause, texts and pictures: CC BY 4.0"

extensions = ["myst_nb", "tools.site.extension"]
exclude_patterns = ["README.md"]  # included in the first page
# a notebook may go from its title to a heading of the third level
suppress_warnings = ["myst.header"]
root_doc = "index"
language = "en"
smartquotes = False
nitpicky = False
highlight_language = "none"  # unless a block says otherwise

# Notebooks are shown as they are stored: nothing is run, and no script is fetched for widgets.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_merge_streams = True
nb_number_source_lines = False
myst_heading_anchors = 4
myst_enable_extensions: list[str] = []
myst_links_external_new_tab = False

add_module_names = False
toc_object_entries = False
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "PyTorch under the hood"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0060a0", "color-brand-content": "#0060a0"},
    "dark_css_variables": {"color-brand-primary": "#6cb8ee", "color-brand-content": "#6cb8ee"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# `make site ARGS=--external`: links within the site are checked by tools/site/links.py.
linkcheck_ignore = [r"^(?!https?:)"]
linkcheck_anchors = False
linkcheck_timeout = 20
