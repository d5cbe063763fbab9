"""Every parameter is trained, and by this optimizer (§5.3)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_laws.law import Subject, law, needed
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.untouched import hooked

NAMED = 4  # parameters that a finding names


@law("module", compares=False)
def gradients_reach_all_parameters(subject: Subject) -> Finding:
    """The loss has a gradient at every parameter.

    Means: a layer is never used, or cut off by detach, no_grad, argmax or a new tensor
    Look: in forward, at the layer that is named
    How: Some right models begin with matrices of zeros, behind which nothing has a gradient: all
    are shaken a little before one is called cut off.
    """
    names = trainable(subject)
    if not names:
        return not_tried("no parameter requires a gradient")
    loss = _loss(subject)
    if not loss.requires_grad:
        return broken("logits have no gradient at all: forward runs under no_grad, or detaches")
    found = _gradients(loss, names)
    if odd := [n for n, g in found.items() if g is not None and not g.isfinite().all()]:
        return broken(f"the gradient of the loss is no number at {listed(odd)}")
    if silent := _silent(subject, found):
        with torch.no_grad():
            for weight in names.values():
                size = float(weight.abs().mean()) or 0.01
                noise = torch.randn(weight.shape, generator=subject.generator)
                weight.add_(noise.to(weight) * size / 5)
        found = _gradients(_loss(subject), {name: names[name] for name in silent})
        if silent := _silent(subject, found):
            return broken(f"no gradient of the loss reaches {listed(silent)}")
    return kept(f"the loss of a batch has a gradient at each of {len(names)} parameters")


def trainable(subject: Subject) -> dict[str, Tensor]:
    """Give the parameters that require a gradient, by their names."""
    return {n: p for n, p in subject.module.named_parameters() if p.requires_grad}


def listed(names: list[str]) -> str:
    """Name a few parameters, and count the rest."""
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def _gradients(loss: Tensor, parameters: dict[str, Tensor]) -> dict[str, Tensor | None]:
    """Give the gradient of the loss at each of them, None where it has none."""
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return dict(zip(parameters, found, strict=True))


def _silent(subject: Subject, found: dict[str, Tensor | None]) -> list[str]:
    """Name what has no gradient, or has none in a half or third of several maps in one.

    A vector of zeros may be right: the bias of keys is.
    """
    named = subject.module.named_modules()
    maps = {f"{name}.weight" for name, each in named if isinstance(each, nn.Linear)}
    silent = []
    for name, grad in found.items():
        times = 0 if grad is None or name not in maps else len(grad) / grad.shape[1]
        parts = [] if grad is None else grad.chunk(int(times) if times in (2, 3) else 1)
        if grad is None or (grad.dim() > 1 and not all(bool(each.any()) for each in parts)):
            silent.append(name)
    return silent


def _loss(subject: Subject) -> Tensor:
    """Give the loss of a batch of random sentences, the adapter's own if it has one."""
    adapter = subject.adapter
    src, tgt_in, tgt_out = batch(subject)
    if adapter.loss is not None:
        return adapter.loss(adapter.forward(src, tgt_in), tgt_out)
    return _cross_entropy(subject, src, tgt_in, tgt_out)


def _cross_entropy(subject: Subject, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    logits = subject.adapter.forward(src, tgt_in).flatten(end_dim=1)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(logits, tgt_out.flatten())


def batch(subject: Subject, sentences: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    """Draw src (sentences, 9), tgt_in and tgt_out (sentences, 8): a target and its successor."""
    src, tgt_in = subject.src(sentences, 9), subject.tgt_in(sentences, 8)
    eos = torch.full((sentences, 1), subject.adapter.eos_id)
    return src, tgt_in, torch.cat((tgt_in[:, 1:], eos), dim=1)


@law("module")
def autograd_matches_finite_differences(subject: Subject) -> Finding:
    """The gradient is the loss's slope: a step along a line changes the loss by as much.

    Means: one of several ways to a parameter is cut off, by detach, .data, no_grad or item, so
    that it is trained by a part of its effect
    Look: in forward, at each detach() and no_grad()
    """
    names = trainable(subject)
    tables = [each for each in subject.module.modules() if isinstance(each, nn.Embedding)]
    given, gaps = batch(subject), []

    @torch.no_grad()
    def loss_at(step: float, line: dict[str, Tensor]) -> float:
        for name, weight in names.items():
            weight.copy_(own[name] + step * line[name])
        return float(_cross_entropy(subject, *given))

    with subject.in_float64():
        if subject.logits(*given[:2]).dtype != torch.float64:
            return not_tried("it does not compute in 64 bits")
        own = {name: weight.detach().clone() for name, weight in names.items()}
        for _ in range(3):
            line = {n: torch.randn_like(w) * w.abs().mean() for n, w in own.items()}
            for table in tables:  # no gradient is kept for padding, on purpose
                for name in (n for n, w in names.items() if w is table.weight):
                    line[name][[] if table.padding_idx is None else table.padding_idx] = 0
            loss_at(0, line)
            found = _gradients(_cross_entropy(subject, *given), names)
            parts = [float((g * line[n]).sum()) for n, g in found.items() if g is not None]
            slopes = [(loss_at(s, line) - loss_at(-s, line)) / (2 * s) for s in (1e-6, 3e-7)]
            size = max(sum(each**2 for each in parts) ** 0.5, 1e-12)
            unsure = abs(slopes[0] - slopes[1]) / size  # large where something rounds to 32 bits
            gap = abs(slopes[1] - sum(parts)) / size
            if gap <= 1e-4 + 10 * unsure < 1e-2:
                return kept(f"slope and gradient along a line are {gap:.1g} of them apart")
            gaps += [gap] if unsure < 1e-3 else []
    if not gaps:
        return not_tried("slopes are no sharper by a shorter step: something rounds to 32 bits")
    return broken(f"along {len(gaps)} lines the loss's slope is {gaps[0]:.1%} off its gradient")


@law("module", "optimizer", compares=False)
def optimizer_holds_all_parameters(subject: Subject) -> Finding:
    """The optimizer holds every parameter of this model.

    Means: it was made for another model, before a layer was added or replaced, or the layers
    stand in a plain list that parameters() does not see
    Look: at where the optimizer is made, and of what
    """
    names = trainable(subject)
    held = [p for group in needed(subject.adapter.optimizer).param_groups for p in group["params"]]
    ids = {id(each) for each in held}
    missing = [name for name, weight in names.items() if id(weight) not in ids]
    own = {id(each) for each in subject.module.parameters()}
    foreign = sum(id(each) not in own for each in held)
    beside = f"; {foreign} of its {len(held)} are no parameters of this model" if foreign else ""
    if missing:
        return broken(f"the optimizer does not hold {listed(missing)}{beside}")
    if foreign:
        return warned(f"the optimizer holds {foreign} parameters that are not this model's")
    return kept(f"the optimizer holds all {len(names)} parameters and no others")


@law("module", "train_step", compares=False)
def train_step_updates_all_weights(subject: Subject) -> Finding:
    """A few steps move every matrix.

    Means: the step is another optimizer's, the rate is 0, or a matrix gets no gradient
    Look: at which optimizer is stepped, and at its rate
    """
    names = trainable(subject)
    before = {name: weight.detach().clone() for name, weight in names.items()}
    for _ in range(3):
        needed(subject.adapter.train_step)(*batch(subject))
    moves = {n: float((w.detach() - before[n]).abs().max()) for n, w in names.items()}
    largest = max(moves.values(), default=0.0)
    if largest == 0:
        return broken(f"no parameter of {len(names)} moved in 3 steps")
    # A vector of zero gradient may be right; a move below the last digit of a large weight is lost.
    digits = {n: 4 * float(w.abs().max()) * torch.finfo(w.dtype).eps for n, w in before.items()}
    still = [n for n, w in before.items() if w.dim() > 1 and not moves[n] and largest > digits[n]]
    if still:
        return broken(f"3 steps do not move {listed(still)}; others by up to {largest:.2g}")
    return kept(f"3 steps move every matrix, the one that moves most by {largest:.2g}")


@law("module", "train_step")
def gradients_are_zeroed_between_steps(subject: Subject) -> Finding:
    """A step's gradient comes from its own batch alone.

    Means: gradients are not cleared between steps, and add up
    Look: for zero_grad() before backward(), of the optimizer or of the model
    """
    names = trainable(subject)
    weights = {name: weight.detach().clone() for name, weight in names.items()}
    other, own = batch(subject), batch(subject)

    def after(*batches: tuple[Tensor, Tensor, Tensor]) -> dict[str, Tensor]:
        found = {}
        for weight in names.values():
            weight.grad = None
        for given in batches:
            with torch.no_grad():
                for name, weight in names.items():
                    weight.copy_(weights[name])
            found = _gradients_of_step(subject, names, given)
        return found

    alone = after(own)
    if not alone:
        return not_tried("after a step no parameter has a gradient, and no optimizer is known")
    if _apart(alone, after(own)) > 1e-3:
        return not_tried("the same step twice has other gradients: it draws of its own")
    if (apart := _apart(alone, after(other, own))) > 1e-2:
        said = f"a step's gradient differs by {apart:.0%} when another batch was trained before it"
        return broken(f"{said}, from the same weights")
    return kept("a step has the same gradient alone and after one on another batch")


def _gradients_of_step(
    subject: Subject, names: dict[str, Tensor], given: tuple[Tensor, Tensor, Tensor]
) -> dict[str, Tensor]:
    """Do one step; give the gradients that the optimizer found, or those that are left."""
    found: dict[str, Tensor] = {}

    def note(*_: object) -> None:
        found.update({n: w.grad.clone() for n, w in names.items() if w.grad is not None})

    optimizer = subject.adapter.optimizer
    torch.manual_seed(0)
    with hooked([] if optimizer is None else [optimizer.register_step_pre_hook(note)]):
        needed(subject.adapter.train_step)(*given)
    if not found:
        note()
    return found


def _apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    """Give how far gradients are apart, as a share of their size."""
    size = sum(float(each.float().square().sum()) for each in one.values())
    gaps = [(one[n] - other[n] if n in other else one[n]).float().square().sum() for n in one]
    return float(sum(map(float, gaps)) / max(size, 1e-30)) ** 0.5


@law("module", "train_step", compares=False)
def train_step_runs_in_train_mode(subject: Subject) -> Finding:
    """Dropout is on in every step of training.

    Means: eval() was called to translate or to validate, and train() was not called again
    Look: at what is called before each epoch and after each validation
    """
    module, step = subject.module, needed(subject.adapter.train_step)
    layers = [each for each in module.modules() if isinstance(each, nn.Dropout) and each.p > 0]
    if not layers:
        return not_tried("it has no nn.Dropout with a probability above 0")
    calls: list[bool] = []

    def note(layer: nn.Module, _: object) -> None:
        if torch.is_grad_enabled():
            calls.append(layer.training)

    def share(start_training: bool) -> float:
        calls.clear()
        module.train(start_training)
        for _ in range(2):
            step(*batch(subject))
        return sum(calls) / max(len(calls), 1)

    with hooked(each.register_forward_pre_hook(note) for each in layers):
        training, evaluating = share(True), share(False)
    if not calls:
        return not_tried("no nn.Dropout is called in a step")
    if training < 1:
        return broken(f"of an update's calls of dropout {1 - training:.0%} are in evaluation mode")
    if evaluating < 1:
        return warned("a step after eval() has no dropout: who calls train_step must call train()")
    return kept("dropout is on in every step, after eval() too")
