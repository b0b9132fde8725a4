"""What every picture is: a record of the reader's objects (the scene), with one writer for text and
one for drawing.

A room of `viz` looks at objects and fills a small dataclass that derives from `Picture`. The scene
holds numbers and names only, never the objects, so looking keeps nothing alive. It says how it
reads as text (`text`) and where its marks go (`canvas`); everything else, the notebook's HTML, the
files, is the same for all rooms and lives here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from viz.canvas import Canvas
from viz.html import live_or_still, page
from viz.svg import svg

SUFFIXES = (".html", ".png", ".svg", ".txt")


class Picture:
    """A scene. Rooms give `text()` and `canvas()`; readers use it as a value, or `save` it."""

    def text(self) -> str:
        """The picture as aligned text without addresses."""
        raise NotImplementedError

    def canvas(self) -> Canvas:
        """The picture as marks on a sheet."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.text()

    __str__ = __repr__

    def svg(self, theme: str = "auto") -> str:
        """The picture as one `<svg>` element; `theme` is "auto", "light" or "dark"."""
        return svg(self.canvas(), theme)

    def html(self) -> str:
        """The picture for a notebook or a page."""
        canvas = self.canvas()
        return live_or_still(svg(canvas), alt=canvas.description or canvas.title)

    def png(self, theme: str = "light", scale: float = 2) -> bytes:
        """The picture as a PNG file's bytes (needs matplotlib)."""
        from viz.png import png

        return png(self.canvas(), theme, scale)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}

    def save(self, path: str | os.PathLike[str], theme: str | None = None) -> Path:
        """Write the picture to `path`, in the format its suffix names: .svg, .html, .png or .txt.

        The file appears whole or not at all. Raises ValueError for any other suffix.
        """
        path = Path(path)
        writers: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: (self.svg(theme or "auto") + "\n").encode(),
            ".html": lambda: page(self.html(), self.title()).encode(),
            ".png": lambda: self.png(theme or "light"),
            ".txt": lambda: (self.text() + "\n").encode(),
        }
        if path.suffix.lower() not in writers:
            raise ValueError(
                f"cannot save a picture as {path.name!r}: the suffix must be one of "
                f"{', '.join(SUFFIXES)}"
            )
        write_atomically(path, writers[path.suffix.lower()]())
        return path

    def title(self) -> str:
        return self.canvas().title


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary file beside `path`, then rename it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        # as open() would have made it; mkstemp's files are private
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
