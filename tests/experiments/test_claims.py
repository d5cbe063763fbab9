"""Every claimed figure is what its record says, and a falsified record is caught."""

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiments import claim_evidence, claims
from lessonkit import records
from tests.helpers import ROOT


def test_every_claim_holds_and_every_figure_has_a_source() -> None:
    lines, problems = claims.check_claims(ROOT)
    assert not problems, "\n".join(problems)
    assert lines
    assert not claims.figures_without_source(ROOT)


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
    lesson = "notebooks/09_french_to_english_and_back.ipynb"  # its cells print 41.61
    others = (("README.md", "scores 42.43", "3.43"), (lesson, "English 41.6", "1.6"))
    for page, said, other in others:
        text = (ROOT / page).read_text("utf-8")
        (tmp_path / page).write_text(text.replace(said, other), "utf-8")
    assert [problem.rpartition(" ")[2] for problem in claims.check_claims(tmp_path)[1]] == [
        "42.43",
        "41.6",
    ]
    assert claims.figures_without_source(tmp_path) == ["README.md: 3.43", f"{lesson}: 1.6"]
