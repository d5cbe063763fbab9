"""Where the course's own files lie, in a checkout and in an installed package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT
from transformer.support import paths
from transformer.support.errors import UserError

Patch = pytest.MonkeyPatch
INSIDE = {
    "corpus": paths.corpus_folder,
    "models": paths.models_folder,
    "results": paths.results_folder,
}


def test_here_it_is_the_checkout_of_these_tests() -> None:
    assert paths.PACKAGE == ROOT / "transformer"
    assert paths.checkout() == paths.require_checkout() == ROOT
    for name, folder in INSIDE.items():
        assert folder() == ROOT / "data" / name
    assert paths.cache_folder() == ROOT / "data" / "cache"


def test_an_installed_package_has_its_data_inside_and_the_users_cache(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    package = tmp_path / "site-packages" / "transformer"  # as a wheel leaves it
    monkeypatch.setattr(paths, "PACKAGE", package)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    for name, folder in INSIDE.items():
        assert folder() == package / "_data" / name
    assert paths.cache_folder().name == "attention-course"
    assert not paths.cache_folder().is_relative_to(package.parent)
    with pytest.raises(UserError, match=f"{package} is .*clone the repository"):
        paths.require_checkout()


def test_a_run_has_a_new_folder_each_time_or_the_same_one(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv(paths.RUNS, "")
    first, second = paths.run_folder("lesson"), paths.run_folder("lesson")
    assert first.name == second.name == "lesson"
    assert first != second
    for folder in (first, second):
        folder.parent.rmdir()  # which is there, and empty
    monkeypatch.setenv(paths.RUNS, str(tmp_path))
    assert paths.run_folder("lesson") == paths.run_folder("lesson") == tmp_path / "lesson"


@pytest.mark.parametrize("kept", [True, False])
def test_a_temporary_run_is_removed_when_its_process_ends(tmp_path: Path, kept: bool) -> None:
    program = (
        "from transformer.support.paths import run_folder\n"
        "folder = run_folder('lesson')\n"
        "folder.mkdir(parents=True)\n"
        "(folder / 'model.safetensors').write_bytes(b'')\n"
        "print(folder)\n"
    )
    asked = {paths.RUNS: str(tmp_path / "kept") if kept else "", "TMPDIR": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | asked, capture_output=True, check=True
    ).stdout.decode()
    assert Path(said.strip()).is_relative_to(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == (["kept"] if kept else [])
