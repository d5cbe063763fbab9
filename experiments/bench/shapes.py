"""How many shapes some epochs of batches have, and what rounding them up costs.

Not in the paper. Each shape that comes again is a CUDA graph of its own.
"""

from collections import Counter
from itertools import chain
from typing import Any

from experiments.bench.gpu import BASE_MODEL_TRAINING_SETTINGS
from experiments.bench.peers import load_training_workload
from transformer.data.batch_shapes import BatchShape, BatchShapes, PaddingCount, few_shapes
from transformer.data.token_budget import TokenBudgetBatches

NUM_EPOCHS = 12
# The name of each pipeline, the recipe that it is of, and what is changed in it.
PIPELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "multi30k-de-en": ("multi30k-de-en", {}),
    "multi30k-fr-en": ("multi30k-fr-en", {}),
    "base": ("multi30k-de-en", BASE_MODEL_TRAINING_SETTINGS),
}


def measure_batch_shapes() -> dict[str, Any]:
    """Count the shapes of each of `PIPELINES`, as they are padded and as they are rounded up."""
    return {
        "epochs": NUM_EPOCHS,
        "pipelines": {
            name: count_shapes(load_training_workload(recipe, 1, settings).pipeline)
            for name, (recipe, settings) in PIPELINES.items()
        },
    }


def count_shapes(batches: TokenBudgetBatches, epochs: int = NUM_EPOCHS) -> dict[str, Any]:
    """Return the batches of some epochs, and for both ways of padding their shapes and its cost."""
    ways = {
        "as padded": BatchShapes(batches.examples, is_rounded=False),
        "rounded up": BatchShapes(batches.examples, is_rounded=True),
    }
    counts = {name: Counter[BatchShape]() for name in ways}
    padding = {name: PaddingCount() for name in ways}
    for rows in chain.from_iterable(map(batches.rows_by_batch, range(epochs))):
        for name, shapes in ways.items():
            shape = shapes.shape_of(rows)
            counts[name][shape] += 1
            num_tokens = shapes.num_src_tokens(rows) + shapes.num_tgt_tokens(rows)
            padding[name].add(shape, num_tokens)
    return {
        "is_rounded": few_shapes(batches).is_rounded,
        "batches": counts["rounded up"].total(),
        "ways": {
            name: {
                "shapes": len(counted),
                "shapes_that_come_once": sum(count == 1 for count in counted.values()),
                "positions_per_token": padding[name].positions_per_token,
            }
            for name, counted in counts.items()
        },
    }
