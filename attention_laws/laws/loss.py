"""The loss counts each real token once, and no padding (§5.4)."""

import torch
from torch import Tensor

from attention_laws.law import assert_not_none, law
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 30
# Share of a loss; half precision does not matter, since the logits are drawn here.
RELATIVE_LOSS_TOLERANCE = 1e-4
CONFIDENT_LOGIT = 100.0  # nats
TARGET_LENGTHS = (2, 5)  # real tokens of the two sentences


class _LossOnRandomLogits:
    """Random logits in the form in which this model returns them, and their loss."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.are_probabilities = detect_model_output_form(subject) == "probabilities"

    def draw(self, batch: int, length: int) -> Tensor:
        """Draw logits, (batch, length, tgt_vocab_size)."""
        shape = (batch, length, self.subject.adapter.tgt_vocab_size)
        return torch.randn(shape, generator=self.subject.generator)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of logits: normalized, or as probabilities if the loss takes these.

        Log-probabilities are logits too, and right for a loss that takes either.
        """
        outputs = logits.log_softmax(dim=-1)
        if self.are_probabilities and not detect_loss_shift_invariance(self.subject):
            outputs = outputs.exp()
        return assert_not_none(self.subject.adapter.loss)(outputs, targets)


def detect_model_output_form(subject: Subject) -> str:
    """Return whether the model's outputs are logits, log-probabilities or probabilities."""
    outputs = subject.logits(subject.draw_src(2, 5), subject.draw_tgt_in(2, 4))
    if bool((outputs >= 0).all()) and bool((outputs.sum(dim=-1) - 1).abs().max() < 1e-3):
        return "probabilities"
    if bool((outputs <= 0).all()) and bool((outputs.exp().sum(dim=-1) - 1).abs().max() < 1e-3):
        return "log-probabilities"
    return "logits"


def detect_loss_shift_invariance(subject: Subject) -> bool:
    """Return whether a constant added to all logits of a position leaves the loss the same.

    It does if the loss takes a softmax.
    """
    loss = assert_not_none(subject.adapter.loss)
    logits = torch.randn((2, 4, subject.adapter.tgt_vocab_size), generator=subject.generator)
    targets = subject.draw_ids(subject.adapter.tgt_vocab_size, 2, 4)
    shifts = torch.tensor([0.5, 1.0, 1.5, 2.0])[:, None]
    return _are_losses_close(float(loss(logits, targets)), float(loss(logits + shifts, targets)))


def _are_losses_close(first: float, second: float) -> bool:
    return abs(first - second) <= RELATIVE_LOSS_TOLERANCE * max(abs(first), abs(second), 1e-3)


@law("loss")
def softmax_is_taken_once(subject: Subject) -> Finding:
    """The loss takes a softmax of logits, once.

    Means: the model ends in a softmax and the loss takes another, which flattens every
    gradient; or the loss expects probabilities and gets logits
    Look: at the model's last line and at the name of the loss: CrossEntropyLoss takes logits,
    NLLLoss and KLDivLoss take log-probabilities
    """
    form = detect_model_output_form(subject)
    softmax_inside = detect_loss_shift_invariance(subject)
    if form == "probabilities" and softmax_inside:
        return broken_finding(
            "the model returns probabilities, and the loss takes a softmax of them again"
        )
    if form == "logits" and not softmax_inside:
        return broken_finding("a constant added to all logits of a position changes the loss")
    random_logits, true_token = _LossOnRandomLogits(subject), subject.ordinary_id_other_than(-1)
    even_logits = torch.zeros(1, 1, subject.adapter.tgt_vocab_size)
    wrong_logits = even_logits.clone()
    wrong_logits[..., subject.ordinary_id_other_than(true_token)] = CONFIDENT_LOGIT
    target = torch.tensor([[true_token]])
    even_loss = float(random_logits.loss(even_logits, target))
    wrong_loss = float(random_logits.loss(wrong_logits, target))
    if even_loss <= 0 or wrong_loss < 4 * even_loss:
        seen = f"a log-probability of {-CONFIDENT_LOGIT:.0f} costs {wrong_loss:.3g}"
        seen += f", a uniform one {even_loss:.3g}"
        return broken_finding(f"{seen}: the softmax is taken twice, or the loss has a ceiling")
    softmaxes = "a" if softmax_inside else "no"
    return kept_finding(f"the model returns {form}, and the loss takes {softmaxes} softmax")


@law("loss", "pad_id")
def loss_ignores_padding(subject: Subject) -> Finding:
    """Padding is left out of the loss, and of what it is divided by.

    Means: ignore_index is missing, or the sum is divided by all positions
    Look: at ignore_index, and at what the sum is divided by
    """
    pad_id = assert_not_none(subject.tgt_pad_id)
    random_logits = _LossOnRandomLogits(subject)
    logits, targets = random_logits.draw(2, max(TARGET_LENGTHS)), _draw_padded_targets(subject)
    loss = float(random_logits.loss(logits, targets))
    is_padding = (targets == pad_id)[..., None]
    other_at_padding = torch.where(is_padding, random_logits.draw(2, max(TARGET_LENGTHS)), logits)
    longer = (
        torch.cat((logits, random_logits.draw(2, 3)), dim=1),
        subject.with_tgt_padding_appended(targets, 3),
    )
    cases = {
        "other logits at padding": (other_at_padding, targets),
        "3 more positions of padding": longer,
    }
    for change, arguments in cases.items():
        changed_loss = float(random_logits.loss(*arguments))
        if not _are_losses_close(loss, changed_loss):
            seen = f"{change} move the loss from {loss:.4g} to {changed_loss:.4g}"
            return broken_finding(seen, tgt_out=targets[0])
    return kept_finding("neither logits at padding nor more padding moves the loss")


def _draw_padded_targets(subject: Subject) -> Tensor:
    """Draw two targets of unequal lengths, (2, 5), each ending in eos."""
    targets = subject.draw_ids(subject.adapter.tgt_vocab_size, 2, max(TARGET_LENGTHS))
    for row, length in enumerate(TARGET_LENGTHS):
        targets[row, length - 1] = subject.adapter.eos_id
        if subject.tgt_pad_id is not None:
            targets[row, length:] = subject.tgt_pad_id
    return targets


@law("loss", "pad_id")
def loss_weighs_tokens_equally(subject: Subject) -> Finding:
    """The loss is a sum over tokens, or a mean over tokens.

    Means: a mean is divided again, or means are averaged: tokens of short sentences weigh more
    Look: at each mean() and each division after the loss
    """
    random_logits = _LossOnRandomLogits(subject)
    logits, targets = random_logits.draw(2, max(TARGET_LENGTHS)), _draw_padded_targets(subject)
    together = float(random_logits.loss(logits, targets))
    short, long = (
        float(random_logits.loss(logits[row : row + 1, :length], targets[row : row + 1, :length]))
        for row, length in enumerate(TARGET_LENGTHS)
    )
    # The same sentence twice in a row: a sum doubles, a mean does not.
    doubled_logits, doubled_targets = logits[1:].repeat(1, 2, 1), targets[1:].repeat(1, 2)
    doubled = float(random_logits.loss(doubled_logits, doubled_targets))
    few, many = TARGET_LENGTHS
    seen = f"sentences of {few} and {many} tokens cost {short:.4g} and {long:.4g} alone"
    seen += f", {together:.4g} together"
    sums_tokens = _are_losses_close(doubled, 2 * long)
    if sums_tokens and (
        _are_losses_close(together, short + long) or _are_losses_close(together, (short + long) / 2)
    ):
        return kept_finding(f"a sum over tokens, or over those of a sentence: {seen}")
    averages_tokens = _are_losses_close(doubled, long)
    if averages_tokens and _are_losses_close(together, (few * short + many * long) / (few + many)):
        return kept_finding(f"a mean over tokens: {seen}")
    if averages_tokens and _are_losses_close(together, (short + long) / 2):
        return broken_finding(f"a mean of sentence means, not of tokens: {seen}")
    seen += f"; one of them twice in a row costs {doubled:.4g}"
    return broken_finding(f"neither a sum nor a mean over tokens: {seen}")


@law("loss")
def loss_favors_the_target(subject: Subject) -> Finding:
    """At every real token the logit of the true token lowers the loss most.

    Means: targets are shifted against the logits, once too often, or eos is left out
    Look: at what is shifted where: by the batch, by the model or by the loss, but once
    """
    random_logits = _LossOnRandomLogits(subject)
    targets = _draw_padded_targets(subject)
    zero_logits = torch.zeros_like(random_logits.draw(2, max(TARGET_LENGTHS)))
    gradient = _loss_gradient_at_logits(random_logits, zero_logits, targets)
    pad_id = subject.tgt_pad_id
    is_real = torch.ones_like(targets) if pad_id is None else targets.ne(pad_id)
    for row, position in is_real.nonzero().tolist():
        true_token = int(targets[row, position])
        favored = int(gradient[row, position].argmin())
        where = f"tgt_out {targets[row].tolist()}, position {position}"
        if not bool(gradient[row, position].any()):
            return broken_finding(f"{where}: the loss does not depend on the logits there")
        if favored != true_token:
            return broken_finding(f"{where}: the loss favors token {favored}, not {true_token}")
    count = int(is_real.sum())
    return kept_finding(
        f"at each of {count} tokens, eos among them, the loss favors the true token"
    )


def _loss_gradient_at_logits(
    random_logits: _LossOnRandomLogits, logits: Tensor, targets: Tensor
) -> Tensor:
    """Return the gradient of the loss with respect to the logits."""
    logits = logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(random_logits.loss(logits, targets), logits)
    return gradient


@law("loss")
def smoothed_targets_sum_to_one(subject: Subject) -> Finding:
    """The smoothed target is a distribution: it sums to one.

    Means: what the true token gives up is shared among more tokens, or fewer, than there are
    Look: at what the smoothing is divided by, and whether the true token and padding share it
    How: With probabilities p and a target q of mass m = sum(q), one token's loss has the gradient
    m p - q. Between two sets of logits q cancels out, which leaves m; then q.
    """
    random_logits = _LossOnRandomLogits(subject)
    target = torch.tensor([[subject.ordinary_id_other_than(-1)]])
    first_logits, second_logits = random_logits.draw(1, 1), random_logits.draw(1, 1)
    first_gradient = _loss_gradient_at_logits(random_logits, first_logits, target)[0, 0].double()
    second_gradient = _loss_gradient_at_logits(random_logits, second_logits, target)[0, 0].double()
    first_p = first_logits[0, 0].double().softmax(dim=-1)
    second_p = second_logits[0, 0].double().softmax(dim=-1)
    change = first_p - second_p
    gradient_change = first_gradient - second_gradient
    mass = float(gradient_change @ change / (change @ change))
    unexplained = (gradient_change - mass * change).abs().max()
    if unexplained > RELATIVE_LOSS_TOLERANCE * abs(mass):
        return not_tried_finding("a token's loss is no cross-entropy to a fixed distribution")
    smoothed = mass * first_p - first_gradient
    true_token = int(target)
    true_share = float(smoothed[true_token])
    others = torch.cat((smoothed[:true_token], smoothed[true_token + 1 :]))
    told = subject.adapter.label_smoothing
    # The true token may have a part of what is shared among all, or among some of them.
    if told is not None and not -1e-4 <= true_share / mass - (1 - told) <= 3 * told / len(smoothed):
        seen = f"the true token has {true_share / mass:.4g} of the target"
        return broken_finding(f"{seen}, and a smoothing of {told:g} is told")
    return _judge_smoothed_target(mass, true_share, others)


def _judge_smoothed_target(mass: float, true_share: float, others: Tensor) -> Finding:
    """Return the finding for a target: its sum, its share on the true token, and the others'."""
    unsmoothed = float(others.abs().max()) <= 1e-5 * abs(mass)
    least, most = float(others.min()), float(others.max())
    # A fraction 1 / n: the loss of one of n steps whose gradients are added.
    is_fraction = abs(mass * round(1 / mass) - 1) < 1e-5
    if abs(mass - 1) > 1e-5 and unsmoothed and (is_fraction or mass > 1):
        return warned_finding(
            f"one token costs {mass:.4g} times its nats: no sum or mean over tokens"
        )
    if abs(mass - 1) > 1e-5 or least < -1e-5:
        shares = f"{true_share:.4g} on the true token and {least:.4g} to {most:.4g} on the others"
        return broken_finding(f"the target is {shares}, {mass:.6g} in all")
    if unsmoothed:
        return kept_finding("no smoothing: the target is 1 on the true token")
    shares = f"{true_share:.4g} on the true token and up to {most:.2g} on others"
    return kept_finding(f"{shares}, {mass:.5g} in all")
