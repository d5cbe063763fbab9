"""The paired bootstrap: sacreBLEU's own paired test is the oracle."""

from random import Random

import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from lessonkit.analysis.bootstrap import paired_bootstrap

WORDS = ["the", "old", "woman", "reads", "a", "book", "near", "her", "small", "house"]


CHANCE = Random(3)
REFERENCES = [" ".join(CHANCE.choices(WORDS, k=CHANCE.randint(5, 13))) for _ in range(61)]


def translations(share: float) -> list[str]:
    """A system that gets a share of the references' words right."""
    chance = Random(str(share))
    return [
        " ".join(word if chance.random() < share else "cat" for word in reference.split())
        for reference in REFERENCES
    ]


def test_equals_sacrebleu() -> None:
    for first, second in ((0.8, 0.81), (0.8, 0.9), (0.9, 0.8)):
        a, b = translations(first), translations(second)
        systems = [("a", a), ("b", b)]
        test = PairedTest(systems, {"BLEU": BLEU()}, [REFERENCES], test_type="bs", n_samples=1000)
        one, other = test()[1]["BLEU"]
        ours = paired_bootstrap(a, b, [[reference] for reference in REFERENCES])
        assert ours.p_value == other.p_value
        assert ours.difference == pytest.approx(other.score - one.score)
        assert ours.low < ours.difference < ours.high


def test_several_references_are_all_used_and_equal_systems_do_not_differ() -> None:
    said = translations(0.7)
    both = [[reference, other] for reference, other in zip(REFERENCES, said, strict=True)]
    ours = paired_bootstrap(REFERENCES, said, both)
    assert (ours.difference, ours.p_value) == (0, 1)  # each says one of the references
