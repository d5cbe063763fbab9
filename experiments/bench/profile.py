"""Where the time of our training step goes, by kind of work.

Not in the paper. Each operator is timed as PyTorch dispatches it, forward and backward, in seconds
of computing: its own profiler reads the clock, so on a shared machine it counts other work too.
"""

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from experiments.bench.contenders import Contender
from lessonkit.analysis.machines import Timed
from transformer.data.batches import Batch

STEPS = 3
OUTPUT, LOSS, REST = "output product", "softmax and loss", "rest"
KINDS = {
    "products": {"mm", "addmm"},
    OUTPUT: set(),  # the products with a side as wide as the vocabulary
    "attention": {
        *("bmm", "baddbmm", "_softmax", "_safe_softmax", "_softmax_backward_data"),
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
    },
    LOSS: set(),  # all else with such a side
    "dropout": {"bernoulli_", "random_", "div_", "native_dropout", "native_dropout_backward"},
    "layer norm": {"native_layer_norm", "native_layer_norm_backward"},
    "optimizer": {"_fused_adamw_", "_foreach_norm", "linalg_vector_norm", "_foreach_mul_"},
    "casts and copies": {"_to_copy", "copy_", "clone", "cat"},
    REST: set(),
    "between operators": set(),  # Python, autograd, the allocator
}


def where_time_goes(
    contender: Contender, batches: Sequence[Batch], vocab_size: int
) -> dict[str, float]:
    """Give each kind of work's share of a step, 0 to 1; together they are 1.

    Args:
        contender: Makes the steps.
        batches: The first `STEPS` are used.
        vocab_size: Types of the target: what is this wide works for the softmax.
    """

    def kind(name: str, values: Any) -> str:
        tensors = [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]
        wide = any(vocab_size in tensor.shape for tensor in tensors)
        return kind_of(name.removeprefix("aten::"), tensors, wide)

    clock = Timed(kind)
    started = time.process_time()
    with clock:
        for number, batch in enumerate(batches[:STEPS], start=1):
            contender.step(number, batch)
    total = time.process_time() - started
    spent = dict.fromkeys(KINDS, 0.0) | clock.seconds
    spent["between operators"] = total - sum(spent.values())
    return {kind: round(seconds / total, 3) for kind, seconds in spent.items()}


def kind_of(name: str, tensors: Sequence[torch.Tensor], wide: bool) -> str:
    """Tell what an operator works for.

    Args:
        name: Without its namespace, as "mm".
        tensors: What it was given, and what it gave.
        wide: Whether one of them has a side as long as the vocabulary.
    """
    kind = next((kind for kind, names in KINDS.items() if name in names), REST)
    if kind == "optimizer":
        return kind
    if wide:
        return OUTPUT if kind == "products" else LOSS
    masked = name == "mul" and len({tensor.shape for tensor in tensors}) == 1 and len(tensors) == 3
    return "dropout" if masked and tensors[0].dim() > 2 else kind
