"""The ledger of claims: every figure is what its record says, and a falsified record is caught."""

import copy
from pathlib import Path
from typing import Any

import pytest

from experiments import claims
from lessonkit import records
from tests.helpers import ROOT


def test_no_claim_has_turned() -> None:
    lines, turned = claims.check(ROOT)
    assert not turned, "\n".join(turned)
    assert len(lines) > 30


def test_every_figure_has_a_source() -> None:
    assert not claims.without_source(ROOT)


@pytest.mark.parametrize(
    ("record", "place", "change", "caught"),
    [
        ("multi30k-de-en", "figures|bleu|score", 0.3, "42.20"),
        ("experiments/table-3", "runs|0|figures|beam|bleu|score", -9.0, "beam: shown"),
        ("experiments/faults", "runs|3|figures|beam|bleu|score", -9.0, "beam: shown"),
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

    monkeypatch.setattr(claims, "load_result", load)
    turned = claims.check(ROOT)[1]
    assert any(caught in each for each in turned), turned


def test_words_that_left_the_page_and_figures_without_a_source_are_told(tmp_path: Path) -> None:
    for part in ("docs", "notebooks"):
        (tmp_path / part).symlink_to(ROOT / part)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(readme.replace("has 42.43", "has 43.43"), encoding="utf-8")
    [turned] = claims.check(tmp_path)[1]
    assert turned == "README.md: README.md does not say: `multi30k-de-en` has 42.43"
    assert claims.without_source(tmp_path) == ["README.md: 43.43"]
