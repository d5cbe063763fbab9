"""The experiment on what came after 2017: its tables, its family of comparisons, what it costs."""

import statistics
from typing import Any

import pytest
import torch
from scipy import stats

from experiments import modern_table
from experiments.bench import modern
from experiments.modern_table import (
    ALL_TOGETHER,
    COMPARISONS,
    DECODER_ONLY,
    PAPER,
    comparisons_table,
    costs_table,
    scores_table,
)
from lessonkit.analysis.significance import ConfidenceInterval
from lessonkit.analysis.variant_comparison import compare_variants, family_verdict
from tests.helpers.corpus import small_corpus
from transformer.attention import KeyValueCache
from transformer.data import corpora
from transformer.decoder_only import DecoderOnlyCache
from transformer.model import DecoderCache


def run(variant: str, seed: int, bleu: float, loss: float) -> dict[str, Any]:
    test = {"bleu": {"score": bleu}, "chrf++": {"score": 90.0}, "loss": loss, "perplexity": 1.5}
    return {"variant": variant, "seed": seed, "figures": {"test": test}}


PAPERS = [run(PAPER, seed, bleu, 0.3) for seed, bleu in ((1, 60.0), (2, 61.0), (3, 62.0))]


def test_a_comparison_is_welchs_adjusted_for_the_whole_family() -> None:
    """All 18 count, those that were not run yet with the largest p-value."""
    others = [run(ALL_TOGETHER, n, bleu, 0.3) for n, bleu in enumerate((71.0, 72.5, 73.0), 1)]
    found = compare_variants([*PAPERS, *others], COMPARISONS)
    assert set(found) == {(ALL_TOGETHER, PAPER, "BLEU"), (ALL_TOGETHER, PAPER, "loss")}
    bleu = found[ALL_TOGETHER, PAPER, "BLEU"]
    by_scipy = stats.ttest_ind([71.0, 72.5, 73.0], [60.0, 61.0, 62.0], equal_var=False)
    assert bleu.difference == pytest.approx(statistics.mean((71, 72.5, 73)) - 61)
    assert bleu.p_value == pytest.approx(18 * by_scipy.pvalue)
    assert bleu.interval == pytest.approx(tuple(by_scipy.confidence_interval()))
    assert bleu.verdict == "higher"
    same = found[ALL_TOGETHER, PAPER, "loss"]
    assert (same.p_value, same.verdict) == (1.0, "no difference")


def test_an_interval_beside_zero_shows_nothing_without_its_p_value() -> None:
    for low, high, p_value, verdict in (
        (0.1, 3.0, 0.06, "not shown"),
        (0.1, 3.0, 0.05, "higher"),
        (-3.0, -0.1, 0.01, "lower"),
        (-0.9, 0.9, 0.4, "no difference"),
        (0.1, 0.9, 0.06, "no difference"),
        (-1.1, 0.9, 0.4, "not shown"),
    ):
        assert family_verdict(ConfidenceInterval(low, high), p_value, worth=1.0) == verdict


def test_the_tables_have_what_was_run_and_say_what_was_not() -> None:
    runs = [*PAPERS, run(DECODER_ONLY, 2, 55.5, 0.7)]
    _, _, first, *_, last = scores_table(runs).splitlines()
    # The mean's interval: 61 plus and minus 4.303 / sqrt(3).
    assert first.startswith("| the paper's | 1, 2, 3 | 61.00 (58.52 to 63.48) | 90.00 (90.00 to")
    assert last == "| decoder-only | 2 | 55.50 | 90.00 | 1.500 | 0.7000 |"
    assert comparisons_table(runs).count(modern_table.TOO_FEW) == 18
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
