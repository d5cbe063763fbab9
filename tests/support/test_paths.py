"""Where the course's own files lie, in a checkout and in an installed package."""

import os
import subprocess
import sys
from collections.abc import Callable
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
NAMES = list(INSIDE)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Another checkout, of which the package is part."""
    root = tmp_path / "course"
    (root / "transformer").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    monkeypatch.setattr(paths, "PACKAGE", root / "transformer")
    return root


@pytest.fixture
def package(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The package as an installed wheel leaves it, with nothing of ours beside it."""
    folder = tmp_path / "site-packages" / "transformer"
    folder.mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", folder)
    return folder


def test_here_it_is_the_checkout_of_these_tests() -> None:
    assert paths.PACKAGE == ROOT / "transformer"
    assert paths.checkout() == paths.require_checkout() == ROOT
    for name, folder in INSIDE.items():
        assert folder() == ROOT / "data" / name
    assert paths.figures_folder() == ROOT / "figures"
    assert paths.cache_folder() == ROOT / "data" / "cache"


@pytest.mark.parametrize("name", NAMES)
def test_a_checkout_has_its_data_beside_the_package(name: str, checkout: Path) -> None:
    (checkout / "data" / name).mkdir(parents=True)
    assert INSIDE[name]() == checkout / "data" / name


def test_a_checkout_has_its_own_cache(checkout: Path) -> None:
    assert paths.cache_folder() == checkout / "data" / "cache"
    assert paths.figures_folder() == checkout / "figures"


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_package_has_its_data_inside(name: str, package: Path) -> None:
    assert paths.checkout() is None
    (package / "_data" / name).mkdir(parents=True)
    assert INSIDE[name]() == package / "_data" / name


def test_an_installed_package_has_the_users_cache(package: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    folder = paths.cache_folder()
    assert folder.name == "attention-course"
    assert not folder.is_relative_to(package.parent)


@pytest.mark.parametrize("folder", [paths.require_checkout, paths.figures_folder])
def test_what_is_made_needs_a_checkout(folder: Callable[[], Path], package: Path) -> None:
    with pytest.raises(UserError, match="clone the repository") as told:
        folder()
    assert str(package) in str(told.value)


@pytest.mark.parametrize("name", ["corpus", "results"])
def test_a_missing_folder_is_named_with_the_remedy(name: str, checkout: Path) -> None:
    with pytest.raises(UserError, match="get it again with git checkout, or install again") as told:
        INSIDE[name]()
    assert str(checkout / "data" / name) in str(told.value)


def test_without_shipped_models_there_are_none(checkout: Path) -> None:
    assert not paths.models_folder().exists()


def test_a_run_has_a_new_folder_each_time_or_the_same_one(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv(paths.RUNS, "")
    first, second = paths.run_folder("lesson"), paths.run_folder("lesson")
    assert first.name == second.name == "lesson"
    assert first != second
    for folder in (first, second):
        assert folder.parent.is_dir()
        folder.parent.rmdir()
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
