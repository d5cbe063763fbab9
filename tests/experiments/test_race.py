"""The record of the race: each run once, and nothing of another target."""

from pathlib import Path

import pytest

from experiments.race import TRIED, record_races
from lessonkit.analysis import racing
from lessonkit.analysis.racing import FIXED
from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.data import corpora
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json

SMALL = {key: value for key, value in TINY.items() if key not in FIXED} | {"steps": "5"}


def test_what_is_tried_can_be() -> None:
    for settings in TRIED.values():
        assert not FIXED & settings.keys()
        find_recipe(racing.RECIPE).override(settings)


@pytest.mark.slow
def test_each_run_is_recorded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)
    monkeypatch.setattr(racing, "MEASURED", 2)
    file, lines = tmp_path / "race.json", []
    tried = {"small": SMALL, "shorter": SMALL | {"steps": "3"}}
    record_races(file, seeds=[2], tried={"small": SMALL}, on_line=lines.append)
    record_races(file, seeds=[2], tried=tried, on_line=lines.append)
    runs = read_json(file)["runs"]
    assert [(each["change"], each["seed"], each["steps"]) for each in runs] == [
        ("small", 2, 5),
        ("shorter", 2, 3),
    ]
    assert runs[1]["settings"]["steps"] == "3"
    assert {"commit", "hardware", "date"} <= runs[0]["origin"].keys()
    assert lines.count("small, seed 2") == 1
    write_json(file, read_json(file) | {"target": 7})
    with pytest.raises(UserError, match="has the target 7: remove it, or move it"):
        record_races(file)
