"""A toy model that reads probabilities off a table, and searches with it (not in the paper)."""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lessonkit.exercises.toys import CASE_SEED_SHIFT, BaseToy
from transformer.config import BOS_ID, EOS_ID

MAX_TABLE_CALLS = 2_000  # of a table: more than any search through all sentences makes
# The probability of each next token, by the last token.
NextTokenProbsByLastToken = dict[int, dict[int, float]]


@dataclass(repr=False)
class ProbabilityTable(BaseToy):
    """A toy model that reads the next token's probabilities off a table, by the last token."""

    rows: NextTokenProbsByLastToken
    calls: int = field(default=0, init=False)

    def __call__(self, written: list[int]) -> dict[int, float]:
        """Return each possible next token with its probability."""
        self.calls += 1
        if self.calls > MAX_TABLE_CALLS:
            raise RuntimeError(
                f"the model was asked {MAX_TABLE_CALLS} times: does your search end?"
            )
        if not written or written[0] != BOS_ID:
            raise ValueError(f"asked about {list(written)}: give all tokens so far, bos first")
        return dict(self.rows[written[-1]])


def best_sentence_by_beam_search(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Search with a table of all prefixes of one length and their probabilities."""
    level: dict[tuple[int, ...], float] = {(): 1.0}
    finished: dict[tuple[int, ...], float] = {}
    for _ in range(limit):
        extended: dict[tuple[int, ...], float] = {}
        for prefix, prob in level.items():
            for token, next_prob in next_probs([BOS_ID, *prefix]).items():
                extended[(*prefix, token)] = prob * next_prob
        ended = {prefix for prefix in extended if prefix[-1] == EOS_ID}
        for prefix in ended:
            finished[prefix[:-1]] = extended[prefix]
        open_prefixes = extended.keys() - ended
        best = heapq.nlargest(beam_size, open_prefixes, key=extended.__getitem__)
        level = {prefix: extended[prefix] for prefix in best}
    best_prefix: tuple[int, ...] = max(finished, key=lambda prefix: finished[prefix])
    return list(best_prefix)


def unambiguous_search_cases(
    beam_sizes: Sequence[int], num_tables: int
) -> list[tuple[ProbabilityTable, int, int]]:
    """Draw tables, limits and beams whose best sentence stays if all probabilities change a bit."""
    chance = random.Random(7 + CASE_SEED_SHIFT)
    cases = []
    for number in range(num_tables):
        beam_size = beam_sizes[number % len(beam_sizes)]
        rows = _random_next_token_probs(chance)
        for limit in (2, 3, 4):
            perturbed = [ProbabilityTable(_perturb_probs(rows, chance)) for _ in range(49)]
            best = {
                tuple(best_sentence_by_beam_search(table, limit, beam_size)) for table in perturbed
            }
            if len(best) == 1:
                cases.append((ProbabilityTable(rows), limit, beam_size))
    return cases


def _random_next_token_probs(chance: random.Random) -> NextTokenProbsByLastToken:
    rows: NextTokenProbsByLastToken = {}
    for last in (BOS_ID, 4, 5, 6):
        weights = [chance.choice((1, 2, 3, 5, 8, 13)) for _ in range(4)]
        if last == BOS_ID:
            weights[0] = 0  # a sentence without words is no sentence
        probs = [round(weight / sum(weights), 2) for weight in weights]
        rows[last] = dict(zip((EOS_ID, 4, 5, 6), probs, strict=True))
    return rows


def _perturb_probs(
    rows: NextTokenProbsByLastToken, chance: random.Random
) -> NextTokenProbsByLastToken:
    return {
        last: {token: prob * chance.uniform(0.97, 1.03) for token, prob in row.items()}
        for last, row in rows.items()
    }
