"""The loss counts each real token once, and no padding (§5.4)."""

import torch
from torch import Tensor

from attention_laws.law import Subject, law, needed
from attention_laws.report import Finding, broken, kept, not_tried, warned

ROUNDING = 1e-4  # share of a loss; half precision is no matter, the scores are drawn here
CONFIDENT = 100.0  # nats
LENGTHS = (2, 5)  # real tokens of the two sentences


class _Scores:
    """Scores as this model gives them, drawn at random, and what the loss says of them."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.probabilities = output_form(subject) == "probabilities"

    def draw(self, batch: int, length: int) -> Tensor:
        """Draw scores before the softmax, (batch, length, tgt_vocab_size)."""
        shape = (batch, length, self.subject.adapter.tgt_vocab_size)
        return torch.randn(shape, generator=self.subject.generator)

    def loss(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Give the loss of scores, normalised, or as probabilities where the loss wants these.

        Log-probabilities are logits too, and right for a loss that wants either.
        """
        given = scores.log_softmax(dim=-1)
        if self.probabilities and not shift_changes_nothing(self.subject):
            given = given.exp()
        return needed(self.subject.adapter.loss)(given, targets)


def output_form(subject: Subject) -> str:
    """Tell whether the model gives logits, log-probabilities or probabilities."""
    found = subject.logits(subject.src(2, 5), subject.tgt_in(2, 4))
    if bool((found >= 0).all()) and bool((found.sum(dim=-1) - 1).abs().max() < 1e-3):
        return "probabilities"
    if bool((found <= 0).all()) and bool((found.exp().sum(dim=-1) - 1).abs().max() < 1e-3):
        return "log-probabilities"
    return "logits"


def shift_changes_nothing(subject: Subject) -> bool:
    """Add a constant to the logits of each place; a softmax does not see it."""
    loss = needed(subject.adapter.loss)
    scores = torch.randn((2, 4, subject.adapter.tgt_vocab_size), generator=subject.generator)
    targets = subject.ids(subject.adapter.tgt_vocab_size, 2, 4)
    shifts = torch.tensor([0.5, 1.0, 1.5, 2.0])[:, None]
    losses = [float(loss(each, targets)) for each in (scores, scores + shifts)]
    return _near(*losses)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other), 1e-3)


@law("loss")
def softmax_is_taken_once(subject: Subject) -> Finding:
    """The loss takes a softmax of logits, once.

    Means: the model ends in a softmax and the loss takes another, which flattens every
    gradient; or the loss wants probabilities and is given logits
    Look: at the model's last line and at the name of the loss: CrossEntropyLoss takes logits,
    NLLLoss and KLDivLoss take log-probabilities
    """
    form = output_form(subject)
    softmax_inside = shift_changes_nothing(subject)
    if form == "probabilities" and softmax_inside:
        return broken("the model gives probabilities, and the loss takes a softmax of them again")
    if form == "logits" and not softmax_inside:
        return broken("a constant added to all logits of a place changes the loss of such logits")
    scores, true = _Scores(subject), subject.other_id(-1)
    alike = torch.zeros(1, 1, subject.adapter.tgt_vocab_size)
    another_is_sure = alike.clone()
    another_is_sure[..., subject.other_id(true)] = CONFIDENT
    target = torch.tensor([[true]])
    even, wrong = (float(scores.loss(each, target)) for each in (alike, another_is_sure))
    if even <= 0 or wrong < 4 * even:
        said = f"a log-probability of {-CONFIDENT:.0f} costs {wrong:.3g}, an even one {even:.3g}"
        return broken(f"{said}: the softmax is taken twice, or the loss has a ceiling")
    takes = "a" if softmax_inside else "no"
    return kept(f"the model gives {form}, and the loss takes {takes} softmax")


@law("loss", "pad_id")
def loss_ignores_padding(subject: Subject) -> Finding:
    """Padding is out of the loss, and out of what it is divided by.

    Means: ignore_index is missing, or the sum is divided by all places
    Look: at ignore_index, and at what the sum is divided by
    """
    pad_id = needed(subject.adapter.pad_id)
    scores = _Scores(subject)
    drawn, targets = scores.draw(2, max(LENGTHS)), _targets(subject)
    before = float(scores.loss(drawn, targets))
    other = torch.where((targets == pad_id)[..., None], scores.draw(2, max(LENGTHS)), drawn)
    longer = torch.cat((drawn, scores.draw(2, 3)), dim=1), subject.padded(targets, 3)
    cases = {"other logits at its padding": (other, targets), "3 more places of padding": longer}
    for what, given in cases.items():
        if not _near(before, moved := float(scores.loss(*given))):
            said = f"{what} move the loss from {before:.4g} to {moved:.4g}"
            return broken(said, tgt_out=targets[0])
    return kept("neither logits at padding nor more padding moves the loss")


def _targets(subject: Subject) -> Tensor:
    """Draw two targets of unequal lengths, (2, 5), eos at each end."""
    targets = subject.ids(subject.adapter.tgt_vocab_size, 2, max(LENGTHS))
    for row, length in enumerate(LENGTHS):
        targets[row, length - 1] = subject.adapter.eos_id
        if subject.adapter.pad_id is not None:
            targets[row, length:] = subject.adapter.pad_id
    return targets


@law("loss", "pad_id")
def loss_weighs_tokens_equally(subject: Subject) -> Finding:
    """The loss is a sum over tokens, or a mean over tokens.

    Means: a mean is divided again, or means are averaged: tokens of short sentences weigh more
    Look: at each mean() and each division after the loss
    """
    scores = _Scores(subject)
    drawn, targets = scores.draw(2, max(LENGTHS)), _targets(subject)
    both = float(scores.loss(drawn, targets))
    rows = [(drawn[i : i + 1, :n], targets[i : i + 1, :n]) for i, n in enumerate(LENGTHS)]
    one, other = (float(scores.loss(*row)) for row in rows)
    # One sentence said twice over: a sum doubles, a mean does not.
    twice = float(scores.loss(drawn[1:].repeat(1, 2, 1), targets[1:].repeat(1, 2)))
    few, many = LENGTHS
    seen = f"sentences of {few} and {many} tokens cost {one:.4g} and {other:.4g} alone"
    seen += f", together {both:.4g}"
    if _near(twice, 2 * other) and (_near(both, one + other) or _near(both, (one + other) / 2)):
        return kept(f"a sum over tokens, or over those of a sentence: {seen}")
    if _near(twice, other) and _near(both, (few * one + many * other) / (few + many)):
        return kept(f"a mean over tokens: {seen}")
    if _near(twice, other) and _near(both, (one + other) / 2):
        return broken(f"a mean of sentence means, not of tokens: {seen}")
    return broken(f"neither a sum nor a mean over tokens: {seen}; one twice over {twice:.4g}")


@law("loss")
def loss_favors_the_target(subject: Subject) -> Finding:
    """At every real token the loss is lowered most by the true token's logit.

    Means: targets are shifted against the logits, once too often, or eos is left out
    Look: at what is shifted where: by the batch, by the model or by the loss, but once
    """
    scores = _Scores(subject)
    targets = _targets(subject)
    slopes = _slopes(scores, torch.zeros_like(scores.draw(2, max(LENGTHS))), targets)
    pad_id = subject.adapter.pad_id
    real = torch.ones_like(targets) if pad_id is None else targets.ne(pad_id)
    for row, place in real.nonzero().tolist():
        true, wanted = int(targets[row, place]), int(slopes[row, place].argmin())
        where = f"tgt_out {targets[row].tolist()}, position {place}"
        if not bool(slopes[row, place].any()):
            return broken(f"{where}: the loss does not depend on the logits there")
        if wanted != true:
            return broken(f"{where}: the loss would have token {wanted}, not {true}")
    return kept(f"at each of {int(real.sum())} tokens, eos among them, the true one is wanted most")


def _slopes(scores: _Scores, at: Tensor, targets: Tensor) -> Tensor:
    """Give the gradient of the loss at scores."""
    at = at.clone().requires_grad_()
    (found,) = torch.autograd.grad(scores.loss(at, targets), at)
    return found


@law("loss")
def smoothed_targets_sum_to_one(subject: Subject) -> Finding:
    """The smoothed target is a distribution: it sums to one.

    Means: what the true token gives up is shared among more tokens, or fewer, than are there
    Look: at what the smoothing is divided by, and whether the true token and padding share it
    How: With probabilities p and a target q of mass m = sum(q), one token's loss has the gradient
    m p - q. Between two sets of logits q falls out, and m is left; then q.
    """
    scores = _Scores(subject)
    target = torch.tensor([[subject.other_id(-1)]])
    first, second = scores.draw(1, 1), scores.draw(1, 1)
    slopes = [_slopes(scores, each, target)[0, 0].double() for each in (first, second)]
    p = [each[0, 0].double().softmax(dim=-1) for each in (first, second)]
    change = p[0] - p[1]
    mass = float((slopes[0] - slopes[1]) @ change / (change @ change))
    left = (slopes[0] - slopes[1] - mass * change).abs().max()
    if left > ROUNDING * abs(mass):
        return not_tried("a token's loss is no cross-entropy to a fixed distribution")
    wanted = mass * p[0] - slopes[0]
    true = float(wanted[target[0, 0]])
    others = torch.cat((wanted[: target[0, 0]], wanted[target[0, 0] + 1 :]))
    plain = float(others.abs().max()) <= 1e-5 * abs(mass)
    least, most = float(others.min()), float(others.max())
    whole = abs(mass * round(1 / mass) - 1) < 1e-5  # a share of steps whose gradients add up
    if abs(mass - 1) > 1e-5 and plain and (whole or mass > 1):
        return warned(f"one token costs {mass:.4g} times its nats: no sum or mean over tokens")
    if abs(mass - 1) > 1e-5 or least < -1e-5:
        shares = f"{true:.4g} on the true token and {least:.4g} to {most:.4g} on the others"
        return broken(f"the target is {shares}, {mass:.6g} in all")
    if plain:
        return kept("no smoothing: the target is 1 on the true token")
    return kept(f"{true:.4g} on the true token and up to {most:.2g} on others, {mass:.5g} in all")
