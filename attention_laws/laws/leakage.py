"""Nothing that a model is tested on is in its training text (not in the paper)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from attention_laws.adapter import Pipeline, TextPair
from attention_laws.errors import UserError
from attention_laws.law import pipeline_law
from attention_laws.report import Finding, broken_finding, kept_finding, warned_finding

LAW_MODULE_SORT_KEY = 30
MAX_LEAKED_TEST_SOURCE_SHARE = 0.01  # of the test pairs


def lower_without_punctuation(sentence: str) -> str:
    """Return a sentence as its words: lower-cased, without punctuation."""
    return " ".join(re.sub(r"[^\w\s]", " ", sentence.lower()).split())


class LeakedTestPairShares(NamedTuple):
    """Shares of the test pairs, 0 to 1, whose side or sides occur in the training pairs."""

    first: float  # of the two sides
    second: float
    either: float  # at least one of them


def measure_leaked_test_pair_shares(
    train: Sequence[TextPair], test: Sequence[TextPair]
) -> LeakedTestPairShares:
    """Return the shares of test pairs seen in training, ignoring case and punctuation.

    Raises:
        UserError: there are no test pairs.
    """
    if not test:
        raise UserError("no test pairs: there is nothing that could leak")
    train_firsts = {lower_without_punctuation(first) for first, _ in train}
    train_seconds = {lower_without_punctuation(second) for _, second in train}
    firsts = [lower_without_punctuation(first) in train_firsts for first, _ in test]
    seconds = [lower_without_punctuation(second) in train_seconds for _, second in test]
    either = [first or second for first, second in zip(firsts, seconds, strict=True)]
    return LeakedTestPairShares(
        first=sum(firsts) / len(test),
        second=sum(seconds) / len(test),
        either=sum(either) / len(test),
    )


@pipeline_law("train", "test")
def train_and_test_are_disjoint(pipeline: Pipeline) -> Finding:
    """No source of a test pair is in the training text, nor its target.

    Means: a corpus with several translations of a sentence was split at random
    Look: at the split: pairs that share a side belong on the same side of it
    """
    leak = measure_leaked_test_pair_shares(pipeline.train, pipeline.test)
    seen = f"of {len(pipeline.test)} test pairs {100 * leak.first:.1f}% have a source, "
    seen += f"{100 * leak.second:.1f}% a target that is in the training text"
    if leak.first > MAX_LEAKED_TEST_SOURCE_SHARE:
        return broken_finding(seen)
    # Short targets, such as labels, may rightly occur in both.
    return warned_finding(seen) if leak.either else kept_finding(seen)
