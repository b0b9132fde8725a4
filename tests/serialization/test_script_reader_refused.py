"""What `jit.load` refuses: archives that say what they may not, in the pickle, the version or the
missing of a record.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

import pytest

import internals as torch
from internals.serialization import ArchiveError
from internals.serialization.script.script_reader import load_script
from tests.serialization.expected import FOLDER

CODE = """class A(Module):
  training : bool
  n : int
  xs : List[int]
  b : Optional[__torch__.B]
  def forward(self: __torch__.A, x: Tensor) -> Tensor:
    return torch.add(x, self.n)
class B(Module):
  t : Tuple[int, str]
  d : Dict[str, List[float]]
  a : Any
"""
NEW_A, NEW_B = b"c__torch__\nA\n)\x81", b"c__torch__\nB\n)\x81"


def pickled(value: Any) -> bytes:
    """The instructions for a plain value."""
    return pickle.dumps(value, 2)[2:-1]


def state(**values: Any) -> bytes:
    """A dict, one entry after another; bytes are instructions already."""
    items = b"".join(
        pickled(k) + (v if isinstance(v, bytes) else pickled(v)) for k, v in values.items()
    )
    return b"}(" + items + b"u"


def a(**changed: Any) -> bytes:
    """An object of class A."""
    values = {"training": True, "n": 2, "xs": [1], "b": None, **changed}
    return NEW_A + state(**{k: v for k, v in values.items() if v is not ...}) + b"b"


def b(**changed: Any) -> bytes:
    return NEW_B + state(**{"t": (1, "x"), "d": {"k": [0.5]}, "a": None, **changed}) + b"b"


def archive(data: bytes = a(), code: str = CODE, **more: bytes) -> io.BytesIO:
    records = {
        "data.pkl": b"\x80\x02" + data + b".",
        "code/__torch__.py": code.encode(),
        "constants.pkl": b"\x80\x02).",
        "version": b"3\n",
    }
    records |= {name.replace("_pkl", ".pkl"): value for name, value in more.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        for name, value in records.items():
            if value != b"-":
                z.writestr(f"top/{name}", value)
    file.seek(0)
    return file


def test_the_smallest_archive() -> None:
    m = load_script(archive())
    assert m(torch.ones(1)).tolist() == [3.0] and m.xs == [1] and m.training is True
    m = load_script(archive(a(b=b(d={}))))
    assert m.b.t == (1, "x") and m.b.d == {}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (a(n="2"), "the attribute 'n' of __torch__.A is declared to be of type int, but is '2'"),
        (a(n=True), "of type int, but is True"),
        (a(n=2**70), "of type int"),
        (a(training=1), "of type bool, but is 1"),
        (
            a(xs=[1, 2.5]),
            r"the attribute 'xs' of __torch__.A\[1\] is declared to be of type int, but is 2.5",
        ),
        (a(xs=(1,)), r"of type List\[int\], but is a tuple"),
        (a(b=3), "is declared to be of type __torch__.B, but is 3"),
        (a(b=b(t=(1,))), r"of type Tuple\[int, str\]"),
        (a(b=b(d={1: [0.5]})), "a key of the attribute 'd'"),
        (a(b=b(d={"k": [1]})), "of type float, but is 1"),
        (a(n=...), "an object of __torch__.A has no value for its attribute 'n'"),
        (
            a(more=1),
            "an object of __torch__.A has a value for 'more', which is no attribute of the class",
        ),
        (NEW_A + b"]b", "the attributes of a __torch__.A are in a dict, not in a list"),
        (NEW_A, "not a module"),
        (b"N", "not a module, but a NoneType"),
        (pickled({"a": 1}), "not a module, but a dict"),
        (a() + state() + b"b", "gets its attributes twice"),
        (a(b=NEW_B), "an object of __torch__.B is a part of itself"),
        (
            NEW_A + b"q\xc8" + a(b=b(a=b"h\xc8")).removeprefix(NEW_A),
            "__torch__.A is a part of itself",
        ),
        (b"c__torch__\nC\n)\x81}b", "the class '__torch__.C' is not defined"),
        (b"cos\nsystem\n(X\x02\x00\x00\x00lstR", "the class 'os.system' is not defined"),
        (b"cbuiltins\neval\n(X\x01\x00\x00\x001tR", "Unsupported global"),
        (b"c__torch__\nA\n(K\x01t\x81}b", "made without arguments"),
        (b"c__torch__\nA\n)R", "cannot be called"),
        (b"c..\nA\n)\x81}b", "is not defined"),
    ],
)
def test_pickles_that_do_not_fit(data: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        load_script(archive(data))


def test_a_value_of_any_type_that_holds_itself() -> None:
    cyclic = b"]q\x05h\x05a"
    m = load_script(archive(a(b=b(a=cyclic))))
    assert m.b.a[0] is m.b.a


def test_lists_that_share_lists_are_checked_in_no_time() -> None:
    code = CODE.replace("xs : List[int]", "xs : " + "List[" * 40 + "int" + "]" * 40)
    doubled = b"]" + b"".join(b"q%c0](h%ch%ce" % (i, i, i) for i in range(1, 40))
    with pytest.raises(ArchiveError):
        load_script(archive(a(xs=doubled + b"0]"), code))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"version": b"11"}, "version 11, but the maximum supported version for reading is 10"),
        ({"version": b"0"}, "version 0, but the minimum supported version for reading is 1"),
        ({"version": b"-3"}, "version -3, but the minimum"),
        ({"version": b"abc"}, "Couldn't parse the version abc as Long Long"),
        ({"version": b"9" * 30}, "Couldn't parse the version"),
        ({"version": b"-"}, r'Expected hasRecord\("version"\) to be true'),
        ({"constants_pkl": b"-"}, "failed locating file constants.pkl: file not found"),
        ({"data_pkl": b"-"}, "failed locating file data.pkl: file not found"),
        ({"constants_pkl": b"\x80\x02]."}, "the constants are not in a tuple"),
        ({"constants_pkl": b"\x80\x02"}, "constants.pkl"),
        ({"constants_pkl": b"\x80\x02c__torch__\nA\n)\x81}b."}, "Unsupported global"),
    ],
)
def test_records_that_are_wrong(records: dict[str, bytes], message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        load_script(archive(**records))


@pytest.mark.parametrize(
    "code", [b"\xff\xfe", b"class A(Module:\n", b"\0", b"class A(Module):\n  x : int\n   y : int\n"]
)
def test_code_that_is_none(code: bytes) -> None:
    file = archive()
    with zipfile.ZipFile(file) as z:
        records = {name: z.read(name) for name in z.namelist()}
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as z:
        for name, value in records.items():
            z.writestr(name, code if name.endswith(".py") else value)
    changed.seek(0)
    with pytest.raises(ArchiveError, match="record 'code/__torch__.py'"):
        load_script(changed)


def test_setstate_is_not_run() -> None:
    code = (
        CODE + "  def __setstate__(self: __torch__.B, x: int) -> NoneType:\n"
        "    while True:\n      pass\n    return None\n"
    )
    with pytest.raises(
        ArchiveError, match="__torch__.B.*__setstate__; nothing in a file is run while it is loaded"
    ):
        load_script(archive(a(b=b()), code))


def test_every_prefix_of_an_archive_is_refused() -> None:
    data = (FOLDER / "function.pt").read_bytes()
    for n in range(0, len(data), 97):
        with pytest.raises(ArchiveError):
            load_script(io.BytesIO(data[:n]))
