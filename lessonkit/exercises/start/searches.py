"""Two exercises of lesson 00: the greedy search, and the best of all sentences.

They ask toy models, so that every right answer is known without a network.
"""

import itertools
import math
from typing import Any

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Script, Table
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID

words = read_words("00")


def my_greedy(next_scores: Any, limit: int) -> list[int]:
    """Write the best token again and again, until eos or for `limit` tokens."""
    bos_id, eos_id = 2, 3
    written = [bos_id]
    while len(written) <= limit:
        scores = next_scores(written)
        best = scores.index(max(scores))
        if best == eos_id:
            break
        written.append(best)
    return written[1:]


def keeps_eos(next_scores: Any, limit: int) -> list[int]:
    """Write the eos down before looking at it."""
    written = [BOS_ID]
    while len(written) <= limit and written[-1] != EOS_ID:
        scores = next_scores(written)
        written.append(scores.index(max(scores)))
    return written[1:]


def keeps_bos(next_scores: Any, limit: int) -> list[int]:
    """Hand over the bos with the translation."""
    return [BOS_ID, *my_greedy(next_scores, limit)]


def runs_past_eos(next_scores: Any, limit: int) -> list[int]:
    """Know no end but the limit."""
    written = [BOS_ID]
    for _ in range(limit):
        scores = next_scores(written)
        written.append(scores.index(max(scores)))
    return written[1:]


def counts_bos(next_scores: Any, limit: int) -> list[int]:
    """Let the bos use up one of the tokens."""
    return my_greedy(next_scores, limit - 1)


def _cut_script(next_scores: Script, limit: int) -> list[int]:
    """Read the answer off the script, with no search."""
    return list(itertools.takewhile(lambda token: token != EOS_ID, next_scores.writes(limit)))


greedy = Exercise(
    my_greedy,
    words,
    worked=[((Script([4, 5, 3]), 9), [4, 5]), ((Script([5]), 3), [5, 5, 5])],
    cases=[
        (Script(list(tokens)), limit)
        for length in (1, 2, 3)
        for tokens in itertools.product((EOS_ID, 4, 5), repeat=length)
        for limit in (1, 2, 4)
    ]
    + [(Script([UNK_ID, 4, EOS_ID]), 4), (Script([4, PAD_ID, 5]), 3)],
    expected=_cut_script,
    wrong={
        "keeps_eos": keeps_eos,
        "keeps_bos": keeps_bos,
        "runs_past_eos": runs_past_eos,
        "counts_bos": counts_bos,
    },
)


def my_most_probable(next_probs: Any, limit: int) -> list[int]:
    """Find the most probable sentence of `limit` tokens, eos included."""
    bos_id, eos_id = 2, 3
    best, best_prob = [], 0.0
    open_ones = [([bos_id], 1.0)]
    for _ in range(limit):
        longer = []
        for written, prob in open_ones:
            for token, next_prob in next_probs(written).items():
                if token != eos_id:
                    longer.append(([*written, token], prob * next_prob))
                elif prob * next_prob > best_prob:
                    best, best_prob = written[1:], prob * next_prob
        open_ones = longer
    return best


def takes_greedy_path(next_probs: Any, limit: int) -> list[int]:
    """Follow the best token, as the exercise before did."""
    written = [BOS_ID]
    while len(written) <= limit:
        probs = next_probs(written)
        best = max(probs, key=lambda token: probs[token])
        if best == EOS_ID:
            break
        written.append(best)
    return written[1:]


def _finished(next_probs: Any, limit: int) -> list[tuple[list[int], list[float]]]:
    """List every finished sentence with its factors, by trying all strings of words."""
    found = []
    some = [token for token in next_probs([BOS_ID]) if token != EOS_ID]
    for length in range(limit):
        for words in itertools.product(some, repeat=length):
            path = [BOS_ID, *words, EOS_ID]
            rows = [next_probs(path[: i + 1]) for i in range(length + 1)]
            found.append((list(words), [row[t] for row, t in zip(rows, path[1:], strict=True)]))
    return found


def always_empty(next_probs: Any, limit: int) -> list[int]:
    """Never go on from the bos, or take an end for certain, so that no word is worth it."""
    return []


def stops_at_the_first_end(next_probs: Any, limit: int) -> list[int]:
    """End the search in the first round in which a sentence ends."""
    for rounds in range(1, limit + 1):
        found = _finished(next_probs, rounds)
        if any(math.prod(factors) > 0 for _, factors in found):
            return max(found, key=lambda each: math.prod(each[1]))[0]
    return []


def adds_probabilities(next_probs: Any, limit: int) -> list[int]:
    """Take the sum where the product belongs."""
    return max(_finished(next_probs, limit), key=lambda each: sum(each[1]))[0]


def forgets_eos_in_limit(next_probs: Any, limit: int) -> list[int]:
    """Allow so many words, and the eos on top."""
    return my_most_probable(next_probs, limit + 1)


def _by_trying_all(next_probs: Any, limit: int) -> list[int]:
    return max(_finished(next_probs, limit), key=lambda each: math.prod(each[1]))[0]


def _tables() -> list[tuple[Table, int]]:
    """Every combination of three rows, with the limits at which one sentence is clearly best."""
    rows = [dict(zip((EOS_ID, 4, 5), p, strict=True)) for p in itertools.permutations((7, 2, 1))]
    rows += [{EOS_ID: 5, 4: 4, 5: 1}, {EOS_ID: 1, 4: 5, 5: 4}]
    cases = []
    for chosen in itertools.product(rows, repeat=3):
        shares = [{token: share / 10 for token, share in row.items()} for row in chosen]
        table = Table(dict(zip((BOS_ID, 4, 5), shares, strict=True)))
        for limit in (1, 2, 3):
            probs = sorted(math.prod(each[1]) for each in _finished(Table(table.rows), limit))
            if len(probs) == 1 or probs[-1] > 1.05 * probs[-2]:
                cases.append((Table(table.rows), limit))
    return cases[::7]


def _deep() -> list[tuple[Table, int]]:
    """Three words, and a best sentence whose beginning lies behind up to six others."""
    tenths = (
        ((0, 6, 4, 0), (0, 5, 4, 1), (1, 5, 3, 1), (9, 1, 0, 0)),
        ((0, 2, 0, 8), (0, 0, 1, 9), (2, 4, 2, 2), (0, 5, 0, 5)),
        ((0, 8, 2, 0), (0, 6, 4, 0), (0, 3, 6, 1), (1, 6, 3, 0)),
    )
    tables = []
    for rows in tenths:
        shares = [dict(zip((EOS_ID, 4, 5, 6), (n / 10 for n in row), strict=True)) for row in rows]
        tables.append(Table(dict(zip((BOS_ID, 4, 5, 6), shares, strict=True))))
    return [(table, 4) for table in tables]


most_probable = Exercise(
    my_most_probable,
    words,
    worked=[
        (
            (
                Table(
                    {
                        2: {3: 0.1, 4: 0.5, 5: 0.4},
                        4: {3: 0.2, 4: 0.4, 5: 0.4},
                        5: {3: 0.9, 4: 0.05, 5: 0.05},
                    }
                ),
                2,
            ),
            [5],  # 0.4 * 0.9 = 0.36, against 0.5 * 0.2 = 0.1 and 0.1 at once
        )
    ],
    cases=_tables() + _deep(),
    expected=_by_trying_all,
    wrong={
        "takes_greedy_path": takes_greedy_path,
        "always_empty": always_empty,
        "stops_at_the_first_end": stops_at_the_first_end,
        "adds_probabilities": adds_probabilities,
        "forgets_eos_in_limit": forgets_eos_in_limit,
    },
)
