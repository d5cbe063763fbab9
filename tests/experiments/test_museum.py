"""The museum's page and record; specimens are trained, measured and recorded once."""

from pathlib import Path
from typing import Any

import pytest

from attention_laws.laws import LAWS, PIPELINE_LAWS
from experiments import museum_table as table
from experiments import museum_training as train
from lessonkit.museum import SPECIMENS
from lessonkit.museum.specimen import RECORD
from tests.helpers import ROOT, TINY
from transformer.data import corpora, tokenizers
from transformer.data.batches import encode_pairs
from transformer.data.parallel import ParallelText
from transformer.recipes import find_recipe
from transformer.support.errors import UserError
from transformer.support.files import read_json, results_folder


def test_page_and_record_are_of_todays_laws_and_specimens() -> None:
    written = (ROOT / "docs" / table.PAGE).read_text(encoding="utf-8")
    for mark, text in table.tables().items():
        place = f"<!-- {mark} -->\n{text}\n<!-- /{mark} -->"
        assert place in written, "run: python -m experiments museum --page-alone"
    record = read_json(results_folder() / RECORD)
    names = [law.name for law in LAWS if not law.minute] + [law.name for law in PIPELINE_LAWS]
    assert record["laws"] == names, "run: python -m experiments museum"
    assert list(record["specimens"]) == [each.name for each in SPECIMENS]


def runs_of(*bleu: float, perplexity: float | None = 1.25) -> list[dict[str, Any]]:
    return [
        {"seed": seed, "bleu": {"score": score}, "perplexity": perplexity, "curve": [[400, 0.5]]}
        for seed, score in enumerate(bleu, start=1)
    ]


def test_a_fault_of_the_search_is_compared_seed_by_seed_and_one_seed_tells_nothing() -> None:
    lower = runs_of(78.9, 83.0, 87.1)
    runs = {"sound": runs_of(80.0, 84.0, 88.0), "cache_not_reordered": lower, "relu_missing": lower}
    # The same three scores: one point less by the same weights, or two means of a wide spread.
    interval = table.against_sound("cache_not_reordered", runs)
    # Differences -1.1, -1.0, -0.9: deviation 0.1, so 4.303 * 0.1 / sqrt(3) to either side.
    assert interval == pytest.approx((-1.2484, -0.7516), abs=1e-4)
    assert table.told_by_score("cache_not_reordered", runs)
    assert not table.told_by_score("relu_missing", runs)
    runs = {"sound": runs_of(80.0), "relu_missing": runs_of(0.0)}
    assert table.against_sound("relu_missing", runs) is None
    assert not table.told_by_score("relu_missing", runs)


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


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few sentences, a tiny network, four steps."""
    recipe = find_recipe("demo").override(TINY)
    text = corpora.load("embedded", "train", "en", "fr")
    few = ParallelText(src_lang="en", tgt_lang="fr", src=text.src[:80], tgt=text.tgt[:80])
    held_out = ParallelText(src_lang="en", tgt_lang="fr", src=text.src[80:87], tgt=text.tgt[80:87])
    sides = tokenizers.train(recipe.data, few.src, few.tgt)
    examples = [encode_pairs(*sides, each, 60) for each in (few, held_out)]
    made = train.Text(recipe, sides[1], examples[0], held_out, examples[1])
    monkeypatch.setattr(train, "text", lambda: made)
    monkeypatch.setattr(train, "STEPS", 4)
    monkeypatch.setattr(train, "REPORT_EVERY", 2)
    train._sound_weights.cache_clear()


def test_a_record_has_the_curve_and_the_figures(small: None, tmp_path: Path) -> None:
    names = ["sound", "inverted_in_translation", "loss_over_padding"]
    lines: list[str] = []
    train.train_museum(tmp_path, seeds=[1], only=names, on_line=lines.append)
    assert [line.split(":")[1] for line in lines] == [f" {name}, seed 1" for name in names]
    records = [read_json(tmp_path / f"{name}.json") for name in names]
    assert [(each["specimen"], each["budget"]["steps"]) for each in records] == [
        (name, 4) for name in names
    ]
    sound, search, loss = (each["runs"][0] for each in records)
    for run in (sound, search, loss):
        assert [step for step, _ in run["curve"]] == [2, 4]
        assert all(4 < loss < 9 for _, loss in run["curve"])
        assert run["perplexity"] > 100
        assert 0 <= run["bleu"]["score"] < 20
        assert run["provenance"]["commit"]
    assert search["curve"] == sound["curve"] != loss["curve"]  # the fault is of the search alone
    assert search["perplexity"] == sound["perplexity"]


def test_what_is_recorded_is_not_made_again(small: None, tmp_path: Path) -> None:
    train.train_museum(tmp_path, seeds=[1], only=["sound"], on_line=lambda line: None)
    before = read_json(tmp_path / "sound.json")
    lines: list[str] = []
    train.train_museum(tmp_path, seeds=[1, 2], only=["sound"], on_line=lines.append)
    after = read_json(tmp_path / "sound.json")
    assert after["runs"][0] == before["runs"][0]
    assert [run["seed"] for run in after["runs"]] == [1, 2]
    assert len(lines) == 1


def test_a_weight_that_is_no_number_is_measured_too_and_what_does_not_train_refused(
    small: None, tmp_path: Path
) -> None:
    assert [train.perplexity(loss) for loss in (float("nan"), 200.0, 0.0)] == [None, None, 1.0]
    run = train.one_run(train.trained()["rate_too_high"], 1)
    assert len(run["curve"]) == 2
    with pytest.raises(UserError, match="unknown specimen 'one_ahead'"):
        train.train_museum(tmp_path, seeds=[1], only=["one_ahead"])
    assert not list(tmp_path.iterdir())
