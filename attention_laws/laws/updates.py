"""What a training step does: it goes down its own loss, and says what that was (§5.3)."""

import math
from typing import Any

import torch
from torch import Tensor

from attention_laws.law import assert_not_none, law
from attention_laws.laws.gradients import format_first_parameter_names
from attention_laws.model_state import force_eval_mode, hooks_removed_afterwards
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import MODEL_ERROR_TYPES, Subject

LAW_MODULE_SORT_KEY = 116
NUM_STEPS = 3
# Of a step and the direction down the loss: what weight decay alone moves is below it.
MIN_COSINE_WITH_DESCENT = 0.02
MIN_RELATIVE_MOVE = 1e-7  # of the weights in all steps; below it rounding decides
NUM_LOSS_DRAWS = 6  # passes with dropout, among whose losses the one of the step must be
MAX_RELATIVE_LOSS_ERROR = 1e-2  # a step may compute in 16 bits
MAX_ADAM_EPSILON = 1e-4
# AdamW's; where text is little and read many times, values above 3 have been found best.
MAX_WEIGHT_DECAY = 5.0
ENLARGEMENT = 1e4  # of gradients, so that they have to be clipped
MAX_RELATIVE_NORM_ERROR = 1e-2
MAX_FROZEN_MOVE = 1e-6  # share of the largest weight; what normalizes anew may round

Batch = tuple[Tensor, Tensor, Tensor]


@law("module", "train_step", "loss", compares=False)
def train_step_goes_down_its_loss(subject: Subject) -> Finding:
    """A step moves the weights down the loss of its own batch.

    Means: the loss is maximized or negated, gradients are clipped to nothing or computed of
    something else, and what still moves the weights is weight decay
    Look: at the sign of the loss, at `maximize`, at the clipping, and at what backward is called on
    """
    parameters = subject.trainable_parameters()
    train_step, optimizer = assert_not_none(subject.adapter.train_step), subject.adapter.optimizer
    # An optimizer that has seen other batches may go on along these for a while.
    has_history = optimizer is not None and bool(optimizer.state)
    along = moved = steepness = size = 0.0
    for _ in range(NUM_STEPS):
        batch = subject.draw_batch()
        gradients = _gradients_of_loss(subject, batch, parameters)
        before = {name: weight.detach().clone() for name, weight in parameters.items()}
        train_step(*batch)
        for name, gradient in gradients.items():
            move = (parameters[name].detach() - before[name]).double()
            along -= float((move * gradient.double()).sum())
            moved += float(move.square().sum())
            steepness += float(gradient.double().square().sum())
            size += float(before[name].double().square().sum())
    if not steepness or moved <= MIN_RELATIVE_MOVE**2 * size:
        return not_tried_finding("the weights do not move: see `train_step_updates_all_weights`")
    cosine = along / math.sqrt(moved * steepness)
    seen = f"{NUM_STEPS} steps and the way down the loss have a cosine of {cosine:.2g}"
    if cosine >= MIN_COSINE_WITH_DESCENT:
        return kept_finding(seen)
    if has_history:
        return not_tried_finding(f"{seen}, and the optimizer remembers other batches")
    way = "go up" if cosine < -MIN_COSINE_WITH_DESCENT else "do not go down"
    return broken_finding(f"{seen}: they {way}")


def _gradients_of_loss(
    subject: Subject, batch: Batch, parameters: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the gradient of the adapter's loss of a batch, in evaluation mode."""
    force_eval_mode(subject.module)
    loss = _loss_of_forward(subject, batch)
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    pairs = zip(parameters, gradients, strict=True)
    return {name: gradient for name, gradient in pairs if gradient is not None}


def _loss_of_forward(subject: Subject, batch: Batch) -> Tensor:
    src, tgt_in, tgt_out = batch
    return assert_not_none(subject.adapter.loss)(subject.adapter.forward(src, tgt_in), tgt_out)


@law("module", "train_step", "loss", compares=False)
def train_step_returns_its_loss(subject: Subject) -> Finding:
    """The loss that a step returns is that of forward on its batch.

    Means: the step passes on other ids, trains by another loss, or reports a number of its own
    Look: at what is passed to the model and to the loss in a step, and at what is returned
    How: With dropout it must be among the losses of several passes; a factor for the number of
    tokens, sentences or positions is a matter of unit.
    """
    batch = subject.draw_batch()
    losses = []
    with torch.no_grad():
        for seed in range(NUM_LOSS_DRAWS):
            subject.module.train()
            torch.manual_seed(seed)
            losses.append(float(_loss_of_forward(subject, batch)))
        force_eval_mode(subject.module)
        losses.append(float(_loss_of_forward(subject, batch)))
    torch.manual_seed(0)
    returned = float(assert_not_none(subject.adapter.train_step)(*batch))
    seen = f"a step returns {returned:.4g}, and forward has {min(losses):.4g} to {max(losses):.4g}"
    if not math.isfinite(returned):
        return broken_finding(seen)
    # Twice as far as the losses lie apart, which dropout alone does not take them.
    margin = (max(losses) - min(losses)) + MAX_RELATIVE_LOSS_ERROR * abs(max(losses))
    sentences, tokens = batch[2].shape[0], batch[2].numel()
    for factor in (1, tokens, sentences, tokens / sentences):
        for loss in (returned * factor, returned / factor):
            if min(losses) - margin <= loss <= max(losses) + margin:
                unit = "" if factor == 1 else f", but for a factor of {factor:g}"
                return kept_finding(f"{seen}{unit}")
    # A step may rightly train by a smoothed loss where the adapter's is plain.
    return warned_finding(seen)


@law("module", "optimizer", "train_step", compares=False)
def gradients_are_final_when_used(subject: Subject) -> Finding:
    """After the optimizer has used the gradients nothing but their clearing changes them.

    Means: gradients are clipped, scaled or averaged after the update, where it is too late
    Look: at the order of backward, clipping and optimizer.step()
    How: They are read after the optimizer's step, which may change them itself, as Muon's does.
    """
    parameters = subject.trainable_parameters()
    used: dict[str, Tensor] = {}

    def record(*_: object) -> None:
        used.update({n: w.grad.clone() for n, w in parameters.items() if w.grad is not None})

    optimizer = assert_not_none(subject.adapter.optimizer)
    with hooks_removed_afterwards([optimizer.register_step_post_hook(record)]):
        assert_not_none(subject.adapter.train_step)(*subject.draw_batch())
    if not used:
        return not_tried_finding("a train_step does not step this optimizer")
    changed = []
    for name, gradient in used.items():
        left = parameters[name].grad
        # A gradient that is cleared is None or zero.
        if left is not None and bool(left.any()) and not torch.equal(left, gradient):
            changed.append(name)
    if changed:
        names = format_first_parameter_names(changed)
        return broken_finding(f"after the update the gradients of {names} are changed")
    return kept_finding(f"{len(used)} gradients stay as they were used, or are cleared")


@law("optimizer", compares=False)
def optimizer_settings_are_plausible(subject: Subject) -> Finding:
    """Adam's settings are of the size that §5.3 has: beta_1 below beta_2, a small epsilon.

    Means: the betas are exchanged, the epsilon is that of another formula, the loss is maximized,
    or weights decay faster than they learn
    Look: at the arguments that the optimizer is made with
    """
    for number, group in enumerate(assert_not_none(subject.adapter.optimizer).param_groups):
        where = f"group {number} of the optimizer"
        if group.get("maximize"):
            return broken_finding(f"{where} maximizes the loss")
        if float(group.get("weight_decay", 0.0)) > MAX_WEIGHT_DECAY:
            return broken_finding(f"{where} has a weight decay of {group['weight_decay']}")
        # Of three betas, as Adan's, the order is another.
        betas: tuple[float, ...] = group.get("betas") or ()
        if len(betas) == 2 and betas[0] > betas[1]:
            return broken_finding(f"{where} has betas of {betas[0]} and {betas[1]}: exchanged?")
        epsilon = group.get("eps", 0.0)
        epsilon = (
            max((x for x in epsilon if x), default=0.0) if isinstance(epsilon, tuple) else epsilon
        )
        if betas and float(epsilon) > MAX_ADAM_EPSILON:
            return warned_finding(f"{where} has an epsilon of {epsilon}, §5.3 one of 1e-9")
    return kept_finding("no setting of the optimizer is out of its order")


@law("optimizer", "optimizer_settings", compares=False)
def optimizer_settings_are_as_told(subject: Subject) -> Finding:
    """Each group of the optimizer has the settings that were asked for.

    Means: an argument is left out, so that the optimizer has its own default, or is another number
    Look: at the arguments that the optimizer is made with
    """
    told = assert_not_none(subject.adapter.optimizer_settings)
    groups = assert_not_none(subject.adapter.optimizer).param_groups
    for name, value in told.items():
        if any(name not in group for group in groups):
            return not_tried_finding(f"the optimizer has no setting {name}")
        # Groups of their own without decay are a custom: norms and shifts are in these.
        may_be_zero = name == "weight_decay" and any(_are_equal(x[name], value) for x in groups)
        for number, group in enumerate(groups):
            if not (_are_equal(group[name], value) or (may_be_zero and not group[name])):
                seen = f"group {number} of the optimizer has {name} {group[name]}"
                return broken_finding(f"{seen}, and {value} is told")
    return kept_finding(f"the optimizer has {', '.join(f'{n} {v}' for n, v in told.items())}")


def _are_equal(setting: Any, told: Any) -> bool:
    """Return whether two settings are equal, a list and a tuple of the same numbers too."""
    one, other = (tuple(x) if isinstance(x, list) else x for x in (setting, told))
    return bool(one == other)


@law("module", "optimizer", "train_step", "max_gradient_norm", compares=False)
def gradients_are_clipped_as_told(subject: Subject) -> Finding:
    """The gradients that the optimizer gets have at most the norm that was asked for.

    Means: they are clipped to another norm, not at all, or before backward has computed them
    Look: at the order of backward, clipping and optimizer.step(), and at the norm
    How: Each gradient is enlarged as soon as it is there, so that there is something to clip.
    """
    told = float(assert_not_none(subject.adapter.max_gradient_norm))
    norms: list[float] = []
    parameters = subject.trainable_parameters().values()

    def record(*_: object) -> None:
        squares = [float(w.grad.double().square().sum()) for w in parameters if w.grad is not None]
        norms.append(math.sqrt(sum(squares)))

    hooks = [weight.register_hook(lambda gradient: gradient * ENLARGEMENT) for weight in parameters]
    optimizer = assert_not_none(subject.adapter.optimizer)
    with hooks_removed_afterwards([*hooks, optimizer.register_step_pre_hook(record)]):
        assert_not_none(subject.adapter.train_step)(*subject.draw_batch())
    if not norms:
        return not_tried_finding("a train_step does not step this optimizer")
    seen = f"gradients {ENLARGEMENT:g} times as large reach the optimizer with a norm of"
    seen += f" {norms[0]:.4g}, and {told:g} is told"
    if abs(norms[0] - told) <= MAX_RELATIVE_NORM_ERROR * told:
        return kept_finding(seen)
    return broken_finding(seen)


@law("module", "train_step", compares=False)
def frozen_weights_stay(subject: Subject) -> Finding:
    """A weight that requires no gradient is not changed by training.

    Means: the step switches all gradients on, or weights are changed by hand
    Look: at requires_grad_ in the step, and at what else writes into weights
    How: The second step is judged: the first may bring weights to the length that all steps keep.
    """
    matrices = {n: w for n, w in subject.trainable_parameters().items() if w.dim() > 1}
    if not matrices:
        return not_tried_finding("it has no matrix to freeze")
    name, weight = max(matrices.items(), key=lambda pair: pair[1].numel())
    weight.requires_grad_(False)
    weight.grad = None
    try:
        assert_not_none(subject.adapter.train_step)(*subject.draw_batch())
        before = weight.detach().clone()
        assert_not_none(subject.adapter.train_step)(*subject.draw_batch())
    except MODEL_ERROR_TYPES as error:
        # A step written by hand may count on every gradient.
        return not_tried_finding(f"with {name} frozen a step raises: {str(error)[:100]}")
    moved = float((weight.detach() - before).abs().max())
    if moved > MAX_FROZEN_MOVE * float(before.abs().max()):
        return broken_finding(f"{name}, frozen, moves by {moved:.2g} in a step")
    return kept_finding(f"{name}, frozen, stays")
