"""The page of the museum says what is recorded, and the record is of today's laws and faults."""

from typing import Any

import pytest

from attention_laws.laws import LAWS
from attention_laws.run_pipeline import PIPELINE_LAWS
from experiments import museum_table as table
from lessonkit.museum import SPECIMENS
from lessonkit.museum.specimen import RECORD, Specimen
from tests.helpers import ROOT
from transformer.support.files import read_json
from transformer.support.paths import results_folder

AGAIN = "run: python -m experiments museum"


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return dict(read_json(results_folder() / RECORD))


def test_the_page_is_what_the_record_says() -> None:
    written = (ROOT / "docs" / table.PAGE).read_text(encoding="utf-8")
    assert written == table.page(), "run: python -m experiments museum --page-alone"


def test_the_record_is_of_todays_laws_and_specimens(record: dict[str, Any]) -> None:
    names = [law.name for law in LAWS if not law.minute] + [law.name for law in PIPELINE_LAWS]
    assert record["laws"] == names, AGAIN
    assert list(record["specimens"]) == [each.name for each in SPECIMENS], AGAIN


def test_no_sound_configuration_breaks_a_law(record: dict[str, Any]) -> None:
    assert len(record["clean"]) > 10
    assert [each["broken"] for each in record["clean"]] == [[]] * len(record["clean"])


def test_most_specimens_are_caught(record: dict[str, Any]) -> None:
    caught = [name for name, seen in record["specimens"].items() if seen["broken"]]
    assert len(caught) >= 60


def test_every_specimen_is_on_the_page_once_with_its_laws_or_as_unseen() -> None:
    tables, _, rest = table.page().partition("## What no law sees")
    missed = rest.partition("## What each law catches")[0]
    for each in SPECIMENS:
        assert tables.count(f"\n| `{each.name}` |") == 1
        assert (f"\n- `{each.name}`:" in missed) == (not each.caught_by)


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
