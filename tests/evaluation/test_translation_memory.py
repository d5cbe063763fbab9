"""The memory translates what it has read, and else the most similar sentence; leaks by hand."""

import pytest

from attention_laws.errors import UserError as LawsUserError
from attention_laws.laws.leakage import LeakedTestPairShares, measure_leaked_test_pair_shares
from transformer.data.grouping import Pair
from transformer.evaluation.translation_memory import translate_from_memory
from transformer.support.errors import UserError

TRAIN: list[Pair] = [
    ("Go!", "Va !"),
    ("I sleep.", "Je dors."),
    ("The cat sleeps.", "Le chat dort."),
    ("The dog sleeps.", "Le chien dort."),
    ("A bird sings.", "Un oiseau chante."),
]


def test_leak_by_hand() -> None:
    test = [
        ("Go.", "Allez-y."),  # the English side, but for the sign
        ("Leave!", "va"),  # the French side, but for case and sign
        ("I sleep!", "je dors"),  # both
        ("He sleeps.", "Il dort."),  # neither
    ]
    assert measure_leaked_test_pair_shares(TRAIN, test) == LeakedTestPairShares(
        first=0.5, second=0.5, either=0.75
    )
    assert measure_leaked_test_pair_shares(
        [("Paris", "Rome")], [("Rome", "Paris")]
    ) == LeakedTestPairShares(0, 0, 0)
    with pytest.raises(LawsUserError, match="nothing that could leak"):
        measure_leaked_test_pair_shares(TRAIN, [])


def remember(pairs: list[Pair], sources: list[str]) -> list[str]:
    """Translate from second side to first."""
    return translate_from_memory(
        [second for _, second in pairs], [first for first, _ in pairs], sources
    )


def test_memory_knows_what_it_has_read_and_else_the_likest() -> None:
    sources = ["Le chien dort.", "un oiseau ne chante pas", "Le chat", "Mon chien"]
    said = ["The dog sleeps.", "A bird sings.", "The cat sleeps.", "The dog sleeps."]
    assert remember(TRAIN, sources) == said
    assert remember(TRAIN, ["xylophone", "!"]) == ["Go!", "Go!"]  # it never read them
    rare = [("A", "le le2 un"), ("B", "rare x y"), ("C", "le z"), ("D", "le q"), ("E", "le r")]
    assert remember(rare, ["le rare"]) == ["B"]  # a rare word counts more
    whole = [("We sleep.", "nous dormons"), ("We.", "nous")]  # word for word it is the likest
    whole += [(f"x{n}", f"nous w{n}") for n in range(100)]
    whole += [(f"y{n}", f"dormons w{n}") for n in range(100)]
    assert remember(whole, ["nous"]) == ["We."]


def test_characters_are_the_words_of_a_script_without_blanks() -> None:
    train = [("A cat.", "猫がいる"), ("A dog.", "犬がいる"), ("A house.", "ここに家がある")]
    assert remember(train, ["家はどこ", "犬です"]) == ["A house.", "A dog."]


def test_a_memory_needs_as_many_translations_as_sources() -> None:
    with pytest.raises(UserError, match="2 training sources and 1 translations"):
        translate_from_memory(["a", "b"], ["c"], ["a"])
    with pytest.raises(UserError, match="0 training sources"):
        translate_from_memory([], [], ["a"])
