"""The package works as an installed wheel, away from its checkout, as on Colab."""

import csv
import os
from pathlib import Path

import pytest

from engines.live_page import COPIED_MODEL_FILES
from lessonkit import records as results
from tests.helpers import ROOT, TINY, python, wheel
from transformer.models.folder import MANIFEST

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds nothing but the course and the laws, installed from their wheels."""
    made = [
        wheel(source, tmp_path_factory.mktemp("wheels"))
        for source in (ROOT, ROOT / "attention_laws")
    ]
    site = tmp_path_factory.mktemp("site")
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    python(*pip, "--no-deps", "--no-index", "--target", site, *made)
    return site


def run(site: Path, cwd: Path, *arguments: str, stdin: str = "") -> str:
    """Run the installed package in a folder of its own; return what it prints."""
    env = {**os.environ, "PYTHONPATH": str(site)}
    return python(*arguments, cwd=cwd, env=env, input=stdin).stdout


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["corpus", "models", "results"])
def test_the_data_travels_inside(name: str, site: Path) -> None:
    here = {file for file in files(ROOT / "data" / name) if not file.startswith("generator/")}
    assert here
    assert files(site / "transformer" / "_data" / name) == here


def test_neither_wheel_owns_a_file_of_the_other(site: Path) -> None:
    """So that each can be uninstalled alone."""
    owned = [
        {row[0] for row in csv.reader(record.read_text(encoding="utf-8").splitlines())}
        for record in site.glob("*.dist-info/RECORD")
    ]
    course, laws = owned
    assert course
    assert laws
    assert not course & laws


def test_the_licences_travel_inside(site: Path) -> None:
    (licences,) = site.glob("attention_course-*/licenses")
    assert files(licences) == {"LICENSE", "LICENSE-lessons", "NOTICE"}


def test_recorded_runs_are_read_from_the_wheel(site: Path, tmp_path: Path) -> None:
    code = (
        "import transformer.config as c; print(c.__file__)\n"
        "from lessonkit.records import load_result, describe_run\n"
        "load_result('text/multi30k')\n"
        "print(describe_run(load_result('demo')))"
    )
    used, said = run(site, tmp_path, "-c", code).splitlines()
    assert Path(used).is_relative_to(site)
    assert said == results.describe_run(results.load_result("demo"))


def test_demo_trains_and_translates_from_the_wheel(site: Path, tmp_path: Path) -> None:
    command = ("-m", "transformer")
    settings = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
    run(site, tmp_path, *command, "train", "demo", *settings, "--steps", "2", "--out", "runs/demo")
    sentences = "the dog sleeps .\n\nthe cat sees a house .\n"
    translated = run(site, tmp_path, *command, "translate", "runs/demo", stdin=sentences)
    lines = translated.split("\n")
    assert len(lines) == 4  # three translations, and the end of the last line
    assert lines[1] == ""  # an empty sentence has an empty translation


def test_the_live_page_is_written_from_the_wheel(site: Path, tmp_path: Path) -> None:
    run(site, tmp_path, "-m", "transformer", "page", "demo-en-fr", "--out", "page")
    course = {file for file in files(ROOT / "docs" / "live") if not file.startswith("words/")}
    model = {f"models/demo-en-fr/{name}" for name in (*COPIED_MODEL_FILES, MANIFEST)}
    assert files(tmp_path / "page") == course | model | {"LICENSE"}
    assert (tmp_path / "page" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_console_script_minds_no_transformer_of_the_learner(site: Path, tmp_path: Path) -> None:
    said = run(site, tmp_path, "-m", "transformer", "corpora", "list")
    (tmp_path / "transformer").mkdir()
    for name in ("transformer/__init__.py", "transformer.py"):
        (tmp_path / name).write_text("raise SystemExit('taken')", encoding="utf-8")
        script = site / "bin" / "attention-course"
        assert run(site, tmp_path, str(script), "corpora", "list") == said
