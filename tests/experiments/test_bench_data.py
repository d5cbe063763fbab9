"""From text to batches: the pairs that are measured on, and a small measurement of all."""

import re
from pathlib import Path

import pytest
import torch

from experiments.bench import data
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
    assert set(figures["starts"]) == {"first", "second", "resumed"}
    table = data.data_tables(figures | {"hardware": "a chip", "date": "2017-06-12"})
    assert table.startswith("a chip, 2017-06-12, 500 pairs, ")
    assert re.search(r"\| examples, bytes a token \| 2\.\d\d \|", table)
