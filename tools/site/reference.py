"""The reference: one page for each package, with its modules, their public names, signatures and
docstrings.
"""

from __future__ import annotations

from tools.site.catalogue import Item, Module, has_entry, names_of
from tools.site.docstrings import Link, inline, to_rest

PACKAGES = ["internals", "viz", "exercises", "apparatus", "codegen"]
FOLDER = "api"
NAMES = f"{FOLDER}/names.json"
PLACES = f"{FOLDER}/places.json"


def pages(modules: dict[str, Module]) -> dict[str, str]:
    """The text of every page, by its path in the folder that Sphinx reads."""
    known = names_of(modules)
    packages: dict[str, list[Module]] = {}
    for module in modules.values():
        packages.setdefault(module.package, []).append(module)
    written = {
        f"{FOLDER}/{name}.rst": package_page(name, found, known)
        for name, found in sorted(packages.items())
    }
    written[f"{FOLDER}/index.rst"] = index_page(modules, sorted(packages))
    return written


def meanings(modules: dict[str, Module]) -> dict[str, dict[str, str]]:
    """For each module, the full names that its annotations mean by their short ones, as far as a
    page has an entry for them.
    """
    known = names_of(modules)
    table = {}
    for module in modules.values():
        own = {item.name: f"{module.name}.{item.name}" for item in module.items}
        table[module.name] = {
            name: full for name, full in {**module.imports, **own}.items() if full in known
        }
    return table


def index_page(modules: dict[str, Module], packages: list[str]) -> str:
    """The table of all packages, by their roots."""
    lines = [
        *heading("Reference", "="),
        "What every package offers, from its docstrings. The operators have :doc:`a page of their "
        "own <operators>`:",
        "they are declared, not written. For names of PyTorch, see :ref:`genindex`.",
        "",
    ]
    for root in PACKAGES:
        inside = [p for p in packages if p == root or p.startswith(root + ".")]
        if inside:
            lines += [
                *heading(root, "-"),
                ".. list-table::",
                "   :widths: 30 70",
                "   :class: packages",
                "",
            ]
            lines += [f"   * - :doc:`{p}`\n     - {inline(modules[p].summary)}" for p in inside]
            lines += [""]
    lines += [".. toctree::", "   :hidden:", "", "   operators", *(f"   {p}" for p in packages), ""]
    return "\n".join(lines)


def package_page(name: str, modules: list[Module], known: set[str]) -> str:
    """The page of a package: the package itself, a table of its modules, and each of them."""
    package = next((m for m in modules if m.is_package), None)
    lines = heading(name, "=")
    if package is not None:
        lines += [*module_body(package, known), *exports(package, known)]
    inside = [m for m in modules if m is not package and (m.text or m.items)]
    if len(inside) > 1:
        lines += [".. list-table::", "   :widths: 25 75", "   :class: packages", ""]
        lines += [
            f"   * - :py:mod:`{m.name.rpartition('.')[2]} <{m.name}>`\n     - "
            f"{inline(m.summary) or '—'}"
            for m in inside
        ]
        lines += [""]
    for module in inside:
        lines += [*heading(module.name.rpartition(".")[2], "-"), *module_body(module, known)]
    return "\n".join(lines)


def exports(package: Module, known: set[str]) -> list[str]:
    """The names that one gets from the package itself, and where they are described."""
    given = {
        name: full
        for name, full in sorted(package.imports.items())
        if full in known and full.startswith(package.name + ".") and not name.startswith("_")
    }
    if not given:
        return []
    names = ", ".join(f":py:obj:`{name} <{full}>`" for name, full in given.items())
    return [".. rst-class:: exports", "", f"From here: {names}.", ""]


def module_body(module: Module, known: set[str]) -> list[str]:
    """What a module says of itself, and its entries."""
    link = linker(module, known)
    where = ".".join(
        str(line) for item in module.items for line in (item.line, *(m.line for m in item.members))
    )
    lines = [
        f".. py:module:: {module.name}",
        "",
        f".. source-of:: {module.path.as_posix()} {where or 0}",
        "",
    ]
    lines += [to_rest(module.text, link), ""]
    for item in filter(has_entry, module.items):
        lines += described(item, link, "")
    return lines + listed([item for item in module.items if not has_entry(item)], "")


def described(item: Item, link: Link, margin: str) -> list[str]:
    """A class, function, method or property as a directive, with everything in it."""
    is_property = item.kind == "property"
    signature = item.name if is_property else item.name + item.signature.replace("\\", "\\\\")
    lines = [f".. py:{item.kind}:: {signature}"]
    lines += [f"   :type: {item.signature}"] if is_property and item.signature else []
    lines += [f"   :{flag}:" for flag in item.flags]
    lines += ["", *(f"   {line}" for line in to_rest(item.text, link).splitlines())]
    if item.values:
        lines += ["", "   Values: " + ", ".join(f"``{value}``" for value in item.values)]
    lines = [*(margin + line if line.strip() else "" for line in lines), ""]
    for member in item.members:
        if member.text:
            lines += described(member, link, margin + "   ")
    return lines + listed([member for member in item.members if not member.text], margin + "   ")


def listed(items: list[Item], margin: str) -> list[str]:
    """Names that say what they are by their signatures, one a line."""
    if not items:
        return []
    texts = [
        f"{i.name}: {i.signature}" if i.kind == "property" and i.signature else i.name + i.signature
        for i in items
    ]
    return [
        f"{margin}.. rst-class:: listed",
        "",
        f"{margin}::",
        "",
        *(f"{margin}    {text}" for text in texts),
        "",
    ]


def linker(module: Module, known: set[str]) -> Link:
    """What a name in backticks means in this module: something of its own, something imported, or a
    full name.
    """

    own = {item.name for item in module.items}

    def link(text: str) -> str | None:
        name = text.removesuffix("()")
        first, dot, rest = name.partition(".")
        if name.islower() and name.isalpha() and name not in own:
            return None  # `device` is more often an argument than the class of that name
        for full in (
            name,
            f"{module.name}.{name}",
            module.imports.get(first, "") + dot + rest,
            f"{module.package}.{name}",
        ):
            if full in known and full != module.name:
                return full
        return None

    return link


def heading(text: str, line: str) -> list[str]:
    """A heading of reStructuredText, underlined with `line`."""
    return [text.replace("_", "\\_"), line * (len(text) + text.count("_")), ""]
