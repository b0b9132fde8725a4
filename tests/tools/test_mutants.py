"""`make mutants`: faults of each kind are found in source, keep their names, and are caught
exactly where a test looks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants import children
from tools.mutants.faults import Fault, draw, faults
from tools.mutants.results import named_equivalent

ROOT = Path(__file__).parents[2]
SOURCES = {
    "operand order": ("return a - b", "return b - a"),
    "boundary": ("return a < b", "return a <= b"),
    "off by one": ("return a[0]", "return a[1]"),
    "wrong coefficient": ("return a * b", "return a / b"),
    "lost effect": ("a.append(b)", "pass"),
    "missing version bump": ("a.bump_version()", "pass"),
    "missing alias edge": ("a.points_to[b] = None", "pass"),
    "ignored stride or offset": ("return a.storage_offset() + b", "return 0 + b"),
    "dropped special value": ("return np.copysign(a, b)", "return a"),
    "swapped key": ("return {1: a, 2: b}", "return {1: b, 2: a}"),
    "negated condition": ("return a if b else 3", "return a if not b else 3"),
    "and for or": ("return a and b", "return a or b"),
    "flipped flag": ("return True", "return False"),
    "missing check": ("if a: raise ValueError(b)", "pass"),
}
TOY = '''
def clamp(x, low, high):
    """Between the two."""
    if x < low:
        return low
    return high if x > high else x


forgotten = lambda x: x + 1
'''
TESTS = """
import subprocess, sys
from viz.toy import clamp

def test_inside(): assert clamp(3, 0, 5) == 3
def test_low(): assert clamp(-1, 0, 5) == 0
def test_high(): assert clamp(7, 0, 5) == 5
CALL = "import viz.toy; viz.toy.clamp(1, 2, 3)"
def test_in_another_python(): subprocess.run([sys.executable, "-c", CALL], check=True)
def test_broken_from_the_start(): assert clamp(0, 0, 0) is None
"""
RUN = """
import json
from pathlib import Path
from tools.mutants.faults import blocks_of, faults
from tools.mutants.reach import reaching, record
from tools.mutants.trial import Bench

root, file = Path.cwd(), "viz/toy.py"
found = list(faults((root / file).read_text(), file))
assert record(root, root / "reach", ["tests/test_toy.py"], root / "log") == []
reach = reaching(root / "reach", {fault.identity: blocks_of(fault, root) for fault in found})
before = (root / file).read_bytes()
bench = Bench(root, root, budget=60.0)
print(json.dumps({fault.after: bench.trial(fault, reach[fault.identity]) for fault in found}))
assert (root / file).read_bytes() == before
"""


def found_in(body: str) -> list[Fault]:
    return list(faults(f'def f(a, b):\n    """1 < 2"""\n    {body}\n', "internals/toy.py"))


@pytest.mark.parametrize("kind", SOURCES)
def test_each_kind_of_fault_is_found(kind: str) -> None:
    before, after = SOURCES[kind]
    fault = next(fault for fault in found_in(before) if fault.kind == kind)
    assert (fault.before, fault.after, fault.function, fault.line) == (before, after, "f", 3)
    source = f'def f(a, b):\n    """1 < 2"""\n    {before}\n'
    assert fault.planted(source.encode()) == source.replace(before, after)


def test_a_fault_keeps_its_name_when_lines_move_and_has_as_many_lines_as_before() -> None:
    source = (
        "def f(a, b):\n    return (a -\n            b)\n\n\ndef g(a):\n    assert a < 3\n    "
        "return a @ a\n"
    )
    here, lower = (
        list(faults(text, "internals/toy.py")) for text in (source, "import math\n\n" + source)
    )
    assert [fault.identity for fault in here] == [fault.identity for fault in lower]
    assert [fault.line + 2 for fault in here] == [fault.line for fault in lower]
    assert {fault.kind for fault in here} == {
        "operand order",
        "wrong coefficient",
    }  # nothing in the assertion
    assert all(fault.planted(source.encode()).count("\n") == source.count("\n") for fault in here)


@pytest.mark.sampled(1 / 4)
def test_the_same_are_drawn_again_with_the_same_seed() -> None:
    drawn = [[fault.identity for fault in draw(ROOT, "jit/ir", seed, 20)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2] and len(set(drawn[0])) == 20


def test_a_change_elsewhere_does_not_draw_others(tmp_path: Path) -> None:
    def each_kind_in_turn() -> list[str]:
        drawn = sorted(draw(tmp_path, "viz", 1, 10**6), key=lambda fault: fault.kind)
        return [fault.identity for fault in drawn]

    (tmp_path / "viz").mkdir()
    lines = [f"def f{i}(a, b):\n    return a - b < {i}\n" for i in range(20)]
    (tmp_path / "viz" / "toy.py").write_text("".join(lines))
    before = each_kind_in_turn()
    (tmp_path / "viz" / "another.py").write_text("x = 1 + 2\n")
    (tmp_path / "viz" / "toy.py").write_text("def g(a, b):\n    return b + 7\n" + "".join(lines))
    after = each_kind_in_turn()
    assert len(after) > len(before) and [each for each in after if each in before] == before


def test_what_is_named_equivalent_is_in_the_source_and_has_a_reason() -> None:
    named = named_equivalent(ROOT)
    sources = {name.partition(" ")[0] for name in named}
    known = {
        fault.identity for file in sources for fault in faults((ROOT / file).read_text(), file)
    }
    assert set(named) <= known and all(len(reason.split()) > 3 for reason in named.values())


@pytest.mark.sampled(1 / 4)
def test_a_planted_fault_is_caught_by_the_tests_that_reach_it(tmp_path: Path) -> None:
    site = (ROOT / "tools" / "mutants" / "site" / "sitecustomize.py").read_text()
    files = {
        "viz/__init__.py": "",
        "viz/toy.py": TOY,
        "tests/test_toy.py": TESTS,
        "pytest.ini": "[pytest]",
    }
    for name, text in {**files, "sitecustomize.py": site}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    run = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    outcomes = json.loads(run.stdout)
    assert {after: result for after, (result, *_) in outcomes.items()} == {
        "if x <= low:": "survived",  # they are equal then
        "return high if x >= high else x": "survived",
        "if not x < low:": "caught",
        "return high if not x > high else x": "caught",
        "forgotten = lambda x: x + 2": "not reached",
        "forgotten = lambda x: x - 1": "not reached",
    }
    *_, reaching = outcomes["if x <= low:"]
    assert reaching == 4  # the other Python's test too, and not the broken one


def test_work_is_shared_and_a_failed_worker_is_told(tmp_path: Path) -> None:
    def note(i: int, worker: int) -> None:
        (tmp_path / str(i)).write_text(str(worker))

    children.share(20, 3, note)
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == list(range(20))
    with pytest.raises(RuntimeError, match="2 of 2 workers failed"):
        children.share(20, 2, lambda i, worker: os._exit(1))
