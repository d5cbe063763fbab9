"""The page of the museum says what is recorded, and the record is of today's laws and faults."""

from typing import Any

import pytest

from attention_laws.laws import LAWS, PIPELINE_LAWS
from experiments import museum_table as table
from lessonkit.museum import SPECIMENS
from lessonkit.museum.specimen import RECORD, Specimen
from tests.helpers import ROOT
from tests.lessonkit.museum.test_trained_table import runs_of
from transformer.support.files import read_json, results_folder

AGAIN = "run: python -m experiments museum"


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return dict(read_json(results_folder() / RECORD))


def test_the_page_is_what_the_record_says() -> None:
    written = (ROOT / "docs" / table.PAGE).read_text(encoding="utf-8")
    for mark, text in table.tables().items():
        again = "run: python -m experiments museum --page-alone"
        assert f"<!-- {mark} -->\n{text}\n<!-- /{mark} -->" in written, again


def test_the_record_is_of_todays_laws_and_specimens(record: dict[str, Any]) -> None:
    names = [law.name for law in LAWS if not law.minute] + [law.name for law in PIPELINE_LAWS]
    assert record["laws"] == names, AGAIN
    assert list(record["specimens"]) == [each.name for each in SPECIMENS], AGAIN


@pytest.mark.slow
def test_a_record_is_made_of_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CLEAN", 1)
    lines: list[str] = []
    chosen: list[Specimen] = [
        each for each in SPECIMENS if each.name in ("scale_doubled", "score_exchanged")
    ]
    made = table.make_record(chosen, on_line=lines.append)
    assert made["specimens"]["scale_doubled"] == {"broken": [], "warned": []}
    assert made["specimens"]["score_exchanged"]["broken"] == ["in_their_places"]
    assert len(made["clean"]) == 2
    assert lines[-2:] == ["scale_doubled: no law sees this", "score_exchanged: in_their_places"]


def test_the_table_counts_what_it_shows() -> None:
    runs = {
        "sound": runs_of(80.0, 81.0, 82.0),
        "shift_missing": runs_of(0.0, 0.1, 0.2, perplexity=None),
        "relu_missing": runs_of(80.0, 81.0, 82.5, perplexity=4321.0),
    }
    broken = {"shift_missing": ["shifted_by_one"], "relu_missing": []}
    said, _, _, _, *rows = table.trained_table(runs, broken).splitlines()
    assert "2 were trained beside the sound model, 3 seeds each" in said
    assert "Of 1 of them no score tells, and a law is broken by 0 of these" in said
    assert rows[0] == "| the sound model | 81.0 | 1.25 | 0.50 |  |  |"
    assert rows[1].startswith("| `relu_missing` | 81.2 (")
    assert rows[1].endswith("| 4,321 | 0.50 | no | none |")
    assert rows[2].endswith("| none | 0.50 | yes | `shifted_by_one` |")
