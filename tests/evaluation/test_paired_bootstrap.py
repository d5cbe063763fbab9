"""The paired bootstrap: sacreBLEU's own test is the oracle."""

import random

import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from transformer.evaluation.paired_bootstrap import paired_bootstrap
from transformer.support.errors import UserError

WORDS = ["the", "old", "woman", "reads", "a", "book", "near", "her", "small", "house"]


def translations(sentences: int, share: float, seed: int) -> tuple[list[str], list[str]]:
    """References, and a system that gets a share of their words right."""
    chance = random.Random(seed)
    references = [
        " ".join(chance.choices(WORDS, k=chance.randint(5, 13))) for _ in range(sentences)
    ]
    chance = random.Random(f"{seed} {share}")
    said = [
        " ".join(word if chance.random() < share else "cat" for word in reference.split())
        for reference in references
    ]
    return references, said


@pytest.mark.parametrize(("first", "second"), [(0.8, 0.81), (0.8, 0.9), (0.9, 0.8)])
def test_equals_sacrebleu(first: float, second: float) -> None:
    references, a = translations(61, first, seed=3)
    _, b = translations(61, second, seed=3)
    test = PairedTest(
        [("a", a), ("b", b)], {"BLEU": BLEU()}, [references], test_type="bs", n_samples=1000
    )
    _, scores = test()
    ours = paired_bootstrap(a, b, [[reference] for reference in references])
    assert ours.p_value == scores["BLEU"][1].p_value
    assert ours.difference == pytest.approx(scores["BLEU"][1].score - scores["BLEU"][0].score)
    assert ours.low < ours.difference < ours.high


def test_several_references_are_all_used() -> None:
    references, a = translations(23, 0.7, seed=5)
    both = [[reference, other] for reference, other in zip(references, a, strict=True)]
    ours = paired_bootstrap(references, a, both)
    assert ours.difference == 0  # each says one of the references
    assert ours.p_value == 1


def test_exchanged_systems_exchange_their_signs() -> None:
    references, a = translations(41, 0.6, seed=7)
    _, b = translations(41, 0.8, seed=7)
    each = [[reference] for reference in references]
    one, other = paired_bootstrap(a, b, each), paired_bootstrap(b, a, each)
    assert one.difference == pytest.approx(-other.difference)
    assert one.p_value == other.p_value
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


@pytest.mark.parametrize("said", [[], ["a"]])
def test_sides_of_unlike_length_are_refused(said: list[str]) -> None:
    with pytest.raises(UserError, match="one of each system for every sentence"):
        paired_bootstrap(said, ["a", "b"], [["a"], ["b"]])
    with pytest.raises(UserError, match="0 sentences"):
        paired_bootstrap([], [], [])
