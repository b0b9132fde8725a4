"""One notebook in JupyterLab: opening it, running it, reading what the cells have, looking at each
cell in turn.

Outputs are read from Lab's own model (`window.jupyterapp`), not from the page: Lab takes cells that
are far away out of the page. What is on the page is looked at cell by cell, each scrolled to first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.browser.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WIDGET = "window.jupyterapp.shell.currentWidget"
READY = """() => {
    const widget = window.jupyterapp?.shell.currentWidget;
    return widget?.context?.isReady && widget.content?.model?.cells.length > 0
        && document.querySelector('.jp-Notebook .jp-Cell') !== null;
}"""
KERNEL_IDLE = f"() => {WIDGET}.sessionContext?.session?.kernel?.status === 'idle'"
ALL_RAN = f"""() => {{
    const cells = [...{WIDGET}.content.model.cells];
    return {WIDGET}.sessionContext.session.kernel.status === 'idle'
        && cells.every(c => c.type !== 'code' || !c.sharedModel.source.trim()
                            || c.executionCount !== null && c.executionState !== 'running');
}}"""
CELLS = f"""() => [...{WIDGET}.content.model.cells].map(c => ({{
    type: c.type, source: c.sharedModel.source, count: c.executionCount ?? null,
    tags: c.getMetadata('tags') ?? [],
    outputs: c.type !== 'code' ? []
        : Array.from({{length: c.outputs.length}}, (_, i) => c.outputs.get(i).toJSON()),
}}))"""
SHOW = f"""async n => {{
    const notebook = {WIDGET}.content;
    await notebook.scrollToItem(n, 'start');
    await notebook.widgets[n].ready;
}}"""


class OpenNotebook:
    """A notebook on a page of JupyterLab; `problems` are what the browser complained of."""

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page, self.lab, self.name = page, lab, name
        self.problems: list[str] = []
        listen(page, self.problems)
        page.goto(lab.address(name), wait_until="domcontentloaded")
        page.wait_for_function(READY, timeout=60_000)

    def cells(self) -> list[dict[str, Any]]:
        """Of each cell its `type`, `source`, `count`, `tags` and `outputs`, as nbformat has
        them.
        """
        return list(self.page.evaluate(CELLS))

    def run_all(self, timeout: float = 300) -> None:
        """Runs all cells and waits until each has a count and the kernel is idle."""
        self.page.wait_for_function(KERNEL_IDLE, timeout=60_000)
        self.page.evaluate(
            f"() => [...{WIDGET}.content.model.cells].forEach(c => c.type === 'code' && "
            "c.clearExecution())"
        )
        self.page.evaluate(
            "() => void window.jupyterapp.commands.execute('notebook:run-all-cells')"
        )
        self.page.wait_for_function(ALL_RAN, timeout=timeout * 1000, polling=200)

    def theme(self, name: str) -> None:
        """Chooses the theme "light" or "dark", as the menu does."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})",
            f"JupyterLab {name.capitalize()}",
        )
        self.page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light",
            arg=str(name == "light").lower(),
        )

    def width(self, pixels: int) -> None:
        """Makes the window this wide."""
        self.page.set_viewport_size({"width": pixels, "height": 900})

    def show(self, n: int) -> Locator:
        """Scrolls to cell `n` and returns it."""
        self.page.evaluate(SHOW, n)
        cell = self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{n}"]')
        cell.wait_for(state="attached", timeout=20_000)
        return cell

    def close(self) -> None:
        """Ends the kernel and leaves without saving."""
        self.page.evaluate(f"async () => {{ await {WIDGET}.sessionContext.shutdown(); }}")
        self.page.close(run_before_unload=False)


def listen(page: Page, problems: list[str]) -> None:
    """Errors on the console, exceptions, and requests that leave this machine."""
    page.on("pageerror", lambda error: problems.append(f"exception on the page: {error}"))
    page.on(
        "console", lambda m: problems.append(f"console: {m.text}") if m.type == "error" else None
    )
    page.on(
        "request",
        lambda request: (
            problems.append(f"asked for {request.url}") if leaves(request.url) else None
        ),
    )


def leaves(url: str) -> bool:
    """Whether a request for this goes beyond this machine."""
    inside = ("http://127.0.0.1:", "http://localhost:", "ws://127.0.0.1:", "ws://localhost:")
    return not url.startswith((*inside, "data:", "blob:", "file:", "about:"))
