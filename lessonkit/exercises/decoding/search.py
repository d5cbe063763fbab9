"""The hard exercise of lesson 06: a whole beam search, over a toy model."""

import heapq
import random
from typing import Any

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Table
from transformer.config import BOS_ID, EOS_ID

words = read_words("06")

WORDS = (4, 5, 6)


def my_beam(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Find the best finished sentence with beam_size prefixes side by side."""
    bos_id, eos_id = 2, 3
    best, best_prob = [], 0.0
    living = [([bos_id], 1.0)]
    for _ in range(limit):
        longer = []
        for written, prob in living:
            for token, next_prob in next_probs(written).items():
                if token != eos_id:
                    longer.append(([*written, token], prob * next_prob))
                elif prob * next_prob > best_prob:
                    best, best_prob = written[1:], prob * next_prob
        longer.sort(key=lambda candidate: -candidate[1])
        living = longer[:beam_size]
    return best


def beam_of_one(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Follow one prefix only."""
    return my_beam(next_probs, limit, 1)


def cuts_nothing(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Keep every prefix."""
    return my_beam(next_probs, limit, len(WORDS) ** limit)


def each_its_best(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Let each prefix keep its best continuation, and no second one, after the first step."""
    finished: dict[tuple[int, ...], float] = {}
    probs = next_probs([BOS_ID])
    finished[()] = probs[EOS_ID]
    firsts = heapq.nlargest(beam_size, WORDS, key=probs.__getitem__)
    living = [([BOS_ID, word], probs[word]) for word in firsts]
    for _ in range(limit - 1):
        longer = []
        for written, prob in living:
            probs = next_probs(written)
            finished[tuple(written[1:])] = prob * probs[EOS_ID]
            word = max(WORDS, key=probs.__getitem__)
            longer.append(([*written, word], prob * probs[word]))
        living = longer
    return _best(finished)


def first_finished(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Stop at the first round in which a sentence is finished."""
    return _by_levels(next_probs, min(limit, 2), beam_size)


def ends_take_a_place(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Let finished sentences compete for the beam, and count only those that get a place."""
    finished: dict[tuple[int, ...], float] = {(): 0.0}
    living: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(limit):
        longer: dict[tuple[int, ...], float] = {}
        for words, prob in living.items():
            for token, share in next_probs([BOS_ID, *words]).items():
                longer[(*words, token)] = prob * share
        kept = heapq.nlargest(beam_size, longer, key=longer.__getitem__)
        finished |= {words[:-1]: longer[words] for words in kept if words[-1] == EOS_ID}
        living = {words: longer[words] for words in kept if words[-1] != EOS_ID}
    return _best(finished)


def best_unfinished(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Give the best prefix after the last round, finished or not."""
    living = [([BOS_ID], 1.0)]
    for _ in range(limit):
        longer = []
        for written, prob in living:
            shares = next_probs(written)
            longer += [([*written, word], prob * shares[word]) for word in WORDS]
        living = heapq.nlargest(beam_size, longer, key=lambda candidate: candidate[1])
    return living[0][0][1:]


def _by_levels(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Search with a table of all prefixes of a level and their probabilities."""
    level: dict[tuple[int, ...], float] = {(): 1.0}
    finished: dict[tuple[int, ...], float] = {}
    for _ in range(limit):
        extended: dict[tuple[int, ...], float] = {}
        for words, prob in level.items():
            for token, share in next_probs([BOS_ID, *words]).items():
                extended[(*words, token)] = prob * share
        ends = {words for words in extended if words[-1] == EOS_ID}
        finished |= {words[:-1]: extended[words] for words in ends}
        kept = heapq.nlargest(beam_size, extended.keys() - ends, key=extended.__getitem__)
        level = {words: extended[words] for words in kept}
    return _best(finished)


def _best(finished: dict[tuple[int, ...], float]) -> list[int]:
    return list(max(finished.items(), key=lambda item: item[1])[0])


Shares = dict[int, dict[int, float]]


def _tables() -> list[tuple[Table, int, int]]:
    """Toy models drawn by chance, but for those where two candidates are nearly equal."""
    chance = random.Random(7)
    cases = []
    for number in range(80):
        rows: Shares = {}
        for last in (BOS_ID, *WORDS):
            shares = [chance.choice((1, 2, 3, 5, 8, 13)) for _ in range(4)]
            if last == BOS_ID:
                shares[0] = 0  # a sentence without words is no sentence
            shown = [round(share / sum(shares), 2) for share in shares]
            rows[last] = dict(zip((EOS_ID, *WORDS), shown, strict=True))
        size = (2, 1, 2, 3)[number % 4]
        for limit in (2, 3, 4):
            if _clear(rows, limit, size, chance):
                cases.append((Table(rows), limit, size))
    return cases


def _clear(rows: Shares, limit: int, size: int, chance: random.Random) -> bool:
    """Whether small changes of all shares leave the answer as it is."""
    answers = set()
    for _ in range(9):
        moved = {
            last: {token: share * chance.uniform(0.97, 1.03) for token, share in row.items()}
            for last, row in rows.items()
        }
        answers.add(tuple(_by_levels(Table(moved), limit, size)))
    return len(answers) == 1


beam = Exercise(
    my_beam,
    words,
    worked=[
        (
            (
                Table(
                    {
                        2: {3: 0.0, 4: 0.6, 5: 0.4, 6: 0.0},
                        4: {3: 0.1, 4: 0.45, 5: 0.45, 6: 0.0},
                        5: {3: 0.9, 4: 0.05, 5: 0.05, 6: 0.0},
                        6: {3: 1.0, 4: 0.0, 5: 0.0, 6: 0.0},
                    }
                ),
                3,
                2,
            ),
            [5],  # 0.4 * 0.9 = 0.36, against 0.6 * 0.45 * 0.9 = 0.243
        )
    ],
    cases=_tables(),
    expected=_by_levels,
    wrong={
        "beam_of_one": beam_of_one,
        "cuts_nothing": cuts_nothing,
        "each_its_best": each_its_best,
        "first_finished": first_finished,
        "ends_take_a_place": ends_take_a_place,
        "best_unfinished": best_unfinished,
    },
)
