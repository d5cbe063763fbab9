"""The experiment on what came after 2017: its tables, and what it costs."""

from typing import Any

import pytest
import torch

from experiments import modern_table
from experiments.bench import modern
from experiments.modern_table import (
    ALL_TOGETHER,
    DECODER_ONLY,
    PAPER,
    comparisons_table,
    costs_table,
    scores_table,
)
from tests.helpers.corpus import small_corpus
from transformer.attention import KeyValueCache
from transformer.data import corpora
from transformer.decoder_only import DecoderOnlyCache
from transformer.model import DecoderCache


def run(variant: str, seed: int, bleu: float, loss: float) -> dict[str, Any]:
    test = {"bleu": {"score": bleu}, "chrf++": {"score": 90.0}, "loss": loss, "perplexity": 1.5}
    return {"variant": variant, "seed": seed, "figures": {"test": test}}


PAPERS = [run(PAPER, seed, bleu, 0.3) for seed, bleu in ((1, 60.0), (2, 61.0), (3, 62.0))]


def test_the_tables_have_what_was_run_and_say_what_was_not() -> None:
    runs = [*PAPERS, run(DECODER_ONLY, 2, 55.5, 0.7)]
    _, _, first, *_, last = scores_table(runs).splitlines()
    # The mean's interval: 61 plus and minus 4.303 / sqrt(3).
    assert first.startswith("| the paper's | 1, 2, 3 | 61.00 (58.52 to 63.48) | 90.00 (90.00 to")
    assert last == "| decoder-only | 2 | 55.50 | 90.00 | 1.500 | 0.7000 |"
    assert comparisons_table(runs).count(modern_table.TOO_FEW) == 18
    above = [run(ALL_TOGETHER, seed, 90.0 + seed, 0.3) for seed in (1, 2, 3)]
    assert "| all together, to the paper's | +31.00 (+28.73 to +33.27) | < 0.001 | higher |" in (
        comparisons_table([*PAPERS, *above])
    )
    assert scores_table([]).startswith(modern_table.NO_RUNS)
    assert modern_table.NO_RUNS not in scores_table(runs)


@pytest.mark.slow
def test_costs_are_measured_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("NUM_TIMED_ROUNDS", 1), ("NUM_SENTENCES", 3), ("TOKENS_A_SIDE", 5)):
        monkeypatch.setattr(modern, name, value)
    monkeypatch.setattr(corpora, "load", small_corpus)
    figures = modern.measure_variants()
    paper, grouped = (figures["variants"][name] for name in (PAPER, "grouped queries"))
    assert paper["step"]["times"] == paper["sentence"]["times"] == 1
    # 2 layers, keys and values of 64 numbers of 4 bytes, of the target and of the source.
    assert paper["cache_bytes_per_token"] == 2 * 2 * 64 * 4
    assert grouped["cache_bytes_per_token"] == paper["cache_bytes_per_token"] / 2
    text = costs_table(figures | {"hardware": "an abacus", "torch": "2", "date": "2017-06-12"})
    assert len(text.splitlines()) == 2 + 2 + len(modern.EXPERIMENT.variants)


def test_the_bytes_of_a_cache() -> None:
    paired, single = DecoderCache(1), DecoderOnlyCache(1)
    caches: list[KeyValueCache] = [*paired.layers[0], *single.layers]
    for cache in caches:
        cache.append(torch.zeros(2, 3, 5, 7), torch.zeros(2, 3, 5, 11, dtype=torch.bfloat16))
    each = 2 * 3 * 5 * (7 * 4 + 11 * 2)
    assert (modern.cache_bytes(paired), modern.cache_bytes(single)) == (2 * each, each)
