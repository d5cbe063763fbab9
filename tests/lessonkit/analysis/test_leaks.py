"""Leaks are counted by hand, memory says what it has read, and the record is today's."""

from pathlib import Path

import pytest

from lessonkit.analysis import leaks
from lessonkit.analysis.leaks import (
    Leak,
    from_memory,
    measure_leak,
    measure_splits,
    random_split,
)
from transformer.data import corpora
from transformer.data.parallel import Pair
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.paths import results_folder

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
    assert measure_leak(TRAIN, test) == Leak(first=0.5, second=0.5, either=0.75)


def test_sides_do_not_leak_into_each_other() -> None:
    assert measure_leak([("Paris", "Rome")], [("Rome", "Paris")]) == Leak(0, 0, 0)


def test_no_test_pairs_cannot_be_measured() -> None:
    with pytest.raises(UserError, match="nothing that could leak"):
        measure_leak(TRAIN, [])


def test_a_random_split_keeps_every_pair_once() -> None:
    train, test = random_split(TRAIN, test_pairs=2, seed=3)
    assert len(test) == 2
    assert sorted(train + test) == sorted(TRAIN)
    assert random_split(TRAIN, 2, 3) == (train, test)
    assert random_split(TRAIN, 2, 4) != (train, test)


@pytest.mark.parametrize("test_pairs", [0, 5, -1])
def test_a_split_has_two_parts(test_pairs: int) -> None:
    with pytest.raises(UserError, match="from 1 to 4"):
        random_split(TRAIN, test_pairs)


def test_memory_knows_what_it_has_read_and_else_the_likest() -> None:
    sources = ["Le chien dort.", "un oiseau ne chante pas", "Le chat", "Mon chien"]
    assert from_memory(TRAIN, sources) == [
        "The dog sleeps.",
        "A bird sings.",
        "The cat sleeps.",
        "The dog sleeps.",
    ]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    train = [("A", "le le2 un"), ("B", "rare x y"), ("C", "le z"), ("D", "le q"), ("E", "le r")]
    assert from_memory(train, ["le rare"]) == ["B"]


def test_what_memory_never_read_gets_an_answer_too() -> None:
    assert from_memory(TRAIN, ["xylophone", "!"]) == ["Go!", "Go!"]


def test_the_record_is_what_the_code_measures_today(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    pairs = corpora.all_tatoeba_pairs()
    record = read_json(results_folder() / leaks.RECORD)
    assert record["pairs"] == len(pairs)
    assert measure_splits(pairs) == record["figures"]


def test_the_record_says_that_grouping_stops_the_leak() -> None:
    figures = read_json(results_folder() / leaks.RECORD)["figures"]
    assert figures["grouped"]["leak"] == {"first": 0, "second": 0, "either": 0}
    assert figures["random"]["leak"]["either"] > 0.5
    assert figures["random"]["bleu"]["interval"][0] > figures["grouped"]["bleu"]["interval"][1]


def test_a_sentence_of_the_test_set_may_be_answered_by_any_of_its_translations() -> None:
    train = [("Stop it right now!", "Arrête !")] * 3 + [("Go away from here!", "Va !")]
    answers = [("Leave us alone at once!", "Va !"), ("Go away from here!", "Va !")]
    figures = leaks.measure_pairs(train, answers)
    assert figures["test"] == 2
    assert figures["bleu"]["score"] == pytest.approx(100)


def test_what_is_remembered_word_for_word_is_the_likest() -> None:
    train = [("We sleep.", "nous dormons"), ("We.", "nous")]
    train += [(f"x{n}", f"nous w{n}") for n in range(100)]
    train += [(f"y{n}", f"dormons w{n}") for n in range(100)]
    assert from_memory(train, ["nous"]) == ["We."]
