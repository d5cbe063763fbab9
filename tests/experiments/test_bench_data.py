"""From text to batches, and a run's starts: the pairs of both, and a small measurement of all."""

import re
from pathlib import Path

import pytest
import torch

from experiments.bench import data, starts
from transformer.data.parallel import ParallelText


def test_recombined_pairs_are_halves_of_captions() -> None:
    captions = ParallelText("de", "en", ["a b c", "d e f g"], ["1 2", "3 4 5 6 7"])
    pairs = data.recombined_pairs(captions, 97)
    first, second = {"a": "1", "d e": "3 4"}, {"b c": "2", "f g": "5 6 7"}
    made = {(f"{a} {c}", f"{first[a]} {second[c]}") for a in first for c in second}
    assert set(pairs) == made
    assert len(pairs) == 97


@pytest.mark.weekly
def test_every_stage_is_measured_and_shown(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    threads = torch.get_num_threads()
    figures = data.measure_text_to_batches(500, 100)
    assert torch.get_num_threads() == threads
    assert figures["vocabulary"]["same_merges"]
    assert figures["encoding"]["same_ids"]
    table = data.data_tables(figures | {"hardware": "a chip", "date": "2017-06-12"})
    assert table.startswith("a chip, 2017-06-12, 500 pairs, ")
    assert re.search(r"\| examples, bytes a token \| 2\.\d\d \|", table)


@pytest.mark.weekly
def test_a_run_that_is_killed_and_resumed_ends_with_equal_weights(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    figures = starts.measure_starts(700)
    assert figures["equal_weights"]
    begun = {name: start["epoch"] for name, start in figures["starts"].items()}
    assert begun["first"] == begun["second"] == 1
    # It goes on in a later epoch from the last checkpoint.
    assert begun["resumed"] > 1
    table = starts.starts_table(figures | {"hardware": "a chip", "date": "2017-06-12"})
    assert table.startswith("a chip, 2017-06-12, 700 pairs; ")
