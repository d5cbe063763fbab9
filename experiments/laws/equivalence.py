"""Whether a mutant computes, learns and finds what the sound model that it was made of does.

Not in the paper. It may do so at once, or after a change of the sound model's weights that leaves
them as likely (`SoundModel.weight_changes`, `SoundModel.rotations`), or draw weights that are a
little larger or smaller.
"""

import contextlib
from collections.abc import Generator, Iterator
from itertools import zip_longest
from types import ModuleType
from typing import Any

import torch

from experiments.laws.sound_models import SoundModel, run_as_module

# A mutant that draws weights larger or smaller by no more than this factor is as sound.
MAX_INITIAL_SCALE_RATIO = 2.0
INITIAL_SCALE_CHANGE = "weights drawn at most twice or half as large"
# The values of a fingerprint that follow updates: three losses, and logits.
NUM_TRAINED_VALUES = 4


def behaviour_fingerprint(module: ModuleType, model: SoundModel, change: str = "") -> list[Any]:
    """Return what a model computes, learns and finds: equal if nothing tells two models apart.

    Args:
        module: The code of the model.
        model: What it is a mutant of.
        change: The name in `model.weight_changes` or `model.rotations` of what is done to the sound
            model's weights, which it then gets; `INITIAL_SCALE_CHANGE` gives it these as they are.
    """
    return list(_yield_behaviour_values(module, model, change))


def has_fingerprint(
    module: ModuleType, model: SoundModel, fingerprint: list[Any], change: str = ""
) -> bool:
    """Return whether a `behaviour_fingerprint` is this one; compute no more than it takes.

    After one of `model.rotations` what follows updates is not compared.
    """
    with contextlib.closing(_yield_behaviour_values(module, model, change)) as values:
        if change in model.rotations:
            pairs = zip(values, fingerprint[:-NUM_TRAINED_VALUES], strict=False)
            return all(one == other for one, other in pairs)
        return all(one == other for one, other in zip_longest(values, fingerprint))


def _yield_behaviour_values(
    module: ModuleType, model: SoundModel, change: str
) -> Generator[Any, None, None]:
    """Yield the values of `behaviour_fingerprint`, the cheapest first."""
    # In 64 bits sums in another order are the same.
    torch.set_default_dtype(torch.float64)
    try:
        network = module.make_model()
        if change:
            weights = dict(network.named_parameters())
            sound = dict(run_as_module(model.text).make_model().named_parameters())
            changes = {**model.weight_changes, **model.rotations, INITIAL_SCALE_CHANGE: dict}
            for name, weight in changes[change](sound).items():
                weights[name].data.copy_(weight)
        yield from _yield_adapter_behaviour_values(module.make_adapter(network))
    finally:
        torch.set_default_dtype(torch.float32)


def _yield_adapter_behaviour_values(adapter: Any) -> Iterator[Any]:
    chance = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, 23, (n,), generator=chance).tolist() for n in (3, 7, 5, 2)]
    src, tgt_in, tgt_out = adapter.make_batch(rows, rows[::-1])
    adapter.module.eval()
    yield from (src.tolist(), tgt_in.tolist(), tgt_out.tolist())
    logits = adapter.forward(src, tgt_in).detach()
    yield _to_rounded_list(logits)
    yield _to_rounded_list(adapter.loss(logits, tgt_out))
    yield adapter.candidate_score(-2.0, 7)
    yield [adapter.schedule(step) for step in (1, 30, 90)]
    if adapter.cached is not None:
        cache = adapter.cached.start(src)
        for pos in range(3):
            logits, cache = adapter.cached.step(tgt_in[:, pos : pos + 1], cache)
            yield _to_rounded_list(logits)
            cache = adapter.cached.reorder(cache, torch.tensor([1, 0, 2, 2]))
    for hypotheses in adapter.beam(src, 3, 6):
        for hypothesis in hypotheses:
            yield [hypothesis.ids, round(hypothesis.log_prob, 4), hypothesis.finished]
    yield adapter.greedy(src, 6)
    torch.manual_seed(0)
    for _ in range(3):
        yield round(adapter.train_step(src, tgt_in, tgt_out), 4)
    adapter.module.eval()
    yield _to_rounded_list(adapter.forward(src, tgt_in))


def _to_rounded_list(tensor: torch.Tensor) -> list[float]:
    return [round(number, 4) for number in tensor.detach().flatten().tolist()]


def weight_change_undoing_mutation(module: ModuleType, model: SoundModel, sound: list[Any]) -> str:
    """Return the change of weights after which a mutant computes what the sound model does."""
    changes = [*model.weight_changes, *model.rotations]
    if _draws_weights_of_similar_size(module, model):
        changes.append(INITIAL_SCALE_CHANGE)
    for change in changes:
        with contextlib.suppress(Exception):  # such as a weight that the mutant does not have
            if has_fingerprint(module, model, sound, change):
                return change
    return ""


@torch.no_grad()
def _draws_weights_of_similar_size(module: ModuleType, model: SoundModel) -> bool:
    """Return whether each weight is the sound model's times a factor, of at most 2 or 1/2."""
    drawn = dict(module.make_model().named_parameters())
    for name, weight in run_as_module(model.text).make_model().named_parameters():
        if name not in drawn or drawn[name].shape != weight.shape:
            return False
        if float(weight.norm()):
            ratio = float(drawn[name].norm() / weight.norm())
            is_similar = 1 / MAX_INITIAL_SCALE_RATIO <= ratio <= MAX_INITIAL_SCALE_RATIO
            if not is_similar or not torch.allclose(drawn[name], ratio * weight, rtol=1e-4):
                return False
    return True
