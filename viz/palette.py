"""One meaning per colour, the same in every picture.

The hues are Okabe and Ito's, which people with any of the common forms of colour blindness can tell
apart. Every role has three shades: `strong` (lines and bars), `soft` (a fill that text can stand
on) and `text` (readable on the page and on the fill). The last two are mixed from the first, once
for light and once for dark pages.

How the real one differs: PyTorch has no palette; its memory viewer picks a colour per allocation by
hashing.
"""

from __future__ import annotations

MEANING = {
    "storage": "bytes of a storage",
    "view": "bytes that a tensor or array looks at",
    "shared": "bytes that more than one of them looks at",
    "copied": "bytes of its own: a copy",
    "owner": "what keeps the memory alive",
    "allocator": "what hands memory out",
    "python": "a Python object",
    "free": "free, cached or skipped",
    "key": "code that runs: dispatch key, kernel, node of a graph",
    "warning": "an error waiting: written to after it was kept",
    "ready": "may run next",
}

HUES = {
    "storage": "#56b4e9",  # sky blue
    "view": "#0072b2",  # blue
    "shared": "#e69f00",  # orange
    "copied": "#009e73",  # bluish green
    "owner": "#cc79a7",  # reddish purple
    "allocator": "#d55e00",  # vermillion
    "python": "#f0e442",  # yellow
    "free": "#999999",  # grey
    "key": "#000000",  # black
    "warning": "#b3123b",  # crimson, darker than vermillion; always with a word beside it
    "ready": "#7b61c9",  # violet
}

PAGE = {
    "light": {
        "paper": "#ffffff",
        "panel": "#f6f8fa",
        "line": "#d0d7de",
        "muted": "#505963",
        "ink": "#1f2328",
    },
    "dark": {
        "paper": "#14181d",
        "panel": "#1d232a",
        "line": "#3d4650",
        "muted": "#adb8c2",
        "ink": "#e6edf3",
    },
}

THEMES = ("light", "dark")


def mix(first: str, second: str, share: float) -> str:
    """The colour that has `share` of `first` and the rest of `second`; all are `#rrggbb`."""
    pairs = [(int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def _shades(theme: str) -> dict[str, str]:
    page = PAGE[theme]
    paints = dict(page)
    for role, hue in HUES.items():
        if role == "key":
            hue = page["ink"]
        elif role == "python" and theme == "light":
            hue = mix(hue, "#806000", 0.75)  # pure yellow is invisible as a line on white
        elif role == "view" and theme == "dark":
            hue = mix(hue, "#ffffff", 0.75)
        soft = {"light": 0.24, "dark": 0.32}[theme] * {"key": 0.4, "python": 0.7}.get(role, 1)
        paints[role] = hue
        paints[f"{role}-soft"] = mix(hue, page["paper"], soft)
        paints[f"{role}-text"] = mix(hue, page["ink"], 0.48)
    return paints


PAINTS: dict[str, dict[str, str]] = {theme: _shades(theme) for theme in THEMES}


def colour(paint: str, theme: str = "light") -> str:
    """The `#rrggbb` of a paint such as "ink", "storage", "storage-soft" or "storage-text"."""
    return PAINTS[theme][paint]
