"""`doctor --gpu`: what it concludes from versions, and what it says where there is no GPU."""

from __future__ import annotations

import pytest

from apparatus import doctor, gpu_preflight as preflight
from apparatus.preflight import Failed
from internals.cuda.gpu_driver import Availability

NO_GPU = Availability(0, "there is no NVIDIA driver on this system")


@pytest.mark.parametrize(
    "cuda, ptx",
    [((13, 5), (9, 5)), ((13, 0), (9, 0)), ((12, 9), (8, 8)), ((12, 5), (8, 5)), ((11, 8), (7, 8))],
)
def test_what_a_release_reads(cuda: preflight.Version, ptx: preflight.Version) -> None:
    """As the table of releases in NVIDIA's description of PTX has it."""
    assert preflight.reads(cuda) == ptx


@pytest.mark.parametrize(
    "nvjitlink, driver, maker",
    [((13, 5), (13, 0), "nvJitLink"), ((13, 6), None, "nvJitLink"), (None, (13, 5), "the driver")],
)
def test_who_makes_machine_code(
    nvjitlink: preflight.Version | None, driver: preflight.Version | None, maker: str
) -> None:
    assert preflight.who_links((9, 5), nvjitlink, driver).endswith(
        f": {maker} makes the machine code"
    )


@pytest.mark.parametrize("nvjitlink, driver", [((13, 0), (13, 5)), (None, (13, 0)), (None, None)])
def test_an_older_linker_than_compiler_is_told_with_what_to_install(
    nvjitlink: preflight.Version | None, driver: preflight.Version | None
) -> None:
    """numba takes nvJitLink where there is one, also an older one than the driver."""
    with pytest.raises(
        Failed, match="NVVM writes PTX 9.5, .*pip install 'nvidia-nvjitlink>=13.5,<14'"
    ):
        preflight.who_links((9, 5), nvjitlink, driver)


def test_versions_that_are_here_are_told_and_older_ones_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        preflight.importlib.metadata,
        "version",
        {"numpy": "2.1", "numba": "0.61.2", "numba-cuda": "0.30"}.get,
    )
    assert preflight.versions().endswith("numpy 2.1, numba 0.61.2, numba-cuda 0.30")
    monkeypatch.setattr(
        preflight.importlib.metadata,
        "version",
        {"numpy": "2.1", "numba": "0.61.2", "numba-cuda": "0.9.1"}.get,
    )
    with pytest.raises(Failed, match="numba-cuda 0.9.1 is older than 0.30"):
        preflight.versions()


def test_without_a_gpu_it_ends_soon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preflight, "availability", lambda: NO_GPU)
    monkeypatch.setattr(preflight, "linking", lambda: "linked")
    assert doctor.main(["--gpu"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "launch    FAILED: there is no NVIDIA driver on this system"
    assert printed[-1].startswith("NOT READY: launch, driver. ") and not any(
        line.startswith("fork") for line in printed
    )


def test_a_program_that_fails_says_why() -> None:
    assert preflight.in_process("print('a')\nprint('b')") == "b"
    with pytest.raises(Failed, match="^ValueError: no$"):
        preflight.in_process("raise ValueError('no')")
    with pytest.raises(Failed, match="exit status 3"):
        preflight.in_process("raise SystemExit(3)")


@pytest.mark.gpu
def test_on_the_gpu_all_is_well() -> None:
    for trial in preflight.trials():
        if trial.needed:
            assert trial.run()
