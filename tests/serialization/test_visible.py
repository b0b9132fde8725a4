"""Names from a file on their way to a terminal: what would clear it, rename it or turn it around is
shown as an escape.
"""

from __future__ import annotations

import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import internals
from internals import jit
from internals.__main__ import main
from internals.serialization import ArchiveError
from internals.serialization.visible import visible

EVIL = (
    "\x1b]0;mine\x07\x1b[2J\r\x9b31m\nWRONG  all is well\u202e\u2066\u200b\u2028\x00\x7f\x85\ufeff"
)
HARMLESS = "größe_重み_весы"


def shown_as_it_is(text: str) -> str:
    """What of a text would reach a terminal unescaped."""
    return "".join(sorted({c for c in text if not c.isprintable()} - {"\n"}))


def safetensors(path: Path) -> None:
    header = {
        EVIL: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "__metadata__": {EVIL: EVIL, "format": EVIL},
        HARMLESS: {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
    }
    text = json.dumps(header, ensure_ascii=False).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))


def unknown_dtype(path: Path) -> None:
    text = json.dumps({EVIL: {"dtype": EVIL, "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))


def state_dict(path: Path) -> None:
    internals.save({EVIL: internals.ones(2), "x": {EVIL: EVIL}, HARMLESS: [EVIL]}, path)


def hostile_global(path: Path) -> None:
    def text(said: str) -> bytes:
        return b"\x8c" + bytes([len(said.encode())]) + said.encode()

    pickle = (
        b"\x80\x04" + text("os" + EVIL) + text("system" + EVIL) + b"\x93" + text(EVIL) + b"\x85R."
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", pickle)
        archive.writestr("m/version", f"3{EVIL}")
        archive.writestr("m/byteorder", EVIL)


def record_names(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02}.")
        archive.writestr("m/version", "3")
        archive.writestr(f"m/a{EVIL}".replace("\x00", ""), EVIL)
        archive.writestr(
            "m/extra/" + EVIL.replace("\x00", "") + ".json",
            json.dumps({"a": EVIL}, ensure_ascii=False),
        )


def script(path: Path) -> None:
    """A compiled function whose text has all of it in a comment, and that raises it."""
    whole = path.with_suffix(".whole")
    jit.save(jit.script(raises), str(whole))
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".py"):
                data = data.replace(b"evil", b"\x1b[2J\xe2\x80\xae") + "# \x1b[2J \u202e\n".encode()
            new.writestr(name, data)


def raises(x: internals.Tensor) -> internals.Tensor:
    if bool((x == 1).all()):
        raise ValueError("evil")
    return x


FILES: list[Callable[[Path], None]] = [
    safetensors,
    unknown_dtype,
    state_dict,
    hostile_global,
    record_names,
    script,
]
COMMANDS: list[list[str]] = [
    ["inspect", "FILE"], ["inspect", "FILE", "--all"], ["inspect", "FILE", "--json"],
    ["inspect", "FILE", "--html", "OUT.html"], ["run", "FILE", "--ones", "2"],
    ["run", "FILE", "--method", EVIL], ["convert", "FILE", "OUT.pt"],
    ["convert", "FILE", "OUT.safetensors"], ["explore", "FILE", "--no-open", "-o", "OUT.html"],
    ["serve", "FILE", "--port", "0", "--metrics-port", "0"],
]  # fmt: skip


@pytest.mark.parametrize(
    "command", COMMANDS, ids=[" ".join(command[:1] + command[2:3]) for command in COMMANDS]
)
@pytest.mark.parametrize("make", FILES, ids=[make.__name__ for make in FILES])
def test_no_command_hands_a_terminal_what_a_file_says(
    make: Callable[[Path], None],
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if command[0] == "serve":
        pytest.importorskip("grpc", reason="the extra `serving` is not installed")
        if make is script:
            pytest.skip("it can be served")
    pytest.importorskip("safetensors")
    path = tmp_path / ("evil.safetensors" if make in (safetensors, unknown_dtype) else "evil.pt")
    make(path)
    words = [
        word.replace("FILE", str(path)).replace("OUT", str(tmp_path / "out")) for word in command
    ]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        main(words)
    said = capsys.readouterr()
    for text in (said.out, said.err, *(str(each.message) for each in warned)):
        assert shown_as_it_is(text) == ""
        assert "\nWRONG  all is well" not in text


def test_what_is_wrong_is_seen_and_letters_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evil.safetensors"
    safetensors(path)
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert (
        r"\x1b]0;mine\x07\x1b[2J\r\x9b31m\nWRONG  all is "
        r"well\u202e\u2066\u200b\u2028\x00\x7f\x85\ufeff" in out
    )
    assert HARMLESS in out


def test_the_picture_has_the_same_names(tmp_path: Path) -> None:
    viz = pytest.importorskip("viz")
    for make in FILES:
        path = tmp_path / make.__name__
        make(path)
        picture = viz.archive(path)
        for text in (
            picture.text(),
            picture.svg() if hasattr(picture, "svg") else picture._repr_svg_(),
        ):
            assert shown_as_it_is(text) == "", make.__name__


def test_the_name_of_the_file_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "\x1b[2J\u202e.pt"
    for present in (False, True):
        if present:
            path.write_bytes(b"nothing of the kind")
        for command in (
            ["inspect", str(path)],
            ["run", str(path)],
            ["convert", str(path), str(tmp_path / "x.pt")],
        ):
            assert main(command) == 1
            said = capsys.readouterr()
            assert shown_as_it_is(said.out + said.err) == "" and r"\x1b[2J\u202e" in said.err


def test_an_error_of_an_archive_can_be_printed() -> None:
    error = ArchiveError(f"no {EVIL}", archive=EVIL, record=EVIL)
    # its own, in the message
    assert shown_as_it_is(str(error)) == "" and str(error).count("\n") == 1
    assert visible("a\tb\n") == r"a\tb\n" and visible("a\tb\n", lines=True) == "a\tb\n"
    assert visible("\udcff") == r"\udcff" and visible(HARMLESS) == HARMLESS
