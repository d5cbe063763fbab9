"""Each law is a test of its own in somebody's pytest."""

import shutil
from pathlib import Path

import pytest

from tests.helpers import ROOT, python

pytestmark = pytest.mark.slow
BARE = """
from attention_laws import make_law_tests
from sound import make_model
names = ["logits_have_expected_shape", "decoder_is_causal", "all_padding_source_is_harmless"]
test_laws = make_law_tests(make_model, only=[*names, "cached_decoding_matches_forward"])
"""
NAMED = """
from attention_laws import Adapter, make_law_tests
from sound import make_adapter, make_model

def leaks():
    sound = make_adapter()
    return sound.replace(forward=lambda src, tgt: sound.forward(src, tgt.flip(1)).flip(1))

test_leaks = make_law_tests(leaks, only=["logits_have_expected_shape", "decoder_is_causal"])
test_strict = make_law_tests(make_model, only=["all_padding_source_is_harmless"], strict=True)
test_accepted = make_law_tests(leaks, only=["decoder_is_causal"], baseline="accepted.txt")
"""


def pytest_lines(folder: Path, *arguments: str, status: int = 1) -> list[str]:
    """Return the lines that pytest prints; it finds the plugin by its entry point."""
    options = ("-v", "-p", "no:cacheprovider", *arguments)
    done = python("-m", "pytest", *options, cwd=folder, status=status)
    return [line.split("  ")[0] for line in done.stdout.splitlines()]


def test_laws_are_tests_with_names(tmp_path: Path) -> None:
    shutil.copy(ROOT / "experiments" / "laws" / "sound_model.py", tmp_path / "sound.py")
    (tmp_path / "test_bare.py").write_text(BARE, encoding="utf-8")
    (tmp_path / "test_named.py").write_text(NAMED, encoding="utf-8")
    (tmp_path / "accepted.txt").write_text("decoder_is_causal: the old decoder\n", encoding="utf-8")
    said = pytest_lines(tmp_path)
    for line in (
        "test_bare.py::test_laws[logits_have_expected_shape] PASSED",
        "test_bare.py::test_laws[decoder_is_causal] PASSED",
        "test_bare.py::test_laws[all_padding_source_is_harmless] PASSED",
        "test_named.py::test_leaks[decoder_is_causal] FAILED",
        "test_named.py::test_strict[all_padding_source_is_harmless] FAILED",
        "A later target token changes nothing at an earlier position.",
    ):
        assert line in said, said
    for skipped in (
        "bare.py::test_laws[cached_decoding_matches_forward]",
        "named.py::test_accepted[decoder_is_causal]",
    ):
        assert any(line.startswith(f"test_{skipped} SKIPPED") for line in said)


@pytest.mark.weekly
def test_a_line_of_configuration_names_the_factory(tmp_path: Path) -> None:
    shutil.copy(ROOT / "experiments" / "laws" / "sound_model.py", tmp_path / "sound.py")
    lines = "[pytest]\nattention_laws = sound:make_model\nattention_laws_strict = true\n"
    (tmp_path / "pytest.ini").write_text(lines, encoding="utf-8")
    names = "decoder_is_causal or all_padding_source_is_harmless or logits_are_finite_in_float16"
    said = pytest_lines(tmp_path, "-k", names)
    assert "attention_laws::decoder_is_causal PASSED" in said
    assert "attention_laws::all_padding_source_is_harmless FAILED" in said
    (tmp_path / "pytest.ini").write_text("[pytest]\nattention_laws = nowhere\n", encoding="utf-8")
    assert not any("PASSED" in line for line in pytest_lines(tmp_path, status=4))
