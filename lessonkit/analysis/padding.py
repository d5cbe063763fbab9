"""How much of a batch is padding.

Not in the paper, which only says that batches hold pairs of about one length (§5.1).
"""

import random
from collections.abc import Sequence
from typing import Any

from transformer.data.batches import Example
from transformer.data.token_budget import TokenBudgetBatches, length_sort_key
from transformer.support.checks import check_has_items, check_number
from transformer.support.signatures import check_argument_types

BatchPlan = list[list[int]]  # for each batch the positions of its examples

BATCHING_RULES = ("random", "sorted", "token budget")


@check_argument_types
def plan_batches_by_each_rule(
    examples: Sequence[Example], batch_tokens: int, seed: int = 1
) -> dict[str, BatchPlan]:
    """Plan one epoch by each of `BATCHING_RULES`, all with about the same number of batches.

    "token budget" is `TokenBudgetBatches`, with so many positions on either side. It sets the
    number of rows that every batch of the other two has: "random" takes the examples in random
    order, "sorted" takes all of them by their longer side.
    """
    budget = TokenBudgetBatches(examples, batch_tokens, seed=seed).plan(0)
    rows = round(len(examples) / len(budget))
    order = list(range(len(examples)))
    random.Random(seed).shuffle(order)
    by_length = sorted(order, key=lambda index: length_sort_key(examples[index]))
    return {
        "random": _split_into_batches(order, rows),
        "sorted": _split_into_batches(by_length, rows),
        "token budget": budget,
    }


def _split_into_batches(order: list[int], rows: int) -> BatchPlan:
    """Return batches of so many rows, the last perhaps of fewer."""
    return [order[start : start + rows] for start in range(0, len(order), rows)]


@check_argument_types
def measure_padding(examples: Sequence[Example], plan: BatchPlan) -> dict[str, Any]:
    """Count the padding of a plan's batches, without making them.

    As in a `Batch`, the end mark of each side counts as a token.

    Returns:
        batches (their number), padding (share of all positions, 0 to 1), and largest and mean
        (positions of a batch, both sides together).
    """
    check_has_items("plan", plan)
    tokens, sizes = 0, []
    for batch in plan:
        check_has_items("a batch of the plan", batch)
        for index in batch:
            check_number("an example's place", index, 0, len(examples) - 1, integer=True)
        sides = [[len(examples[index][side]) + 1 for index in batch] for side in (0, 1)]
        tokens += sum(map(sum, sides))
        sizes.append(sum(len(lengths) * max(lengths) for lengths in sides))
    mean = sum(sizes) / len(sizes)
    padding = 1 - tokens / sum(sizes)
    return {"batches": len(plan), "padding": padding, "largest": max(sizes), "mean": mean}
