"""How tests of a difference in BLEU fare where the truth is known: size, power and coverage.

Not in the paper. Two systems on a large text are a population, whose BLEU is known. Test sets are
drawn from it again and again, and every test of lesson 09's question is asked about each:

- *size*: how often a test finds a difference between two systems that are equally good. A
  calibrated test is below 0.05 in 5 of 100 cases, and above 0.5 in half of them.
- *power*: how often it finds one that is there.
- *coverage*: how often a 95% interval holds the population's own figure.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sacrebleu.significance import estimate_ci
from tqdm import tqdm

from experiments.bleu_populations import (
    Population,
    real_populations,
    simulated_populations,
)
from experiments.tables import markdown_table
from lessonkit.analysis.bleu_comparison import (
    NUM_RESAMPLES,
    BleuCounts,
    BleuScores,
    approximate_randomization_p_value,
    bleu_difference,
    resampled_bleu,
)
from transformer.support.files import write_json
from transformer.support.provenance import provenance

NUM_TEST_SETS = 500
TEST_SET_SIZES = (100, 300)  # sentences
NUM_EXCHANGES = 2000  # of approximate randomization; the course itself takes more
DRAWING_SEED = 53  # of the test sets


class ResampledTestSet(NamedTuple):
    """A test set, drawn, and the BLEU of its bootstrap resamples."""

    first_counts: BleuCounts
    second_counts: BleuCounts
    difference: float  # BLEU of the second less BLEU of the first
    first_scores: BleuScores  # of the resamples
    second_scores: BleuScores
    seed: int

    @property
    def differences(self) -> BleuScores:
        """Return how far the second is ahead in each resample."""
        return self.second_scores - self.first_scores


def bootstrap_test_set_scores(
    first_counts: BleuCounts, second_counts: BleuCounts, seed: int
) -> ResampledTestSet:
    """Compute what all tests and intervals of one test set need."""
    return ResampledTestSet(
        first_counts,
        second_counts,
        difference=bleu_difference(first_counts, second_counts),
        first_scores=resampled_bleu(first_counts, seed=seed),
        second_scores=resampled_bleu(second_counts, seed=seed),
        seed=seed,
    )


def sacrebleu_p_value(drawn: ResampledTestSet) -> float:
    """Return the p-value of sacreBLEU's paired bootstrap (`PairedTest`, test_type="bs")."""
    return _share_with_one_more(_sacrebleu_centred_distances(drawn) > abs(drawn.difference))


def sacrebleu_p_value_with_ties(drawn: ResampledTestSet) -> float:
    """Return it with draws counted that are just as far: right for identical systems."""
    return _share_with_one_more(_sacrebleu_centred_distances(drawn) >= abs(drawn.difference))


def _sacrebleu_centred_distances(drawn: ResampledTestSet) -> NDArray[np.float64]:
    """Return the distances between the systems in the resamples, less their mean."""
    distances = np.abs(drawn.differences)
    return distances - distances.mean()


def centred_p_value(drawn: ResampledTestSet) -> float:
    """Return the p-value of a bootstrap whose differences are centred on the measured one."""
    distances = np.abs(drawn.differences - drawn.difference)
    return _share_with_one_more(distances >= abs(drawn.difference))


def percentile_p_value(drawn: ResampledTestSet) -> float:
    """Return twice the share of resamples on the rarer side of 0."""
    above = int((drawn.differences > 0).sum())
    rarer = min(above, len(drawn.differences) - above)
    return min(1.0, 2 * (rarer + 1) / (len(drawn.differences) + 1))


def randomization_p_value(drawn: ResampledTestSet) -> float:
    """Return the p-value that the course takes."""
    counts = drawn.first_counts, drawn.second_counts
    return approximate_randomization_p_value(*counts, NUM_EXCHANGES, drawn.seed)


def _share_with_one_more(is_as_far: NDArray[np.bool_]) -> float:
    return float((is_as_far.sum() + 1) / (len(is_as_far) + 1))


P_VALUE_FUNCTIONS_BY_TEST: Mapping[str, Callable[[ResampledTestSet], float]] = {
    "sacreBLEU's paired bootstrap": sacrebleu_p_value,
    "the same, with ties counted": sacrebleu_p_value_with_ties,
    "share beyond 0, doubled": percentile_p_value,
    "centred bootstrap": centred_p_value,
    "approximate randomization": randomization_p_value,
}


def measure_tests(population: Population, sentences: int, test_sets: int) -> dict[str, Any]:
    """Draw test sets, and count how each test and each interval fares.

    Returns:
        "bleu" of both systems in the population; "tests", for each the shares of p-values below
        0.05 and 0.2 and above 0.5; "coverage", the share of 95% intervals that hold the
        population's figure: of both scores by percentiles, of both by sacreBLEU's mean and half
        width, and of the difference by percentiles.
    """
    rng = np.random.default_rng(DRAWING_SEED)
    truths = population.scores()
    p_values: dict[str, list[float]] = {name: [] for name in P_VALUE_FUNCTIONS_BY_TEST}
    covered: dict[str, list[bool]] = {"score": [], "score, sacreBLEU": [], "difference": []}
    for seed in range(test_sets):
        drawn = bootstrap_test_set_scores(*population.draw_test_set(sentences, rng), seed)
        for name, p_value in P_VALUE_FUNCTIONS_BY_TEST.items():
            p_values[name].append(p_value(drawn))
        for scores, truth in zip((drawn.first_scores, drawn.second_scores), truths, strict=True):
            covered["score"].append(_is_within_percentiles(truth, scores))
            mean, half_width = estimate_ci(scores)
            covered["score, sacreBLEU"].append(bool(abs(truth - mean) <= half_width))
        lead = truths[1] - truths[0]
        covered["difference"].append(_is_within_percentiles(lead, drawn.differences))
    return {
        "sentences": sentences,
        "bleu": [round(truth, 2) for truth in truths],
        "tests": {name: p_value_shares(found) for name, found in p_values.items()},
        "coverage": {name: round(float(np.mean(held)), 3) for name, held in covered.items()},
    }


def _is_within_percentiles(truth: float, scores: BleuScores) -> bool:
    low, high = np.percentile(scores, (2.5, 97.5))
    return bool(low <= truth <= high)


def p_value_shares(p_values: Sequence[float]) -> dict[str, float]:
    """Return how many p-values are small and how many large, as shares."""
    found = np.array(p_values)
    shares = {"below 0.05": found < 0.05, "below 0.2": found < 0.2, "above 0.5": found > 0.5}
    return {name: round(float(share.mean()), 3) for name, share in shares.items()}


def record_calibration(file: Path) -> None:
    """Measure all tests on all populations, for test sets of `TEST_SET_SIZES`."""
    populations = simulated_populations() | real_populations()
    figures = {
        name: [measure_tests(population, size, NUM_TEST_SETS) for size in TEST_SET_SIZES]
        for name, population in tqdm(populations.items(), unit="pair of systems")
    }
    base = populations["alike"].first[: TEST_SET_SIZES[0]]
    same = bootstrap_test_set_scores(base, base, DRAWING_SEED)
    identical = {
        name: round(p_value(same), 4) for name, p_value in P_VALUE_FUNCTIONS_BY_TEST.items()
    }
    about: dict[str, Any] = {"sacrebleu": version("sacrebleu"), "test_sets": NUM_TEST_SETS}
    about |= {"resamples": NUM_RESAMPLES, "exchanges": NUM_EXCHANGES}
    about |= {"figures": figures, "identical": identical}
    write_json(file, provenance(torch.device("cpu")) | about)


def calibration_table(record: Mapping[str, Any]) -> str:
    """Return a Markdown table of a record, a row for each test, and a line on the intervals.

    "equal" joins all the pairs of equal systems, which are as many test sets each.
    """
    measured = [one for sizes in record["figures"].values() for one in sizes]
    equal = [one for one in measured if abs(one["bleu"][1] - one["bleu"][0]) < 0.05]
    ahead = record["figures"]["ahead"]
    lead = ahead[0]["bleu"][1] - ahead[0]["bleu"][0]
    rows = []
    for test in ahead[0]["tests"]:
        shares = [one["tests"][test] for one in equal]
        cells = [
            _percent(float(np.mean([share[level] for share in shares]))) for level in shares[0]
        ]
        cells += [_percent(one["tests"][test]["below 0.05"]) for one in ahead]
        rows.append([test, *cells, f"{record['identical'][test]:.3f}"])
    levels = [f"equal: p {level}" for level in equal[0]["tests"]["centred bootstrap"]]
    powers = [f"{lead:.0f} BLEU apart, {one['sentences']} sentences: p below 0.05" for one in ahead]
    heading = ["test", *levels, *powers, "identical: p"]
    intervals = ", ".join(
        f"{name} {_percent(min(shares))} to {_percent(max(shares))}"
        for name in measured[0]["coverage"]
        for shares in [[one["coverage"][name] for one in measured]]
    )
    table = markdown_table(heading, [["right", "5.0%", "20.0%", "50.0%", "", "", "1"], *rows], {0})
    sets = record["test_sets"]
    return (
        f"{table}\n\n{len(equal)} times {sets} test sets with equal systems, {sets} for each "
        f"of the others. Truth within the 95% interval, over all {len(measured)}: {intervals}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
