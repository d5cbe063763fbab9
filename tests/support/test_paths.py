"""Where the course's own files lie, in a checkout and in an installed package."""

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
