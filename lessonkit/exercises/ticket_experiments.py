"""Experiments on a model that somebody reported on: each changes one thing and says what it does.

Not in the paper. Their names are those of a learner's menu.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

SRC = torch.tensor([[7, 8, 16, 3]])
TGT_IN = torch.tensor([[2, 5, 28, 22, 21, 9, 11]])
OTHER_SRC = torch.tensor([[12, 9, 4, 3]])
OTHER_TGT_IN = torch.tensor([[2, 8, 17, 5, 26, 13, 4]])
DECODING_STEPS_BEFORE_SWAP = 3


def future_experiment(model: Any) -> str:
    """Change one target token, and look at the logits before it."""
    changes = {
        place: _logits_change(model, SRC, _with_token_at(TGT_IN, place, 4)) for place in (1, 2, 6)
    }
    listed = ", ".join(f"by {change:.2f} with the token at {at}" for at, change in changes.items())
    return f"the logits at position 0 move {listed}"


def padding_experiment(model: Any) -> str:
    """Append padding to the source, and look at the memory and at the logits."""
    padded = torch.nn.functional.pad(SRC, (0, 2))
    memory = _max_abs_difference(model.encode(SRC), model.encode(padded)[:, : SRC.shape[1]])
    logits = _logits_change(model, padded, TGT_IN)
    return f"the memory moves by {memory:.2f}, the logits by {logits:.2f}"


def neighbour_token_experiment(model: Any) -> str:
    """Exchange one source token, and look at the memory of the others."""
    others = [0, 2, 3]
    changed = model.encode(_with_token_at(SRC, 1, 12))[0, others]
    distance = _max_abs_difference(model.encode(SRC)[0, others], changed)
    return f"the memory of the others moves by {distance:.2f}"


def identical_rows_experiment(model: Any) -> str:
    """Put the same sentence into a batch twice, and compare its logits."""
    twice = model.forward(SRC.expand(2, -1), TGT_IN.expand(2, -1))
    return f"the logits of the two rows are {_max_abs_difference(*twice):.2f} apart"


def repeated_training_step_experiment(model: Any) -> str:
    """Make the same step twice from the same weights, and look at weights and gradients."""
    before = {name: weight.clone() for name, weight in model.module.state_dict().items()}
    norms = []
    for _ in range(2):
        model.module.load_state_dict(before)
        train_step(model, [[7, 8, 16], [9, 4]], [[5, 28, 22], [21, 6]])
        norms.append(gradient_norm(model))
    after = model.module.state_dict()
    moved = sum(not torch.equal(before[name], after[name]) for name in before)
    return (
        f"{moved} of {len(before)} tensors move; gradient norm {norms[0]:.1f}, then {norms[1]:.1f}"
    )


def padding_loss_experiment(model: Any) -> str:
    """Change the logits at padding alone, and look at the loss."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, model.tgt_vocab_size, generator=generator)
    tgt_out = torch.tensor([[5, 6, 3], [7, 3, 0]])
    changed = logits.clone()
    changed[1, 2] *= -1
    change = _max_abs_difference(model.loss(logits, tgt_out), model.loss(changed, tgt_out))
    return f"the loss moves by {change:.2f}"


def cache_experiment(model: Any) -> str:
    """Go step by step with the cache, and compare with one pass: twice, and with rows exchanged."""
    first, second = (_cache_error(model, src) for src in (SRC, OTHER_SRC))
    return (
        f"the first sentence is {first:.2f} apart, the second {second:.2f}, "
        f"with its rows exchanged {_cache_error_after_reorder(model):.2f}"
    )


EXPERIMENTS: dict[str, Callable[[Any], str]] = {
    "future": future_experiment,
    "padding": padding_experiment,
    "neighbour": neighbour_token_experiment,
    "rows": identical_rows_experiment,
    "step": repeated_training_step_experiment,
    "loss": padding_loss_experiment,
    "cache": cache_experiment,
}


def train_step(model: Any, sources: list[list[int]], targets: list[list[int]]) -> float:
    """Make one step of training, with the same dropout each time; return the loss before it."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return float(model.train_step(*model.make_batch(sources, targets)))


def gradient_norm(model: Any) -> float:
    """Return the norm of all gradients together."""
    gradients = [weight.grad for weight in model.module.parameters() if weight.grad is not None]
    return float(torch.nn.utils.get_total_norm(gradients))


def _max_abs_difference(one: Tensor, other: Tensor) -> float:
    return float((one - other).detach().abs().max())


def _logits_change(model: Any, src: Tensor, tgt_in: Tensor) -> float:
    before, after = model.forward(SRC, TGT_IN), model.forward(src, tgt_in)
    return _max_abs_difference(before[0, 0], after[0, 0])


def _with_token_at(ids: Tensor, place: int, token: int) -> Tensor:
    changed = ids.clone()
    changed[0, place] = token
    return changed


def _cache_error(model: Any, src: Tensor) -> float:
    """Return how far logits made step by step are from those of one pass."""
    state = model.cached.start(src)
    steps = []
    for place in range(TGT_IN.shape[1]):
        logits, state = model.cached.step(TGT_IN[:, place : place + 1], state)
        steps.append(logits)
    return _max_abs_difference(torch.stack(steps, dim=1), model.forward(src, TGT_IN))


def _cache_error_after_reorder(model: Any) -> float:
    """Let two targets of one source swap places after three steps: how far off is the fourth?"""
    place = DECODING_STEPS_BEFORE_SWAP
    swap = torch.tensor([1, 0])
    src = SRC.expand(2, -1)
    tgt_in = torch.cat((TGT_IN, OTHER_TGT_IN))
    state = model.cached.start(src)
    for earlier in range(place):
        _, state = model.cached.step(tgt_in[:, earlier : earlier + 1], state)
    state = model.cached.reorder(state, swap)
    tgt_in = tgt_in[swap]
    logits, _ = model.cached.step(tgt_in[:, place : place + 1], state)
    return _max_abs_difference(logits, model.forward(src, tgt_in)[:, place])
