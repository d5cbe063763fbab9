"""Every claimed figure is what its record says, and a falsified record is caught."""

import copy
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from experiments import claim_evidence, claims
from lessonkit import records
from tests.helpers import ROOT


def test_every_claim_holds_and_every_figure_has_a_source() -> None:
    lines, problems = claims.check_claims(ROOT)
    assert not problems, "\n".join(problems)
    assert lines
    assert not claims.figures_without_source(ROOT)
    assert not claims.phrases_that_left_their_pages(ROOT)


@pytest.mark.parametrize(
    ("record", "place", "change", "caught"),
    [
        ("multi30k-de-en", "figures|bleu|score", 0.3, "42.20"),
        ("experiments/table-3", "runs|0|figures|beam|bleu|score", -9.0, "beam: significant"),
        ("experiments/faults", "runs|3|figures|beam|bleu|score", -9.0, "beam: significant"),
        ("heads/demo-en-fr", "figures|zero|heads|cross 1.1|beam", -4.0, "it says 2.8"),
    ],
)
def test_a_falsified_record_is_caught(
    monkeypatch: pytest.MonkeyPatch, record: str, place: str, change: float, caught: str
) -> None:
    real = records.load_result

    def load(name: str) -> dict[str, Any]:
        found = copy.deepcopy(real(name))
        if name == record:
            *path, last = place.split("|")
            value: Any = found
            for step in path:
                value = value[int(step) if step.isdigit() else step]
            value[last] += change
        return found

    monkeypatch.setattr(claim_evidence, "load_result", load)
    _, problems = claims.check_claims(ROOT)
    assert any(caught in problem for problem in problems), problems


def test_words_that_left_the_page_and_figures_without_a_source_are_told(tmp_path: Path) -> None:
    for part in ("docs", "notebooks"):
        shutil.copytree(ROOT / part, tmp_path / part)
    lesson = "notebooks/11_french_to_english_and_back.ipynb"  # its cells print 41.61
    others = (("README.md", "41.61 (40.84 to 42.38)", "3.43"), (lesson, "English 41.6", "1.6"))
    for page, said, other in others:
        text = (ROOT / page).read_text("utf-8")
        (tmp_path / page).write_text(text.replace(said, other), "utf-8")
    assert [problem.rpartition(" ")[2] for problem in claims.check_claims(tmp_path)[1]] == [
        "42.38)",
        "41.6",
    ]
    assert claims.figures_without_source(tmp_path) == ["README.md: 3.43", f"{lesson}: 1.6"]


def test_a_page_says_that_its_runs_are_of_several_versions(tmp_path: Path) -> None:
    for part in ("docs", "notebooks"):
        shutil.copytree(ROOT / part, tmp_path / part)
    readme, register = tmp_path / "README.md", tmp_path / "docs" / "claims.toml"
    words = "by two versions of the code"
    page, entries = (ROOT / "README.md").read_text("utf-8"), register.read_text("utf-8")
    readme.write_text(page.replace(words, ""), "utf-8")
    assert claims.check_claims(tmp_path)[1] == [
        f"README.md: README.md does not say what is pooled: {words}"
    ]
    readme.write_text(page, "utf-8")
    register.write_text(entries.replace(f'pooled = "{words}"\n', "", 1), "utf-8")
    (problem,) = claims.check_claims(tmp_path)[1]
    assert problem.startswith("README.md: it pools runs of 2 versions")


def test_a_figure_is_looked_for_beside_its_own_cell(tmp_path: Path) -> None:
    """A number that a lesson prints elsewhere is no source, unless claims.toml names its words."""
    for part in ("docs", "notebooks"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "README.md", tmp_path)
    lesson, register = "notebooks/99_short.ipynb", tmp_path / "docs" / "claims.toml"
    prose = ["We measured 0.37 below.", *"abc", "Above it was 0.37, not 0.38."]
    cells = [nbformat.v4.new_markdown_cell(text) for text in prose]
    printed = nbformat.v4.new_output("stream", text="0.37\n")
    cells.insert(1, nbformat.v4.new_code_cell("print(share)", outputs=[printed]))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / lesson)
    far = {f"{lesson}: 0.37", f"{lesson}: 0.38"}
    assert set(claims.figures_without_source(tmp_path)) == far

    entry = '\n[[elsewhere]]\nwhy = "above"\non = ["{}"]\nsays = ["it was 0.37{}"]\n'
    known = register.read_text("utf-8")
    # Words that are named have their figures in some cell all the same.
    for more_words in ("", ", not 0.38"):
        register.write_text(known + entry.format(lesson, more_words), "utf-8")
        assert claims.figures_without_source(tmp_path) == [f"{lesson}: 0.38"]
    register.write_text(known + entry.format(lesson, " and more"), "utf-8")
    assert claims.phrases_that_left_their_pages(tmp_path) == ["above: it was 0.37 and more"]
