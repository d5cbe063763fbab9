"""Two exercises of lesson 00: the greedy search, and the best of all sentences.

They ask toy models, so that every right answer is known without a network.
"""

import itertools
import math
from typing import Any

from lessonkit.exercises.check import Exercise, Wrong
from lessonkit.exercises.toys import Script, Table
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID


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
    minutes=15,
    difficulty="medium",
    hints=(
        "The loop of `translate_by_hand` has all the parts, and one thing more to do at its end.",
        "Begin with [2], the bos. Ask for the scores, find the index of the largest, and look "
        "whether it is 3, the eos, before you write it down.",
        "The bos is not among the `limit` tokens: go on while len(written) <= limit, and give "
        "back written[1:].",
    ),
    worked=[((Script([4, 5, 3]), 9), [4, 5]), ((Script([5]), 3), [5, 5, 5])],
    cases=[
        (Script(list(tokens)), limit)
        for length in (1, 2, 3)
        for tokens in itertools.product((EOS_ID, 4, 5), repeat=length)
        for limit in (1, 2, 4)
    ]
    + [(Script([UNK_ID, 4, EOS_ID]), 4), (Script([4, PAD_ID, 5]), 3)],  # no end marks, these
    expected=_cut_script,
    wrong=[
        Wrong(
            keeps_eos,
            "The eos (3) says that the sentence is over; it is no part of it. Look at the "
            "token before you keep it, or drop it afterwards.",
        ),
        Wrong(
            keeps_bos,
            "The bos (2) is only there to give the model something to begin with. "
            "Leave it out of what you give back.",
        ),
        Wrong(
            runs_past_eos,
            "Your loop ends at the limit alone. What should happen when the best token is "
            "the eos, and which id has it?",
        ),
        Wrong(
            counts_bos,
            "Where `limit` ends the sentence, its last token is missing. Does the bos count as one "
            "of the `limit`, or do you drop the last token as if it were always the eos?",
        ),
    ],
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
    minutes=25,
    difficulty="hard",
    hints=(
        "The best first token may lead nowhere good: no token can be left out until "
        "the end. Keep all the beginnings.",
        "Keep a list of (written, probability). In each round, make every one longer by every "
        "token; one that takes the eos is finished and is compared with the best so far.",
        "A probability is multiplied by next_probs(written)[token], for the eos too; after "
        "`limit` rounds the best finished sentence is the answer.",
    ),
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
    wrong=[
        Wrong(
            takes_greedy_path,
            "This is the greedy search: it takes the best token each time, and cannot go "
            "back when that leads to a worse end.",
        ),
        Wrong(
            always_empty,
            "You always give the sentence without words. Does any sentence become longer in your "
            "search, and is a better one kept? Does the eos's own probability count?",
        ),
        Wrong(
            stops_at_the_first_end,
            "Your search ends with the first sentence that ends, or never exchanges it. A longer "
            "one may be more probable: go on until `limit`.",
        ),
        Wrong(
            adds_probabilities,
            "Probabilities of steps that must all happen are multiplied. A sum rewards "
            "a sentence for every further step.",
        ),
        Wrong(
            forgets_eos_in_limit,
            "Your sentence is one token too long: the eos is one of the `limit` tokens.",
        ),
    ],
)
