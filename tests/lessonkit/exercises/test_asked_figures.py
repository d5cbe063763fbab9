"""The figures that a prediction's question states are those of the records."""

from statistics import mean
from typing import Any

from lessonkit.analysis.significance import margin_of_error
from lessonkit.records import load_runs, scores_by_variant
from tests.helpers.exercise_walk import PREDICTIONS
from transformer.support.files import read_json
from transformer.support.folders import results_folder


def record(name: str) -> Any:
    return read_json(results_folder() / f"{name}.json")


def bleu(name: str) -> int:
    return round(record(name)["figures"]["bleu"]["score"])


def runs(name: str) -> dict[str, float]:
    """The score of each variant by the paper's search."""
    found = record(f"experiments/{name}")["runs"]
    return {run["variant"]: run["figures"]["beam"]["bleu"]["score"] for run in found}


def states(name: str, *words: str) -> bool:
    return all(each in PREDICTIONS[name].question for each in words)


def test_german_to_english() -> None:
    of_all = load_runs("multi30k-de-en").items()
    seeds = {name: [run["figures"]["bleu"]["score"] for run in each] for name, each in of_all}
    assert states(
        "ablations_beyond_chance", f"{margin_of_error(seeds, runs=1):.1f} points", "Six ingredients"
    )
    captions = runs("captions")
    assert len(captions) == 7, "six ingredients, and all of them"
    assert states("whole_word_perplexity_rank", "second worst of the seven")
    assert sorted(captions, key=lambda name: captions[name])[1] == "whole words"
    negation = record("contrasts/de-en")["phenomena"]["negation"]
    assert states("negation_pairs_right", f"of {negation['pairs']} pairs")


def test_french_to_english() -> None:
    runs = load_runs("multi30k-de-en")["bfloat16"]
    german = mean(run["figures"]["bleu"]["score"] for run in runs)
    assert len(runs) == 5
    assert states("bleu_from_french_source", f"scores {german:.1f} BLEU", "five seeds, bfloat16")


def test_heads() -> None:
    whole = round(record("heads/demo-en-fr")["figures"]["whole"]["beam"])
    assert states("bleu_without_dull_head", f"model scores {whole} BLEU")
    assert states("bleu_without_encoder_heads", f"of the {whole} BLEU")


def test_before_transformers() -> None:
    with_attention = bleu("validation/homework-seq2seq-attention")
    mended = round(runs("homework")["mended"])
    said = f"scores {mended} BLEU", f"with attention {with_attention}."
    assert states("bleu_with_all_four_faults", *said)


def test_variations() -> None:
    greedy = scores_by_variant(record("experiments/table-3"), "greedy")
    assert len(scores_by_variant(record("experiments/table-3"))) == 18, (
        "the base, and seventeen rows"
    )
    assert states("rows_shown_to_differ", "Seventeen rows")
    base, narrow = (round(mean(greedy[variant])) for variant in ("base", "C: d_model 256"))
    assert states("wide_bleu_at_half_rate", f"base scores {base} BLEU", f"network {narrow}.")


def test_each_precision_has_five_runs() -> None:
    assert {len(each) for each in scores_by_variant(record("experiments/precision")).values()} == {
        5
    }
