"""What Sphinx does differently for our pages.

- A link into the project (`../internals/core/storage.py`, `../internals/core`) leads to the page of
  that file or package.
- Drawings follow the page's light or dark theme: furo says it on `<body>`, where our drawings look
  at `<html>`; a drawing that is a file is put into the page, so that it can follow as well.
- A notebook has one title, also where a second heading of the first level is in it.
- A signature has a link to its line of source, and its types mean what the module means by them.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole
from sphinx.util.osutil import relative_uri

from tools.site.code_pages import page_of
from tools.site.reference import NAMES, PLACES

ROOT = Path(__file__).resolve().parent.parent.parent
OUTPUT_LINK = re.compile(r'(<a\b[^>]*?\bhref=")(?![a-z]+:)([^"]+)(")')
EARLY = 400  # before Sphinx collects titles and images


class SourceOf(Directive):
    """`.. source-of:: internals/core/storage.py LINES`: a link to a module's file. LINES make the
    page new when they change.
    """

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        link = to_source(env.docname, self.arguments[0], "source")
        return [nodes.paragraph("", "", link, classes=["source-of"])]


class Source(SphinxRole):
    """``:source:`empty <internals/aten/native/factories.py#L12>` ``: a link to a line of a file."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        title, _, place = self.text.rstrip(">").rpartition(" <")
        link = to_source(self.env.docname, place, "")
        link.append(nodes.literal("", title))
        return [link], []


def to_source(docname: str, place: str, text: str) -> nodes.reference:
    """A link from a document to `FILE` or `FILE#L12`."""
    path, _, line = place.partition("#")
    address = relative_uri(f"{docname}.html", page_of(path)) + (f"#{line}" if line else "")
    return nodes.reference("", text, refuri=address, internal=True, classes=["to-source"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("source-of", SourceOf)
    app.add_role("source", Source())
    app.connect("doctree-read", one_title, priority=EARLY)
    app.connect("doctree-read", drawings, priority=EARLY)
    app.connect("doctree-read", links_into_the_project, priority=EARLY)
    app.connect("doctree-read", signatures, priority=EARLY)
    app.connect("doctree-resolved", links_of_outputs)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def one_title(app: Sphinx, doctree: nodes.document) -> None:
    """What follows the first section goes under it."""
    first, *rest = [node for node in doctree.children if isinstance(node, nodes.section)] or [None]
    for section in rest:
        doctree.remove(section)
        assert first is not None
        first.append(section)


def drawings(app: Sphinx, doctree: nodes.document) -> None:
    """Drawings in outputs of cells, and drawings that are files."""
    for raw in doctree.findall(nodes.raw):
        if "html" in raw.get("format", ""):
            raw.children[:] = [nodes.Text(follow_the_page(raw.astext()))]
    for image in list(doctree.findall(nodes.image)):
        path = _local(app, image["uri"])
        if path is not None and path.suffix == ".svg":
            app.env.note_dependency(str(path))
            text = inlined(path.read_text(encoding="utf-8"), image.get("alt", ""))
            drawing = nodes.raw("", text, format="html")
            _outermost(image).replace_self(nodes.container("", drawing, classes=["drawing"]))


def follow_the_page(html: str) -> str:
    """The colours of our drawings depend on what the page says of itself; furo says it on the
    body.
    """
    return re.sub(r'html(\[data-theme="(?:light|dark)"\])', r"body\1", html)


def inlined(svg: str, text: str) -> str:
    """A drawing as part of a page: one that has no themes of its own takes the colour of the page's
    text.
    """
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.S).strip()
    if 'class="iv"' not in svg[:500]:
        svg = re.sub(r"<style>.*?</style>", "", svg, count=1, flags=re.S).replace(
            "<svg ", '<svg class="plain" ', 1
        )
    if "aria-label" not in svg[:500] and text:
        svg = svg.replace("<svg ", f'<svg aria-label="{escape(text)}" ', 1)
    return follow_the_page(svg)


def links_into_the_project(app: Sphinx, doctree: nodes.document) -> None:
    """Runs before references are resolved: what is no page of Sphinx's own, but a file of the
    project.
    """
    docname = app.env.docname
    here = Path(docname).parent
    for node in list(doctree.findall(addnodes.pending_xref)) + list(
        doctree.findall(addnodes.download_reference)
    ):
        if node.get("reftype") != "myst":
            continue
        if node.get("refdomain") == "doc":
            if node["reftarget"].startswith("notebooks/") and node.get("reftargetid"):
                node["reftargetid"] = heading_of(node["reftargetid"])
            continue
        target = node["reftarget"].partition("#")[0]
        path = (ROOT / here / target).resolve() if target else ROOT
        if target and path.is_relative_to(ROOT) and path.exists():
            address = _address(path.relative_to(ROOT), app)
            uri = relative_uri(app.builder.get_target_uri(docname), address)
            node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))


def links_of_outputs(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The same for links in HTML that a notebook's cell has put out, once all headings are
    known.
    """

    def replaced(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        path = (ROOT / Path(docname).parent / unquote(target)).resolve()
        if not target or not path.is_relative_to(ROOT) or not path.exists():
            return match[0]
        address = _address(path.relative_to(ROOT), app)
        slugs = app.env.metadata[address.removesuffix(".html")].get("myst_slugs", {})
        heading = slugs.get(heading_of(anchor))
        fragment = heading[1] if heading else anchor
        uri = relative_uri(app.builder.get_target_uri(docname), address)
        return match[1] + uri + (f"#{fragment}" if fragment else "") + match[3]

    for raw in doctree.findall(nodes.raw):
        if "html" in raw.get("format", ""):
            raw.children[:] = [nodes.Text(OUTPUT_LINK.sub(replaced, raw.astext()))]


def heading_of(anchor: str) -> str:
    """JupyterLab's name of a heading, `12.-From-then-to-now`, as MyST and GitHub write it:
    `12-from-then-to-now`.
    """
    return re.sub(r"[^\w\- ]", "", unquote(anchor).lower())


def signatures(app: Sphinx, doctree: nodes.document) -> None:
    """Every signature leads to its line of source. A type in it leads to the class that its module
    means by that name; Sphinx by itself would guess among namesakes."""
    found = [node for node in doctree.findall(addnodes.desc_signature) if node.get("module")]
    if not found:
        return
    meanings, places = (
        json.loads((Path(app.srcdir) / name).read_text()) for name in (NAMES, PLACES)
    )
    for signature in found:
        names = meanings.get(signature["module"], {})
        for node in list(signature.findall(addnodes.pending_xref)):
            first, dot, rest = node["reftarget"].partition(".")
            if first in names:
                node["reftarget"] = names[first] + dot + rest
                node.attributes.pop("refspecific", None)
            else:
                node.replace_self(nodes.Text(node.astext()))
        place = places[f"{signature['module']}.{signature['fullname']}"]
        signature.append(to_source(app.env.docname, place, "source"))


def _address(path: Path, app: Sphinx) -> str:
    """The page of a file or folder of the project, relative to the site."""
    if path.as_posix() in ("README.md", "."):
        return "index.html"
    name = ".".join(path.parts)
    if (ROOT / path).is_dir():
        if f"api/{name}" in app.env.found_docs:
            return f"api/{name}.html"
        for inside in ("README.md", "__init__.py"):
            if (ROOT / path / inside).exists():
                path = path / inside
                break
        else:
            raise ValueError(
                f"{app.env.docname} links to the folder {path}, which has neither a page nor a "
                "README.md"
            )
    docname = path.with_suffix("").as_posix()
    return (
        f"{docname}.html"
        if docname in app.env.found_docs and path.suffix in (".md", ".ipynb")
        else page_of(path)
    )


def _local(app: Sphinx, uri: str) -> Path | None:
    if "://" in uri or uri.startswith("data:"):
        return None
    _, path = app.env.relfn2path(uri, app.env.docname)
    return Path(path) if Path(path).exists() else None


def _outermost(image: nodes.Element) -> nodes.Element:
    """The paragraph or figure around an image, if there is nothing else in it."""
    parent = image.parent
    return parent if isinstance(parent, nodes.paragraph) and len(parent) == 1 else image
