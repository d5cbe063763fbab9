"""Where the course's own files lie."""

from pathlib import Path

import pytest

from tests.helpers import ROOT
from transformer.support import folders
from transformer.support.errors import UserError

INSIDE = {
    "corpus": folders.embedded_corpus_folder,
    "models": folders.models_folder,
    "results": folders.results_folder,
}


def test_here_it_is_the_checkout_of_these_tests_and_in_a_wheel_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folders.checkout_root() == folders.require_checkout_root() == ROOT
    assert folders.cache_folder() == ROOT / "data" / "cache"
    assert "data/cache/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    for name, folder in INSIDE.items():
        assert folder() == ROOT / "data" / name
    package = tmp_path / "site-packages" / "transformer"  # as a wheel leaves it
    monkeypatch.setattr(folders, "PACKAGE_FOLDER", package)
    for name, folder in INSIDE.items():
        assert folder() == package / "_data" / name
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert folders.cache_folder() == Path("/somewhere/cache/attention-course")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folders.cache_folder() == Path.home() / ".cache" / "attention-course"
    with pytest.raises(UserError, match=f"{package} is .*clone the repository"):
        folders.require_checkout_root()
