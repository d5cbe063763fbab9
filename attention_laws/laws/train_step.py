"""A training step updates every parameter, from its own batch, in training mode (§5.3)."""

import torch
from torch import Tensor, nn

from attention_laws.law import assert_not_none, law
from attention_laws.laws.gradients import format_first_parameter_names
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 115


@law("module", "optimizer", compares=False)
def optimizer_holds_all_parameters(subject: Subject) -> Finding:
    """The optimizer holds every parameter of this model.

    Means: it was made for another model, before a layer was added or replaced, or the layers
    stand in a plain list that parameters() does not see
    Look: at where the optimizer is made, and of what
    """
    parameters = subject.trainable_parameters()
    groups = assert_not_none(subject.adapter.optimizer).param_groups
    held = [weight for group in groups for weight in group["params"]]
    held_ids = {id(weight) for weight in held}
    missing = [name for name, weight in parameters.items() if id(weight) not in held_ids]
    own_ids = {id(weight) for weight in subject.module.parameters()}
    foreign = sum(id(weight) not in own_ids for weight in held)
    if missing:
        seen = f"the optimizer does not hold {format_first_parameter_names(missing)}"
        if foreign:
            seen += f"; {foreign} of its {len(held)} are no parameters of this model"
        return broken_finding(seen)
    if foreign:
        return warned_finding(f"the optimizer holds {foreign} parameters that are not this model's")
    return kept_finding(f"the optimizer holds all {len(parameters)} parameters and no others")


@law("module", "train_step", compares=False)
def train_step_updates_all_weights(subject: Subject) -> Finding:
    """A few steps move every matrix.

    Means: the step is another optimizer's, the rate is 0, or a matrix gets no gradient
    Look: at which optimizer is stepped, and at its rate
    """
    parameters = subject.trainable_parameters()
    before = {name: weight.detach().clone() for name, weight in parameters.items()}
    for _ in range(3):
        assert_not_none(subject.adapter.train_step)(*subject.draw_batch())
    moves = {n: float((w.detach() - before[n]).abs().max()) for n, w in parameters.items()}
    largest = max(moves.values(), default=0.0)
    if largest == 0:
        return broken_finding(f"no parameter of {len(parameters)} moved in 3 steps")
    unmoved = []
    for name, weight in before.items():
        # A move below the last digit of a large weight is lost.
        last_digit = 4 * float(weight.abs().max()) * torch.finfo(weight.dtype).eps
        # A vector may rightly have a gradient of zero.
        if weight.dim() > 1 and not moves[name] and largest > last_digit:
            unmoved.append(name)
    if unmoved:
        names = format_first_parameter_names(unmoved)
        return broken_finding(f"3 steps do not move {names}; others by up to {largest:.2g}")
    return kept_finding(f"3 steps move every matrix, the one that moves most by {largest:.2g}")


@law("module", "train_step")
def gradients_are_zeroed_between_steps(subject: Subject) -> Finding:
    """A step's gradient comes from its own batch alone.

    Means: gradients are not zeroed between steps, and add up
    Look: for zero_grad() before backward(), of the optimizer or of the model
    """
    parameters = subject.trainable_parameters()
    values = {name: weight.detach().clone() for name, weight in parameters.items()}
    other_batch, own_batch = subject.draw_batch(), subject.draw_batch()

    def last_gradients(*batches: tuple[Tensor, Tensor, Tensor]) -> dict[str, Tensor]:
        """Return the gradients of the last of these batches, each trained from the same weights."""
        grads = {}
        for weight in parameters.values():
            weight.grad = None
        for batch in batches:
            with torch.no_grad():
                for name, weight in parameters.items():
                    weight.copy_(values[name])
            grads = _gradients_of_one_step(subject, parameters, batch)
        return grads

    alone = last_gradients(own_batch)
    if not alone:
        return not_tried_finding(
            "after a step no parameter has a gradient, and no optimizer is known"
        )
    if _relative_gradient_distance(alone, last_gradients(own_batch)) > 1e-3:
        return not_tried_finding(
            "the same step twice has other gradients: it draws random numbers itself"
        )
    distance = _relative_gradient_distance(alone, last_gradients(other_batch, own_batch))
    if distance > 1e-2:
        seen = f"a step's gradient differs by {distance:.0%} if another batch was trained before it"
        return broken_finding(f"{seen}, from the same weights")
    return kept_finding("a step has the same gradient alone and after one on another batch")


def _gradients_of_one_step(
    subject: Subject, parameters: dict[str, Tensor], batch: tuple[Tensor, Tensor, Tensor]
) -> dict[str, Tensor]:
    """Make one step; return the gradients that the optimizer found, or those that are left."""
    grads: dict[str, Tensor] = {}

    def record(*_: object) -> None:
        grads.update({n: w.grad.clone() for n, w in parameters.items() if w.grad is not None})

    optimizer = subject.adapter.optimizer
    torch.manual_seed(0)
    with hooks_removed_afterwards(
        [] if optimizer is None else [optimizer.register_step_pre_hook(record)]
    ):
        assert_not_none(subject.adapter.train_step)(*batch)
    if not grads:
        record()
    return grads


def _relative_gradient_distance(first: dict[str, Tensor], second: dict[str, Tensor]) -> float:
    """Return how far gradients are apart, as a share of their size."""
    squared_size = sum(float(grad.float().square().sum()) for grad in first.values())
    squared_gap = 0.0
    for name, grad in first.items():
        gap = grad - second[name] if name in second else grad
        squared_gap += float(gap.float().square().sum())
    return float(squared_gap / max(squared_size, 1e-30)) ** 0.5


@law("module", "train_step", compares=False)
def train_step_runs_in_train_mode(subject: Subject) -> Finding:
    """Dropout is on in every step of training.

    Means: eval() was called to translate or to validate, and train() was not called again
    Look: at what is called before each epoch and after each validation
    """
    module, train_step = subject.module, assert_not_none(subject.adapter.train_step)
    layers = [part for part in module.modules() if isinstance(part, nn.Dropout) and part.p > 0]
    if not layers:
        return not_tried_finding("it has no nn.Dropout with a probability above 0")
    modes: list[bool] = []

    def record(layer: nn.Module, _: object) -> None:
        if torch.is_grad_enabled():
            modes.append(layer.training)

    def share_in_training(start_in_training: bool) -> float:
        modes.clear()
        module.train(start_in_training)
        for _ in range(2):
            train_step(*subject.draw_batch())
        return sum(modes) / max(len(modes), 1)

    with hooks_removed_afterwards(layer.register_forward_pre_hook(record) for layer in layers):
        after_train, after_eval = share_in_training(True), share_in_training(False)
    if not modes:
        return not_tried_finding("no nn.Dropout is called in a step")
    if after_train < 1:
        share = f"{1 - after_train:.0%}"
        return broken_finding(
            f"in an update {share} of the calls of dropout are in evaluation mode"
        )
    if after_eval < 1:
        return warned_finding(
            "a step after eval() has no dropout: who calls train_step must call train()"
        )
    return kept_finding("dropout is on in every step, after eval() too")
