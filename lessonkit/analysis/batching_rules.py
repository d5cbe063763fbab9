"""Three ways to cut a corpus into batches, and what each wastes on padding (§5.1)."""

import random
from collections.abc import Sequence
from typing import Any

from transformer.data.batches import Example, TokenBudgetBatches, length_key
from transformer.support.errors import UserError

Plan = list[list[int]]  # for each batch the positions of its examples

RULES = ("random", "sorted", "token budget")


def plans(examples: Sequence[Example], batch_tokens: int, seed: int = 1) -> dict[str, Plan]:
    """Plan one epoch by each rule, all with about the same number of batches.

    Not in the paper, which only says that batches hold pairs of about one length (§5.1).
    "token budget" is `TokenBudgetBatches`; it sets the number of rows that every batch of the
    other two has. "random" takes the examples in random order, "sorted" all of them by their longer
    side, as a pool of the token budget.

    Args:
        examples: The pairs.
        batch_tokens: Most positions of a batch of the token budget, on either side.
        seed: Of the random orders.

    Returns:
        A plan for each of `RULES`; every example stands once in each.

    Raises:
        UserError: there are no examples, or one alone is over `batch_tokens`.
    """
    budget = TokenBudgetBatches(examples, batch_tokens, seed=seed).plan(0)
    rows = round(len(examples) / len(budget))
    order = list(range(len(examples)))
    random.Random(seed).shuffle(order)
    by_length = sorted(order, key=lambda i: length_key(examples[i]))
    return dict(zip(RULES, (_cut(order, rows), _cut(by_length, rows), budget), strict=True))


def measure(examples: Sequence[Example], plan: Plan) -> dict[str, Any]:
    """Count what a plan's batches hold, without making them.

    Not in the paper. As in a `Batch`, the end mark of each side counts as a token.

    Args:
        examples: The pairs.
        plan: Positions of the examples of each batch.

    Returns:
        batches (their number), padding (share of all positions, 0 to 1), and largest and mean
        (positions of a batch, both sides together).

    Raises:
        UserError: the plan has no batches.
    """
    if not plan:
        raise UserError("a plan without batches: give at least one")
    tokens = 0
    sizes = []
    for batch in plan:
        positions = 0
        for side in (0, 1):
            lengths = [len(examples[index][side]) + 1 for index in batch]
            tokens += sum(lengths)
            positions += len(lengths) * max(lengths)
        sizes.append(positions)
    return {
        "batches": len(plan),
        "padding": 1 - tokens / sum(sizes),
        "largest": max(sizes),
        "mean": sum(sizes) / len(sizes),
    }


def _cut(order: Sequence[int], rows: int) -> Plan:
    return [list(order[start : start + rows]) for start in range(0, len(order), rows)]
