"""`python -m benchmarks.serving.page`: puts the options and the figures into `docs/serving.md`,
between its markers.

The prose of that page is written by hand; what a program knows better is not: the options come from
the command's parser, the figures from the newest run in `results/`. The same run gives the same
bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.serving import record

PAGE = Path(__file__).parent.parent.parent / "docs" / "serving.md"
EMPTY = "No run is kept yet: `make bench-serving` leaves one."


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    results.write(PAGE, filled(text, newest_run()))
    print(f"wrote {PAGE.name}")
    return 0


def newest_run() -> dict[str, Any] | None:
    path = record.newest()
    return None if path is None else record.read(path)


def filled(text: str, run: dict[str, Any] | None) -> str:
    """The page with everything between markers written anew."""
    text = between(text, "options", list(options_table()))
    parts = {"run": setting, "faults": faults_table, "batching": curves, "image": image_section}
    for name, part in parts.items():
        text = between(text, name, [EMPTY] if run is None else list(part(run)))
    return text


def between(text: str, name: str, lines: list[str]) -> str:
    """The text with these lines between `<!-- name -->` and `<!-- end of name -->`. Raises
    ValueError without the markers.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"docs/serving.md has no markers of '{name}'")
    return "".join((before, begin, "\n", *(f"{line}\n" for line in lines), "\n", end, after))


def options_table() -> Iterator[str]:
    """Every option of `python -m internals serve`, and the field of `Settings` that it sets."""
    from internals.serving.command import parser
    from internals.serving.settings import Settings

    names = {field.name for field in fields(Settings)}
    yield "| option | `Settings` | |\n|---|---|---|"
    for action in parser()._actions:
        if not isinstance(action, argparse._HelpAction):
            option = " ".join(
                filter(
                    None, (*action.option_strings, action.dest.upper())[:1] + (value_of(action),)
                )
            )
            setting = f"`{action.dest}`" if action.dest in names else ""
            yield f"| `{option}` | {setting} | {escaped(action.help or '')} |"


def value_of(action: argparse.Action) -> str:
    if action.nargs == 0 or not action.option_strings:
        return ""
    if action.choices:
        return "|".join(map(str, action.choices)).replace("|", " or ")
    return str(action.metavar or ("N" if action.type is int else "X"))


def setting(run: dict[str, Any]) -> Iterator[str]:
    machine, versions = run["machine"], run["versions"]
    libraries = ", ".join(
        f"{name} {number}"
        for name, number in versions.items()
        if name in (*record.PACKAGES, "numpy")
    )
    busy = (
        f" {machine['load']:g} programs wanted to run before it began."
        if machine.get("load")
        else ""
    )
    yield (
        f"Measured on {run['date'][:10]} with `{run['command']}` at commit "
        f"{versions['internals']}, in {run['minutes']:.0f} minutes: "
        f"{machine.get('cpu', 'an unnamed processor')}, {machine.get('cores', '?')} cores, "
        f"{machine['system']}; Python {versions['python']}, {libraries}. Clients and server share "
        f"these cores.{busy}"
    )
    for again in run.get("again", []):
        yield (
            f"\nMeasured again on {again['date'][:10]} with `{again['command']}`: "
            f"{'; '.join(again['what'])}."
        )


def faults_table(run: dict[str, Any]) -> Iterator[str]:
    yield "| scenario | what was done | what was counted | promises |\n|---|---|---|---|"
    for finding in run["faults"]:
        counted = "; ".join(f"{name}: {value}" for name, value in finding["seen"].items())
        kept = "kept" if not finding["wrong"] else f"**broken**: {'; '.join(finding['wrong'])}"
        cells = finding["name"], finding["done"], counted, kept
        yield f"| {' | '.join(map(escaped, cells))} |"


def curves(run: dict[str, Any]) -> Iterator[str]:
    for number, (title, found) in enumerate(run["curves"].items()):
        if number:
            yield ""
        yield (
            f"**{title}**, {found['clients']} clients; at best {found['gain']:.2f} times the "
            "requests/s of no batching:\n"
        )
        yield (
            "| `--max-batch` | requests/s | of no batching | p50, ms | p95 | p99 | requests in a "
            "batch |"
        )
        yield "|---:|---:|---:|---:|---:|---:|---:|"
        alone = found["points"][0]["rate"]
        for point in found["points"]:
            times = " | ".join(f"{point[name]:.3g}" for name in ("p50", "p95", "p99"))
            rate = f"{point['rate']:,.0f} | {point['rate'] / alone:.2f}"
            yield f"| {point['max_batch']:.0f} | {rate} | {times} | {point['filled']:.1f} |"


def image_section(run: dict[str, Any]) -> Iterator[str]:
    yield from image_table(run["image"]) if run["image"] else [EMPTY]


def image_table(found: dict[str, Any]) -> Iterator[str]:
    yield "| way | bytes sent | median, ms | times protobuf's |\n|---|---:|---:|---:|"
    for name, way in found.items():
        yield f"| {name} | {way['bytes']:,.0f} | {way['milliseconds']:.2f} | {way['ratio']:.2f} |"


def escaped(text: str) -> str:
    return (
        text.replace("|", "\\|").replace("*", "\\*")
        if "**" not in text
        else text.replace("|", "\\|")
    )


if __name__ == "__main__":
    sys.exit(main())
