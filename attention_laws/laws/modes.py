"""In evaluation nothing is drawn; in training something is (§5.4)."""

import torch
from torch import nn

from attention_laws.law import Subject, law
from attention_laws.report import Finding, broken, kept, not_tried
from attention_laws.untouched import hooked
from attention_laws.watch import FUSED, watching

DRAWS = 8  # passes in training mode before dropout is said to do nothing


@law(
    says="In evaluation mode the same input gives the same logits.",
    means="dropout is on in evaluation: a functional call without training=self.training, a "
    "layer that no eval() reaches, or eval() was forgotten",
    look="at each F.dropout, and at layers kept in a plain list",
    compares=False,
)
def repeats(subject: Subject) -> Finding:
    """Run twice with other random numbers."""
    src, tgt_in = subject.src(1, 3), subject.tgt_in(1, 2)
    torch.manual_seed(1)
    with torch.no_grad():
        first = subject.adapter.forward(src, tgt_in)
        torch.manual_seed(2)
        second = subject.adapter.forward(src, tgt_in)
    moved = float((first - second).abs().nan_to_num(0).max())
    if moved > 0:
        return broken(f"src {src.tolist()}, tgt_in {tgt_in.tolist()}, run twice: {moved:.2g} apart")
    return kept("twice the same input gave equal logits")


@law(
    says="In training mode dropout changes the logits from pass to pass.",
    means="a dropout layer is made and never called, or train() does not reach it",
    look="at forward: is the layer's result used?",
    needs=("module",),
)
def dropout_in_training(subject: Subject) -> Finding:
    """Run in training mode with other random numbers."""
    module = subject.module
    layers = {n: m for n, m in module.named_modules() if isinstance(m, nn.Dropout) and m.p > 0}
    rates = [each.p for each in layers.values()]
    src, tgt_in = subject.src(2, 7), subject.tgt_in(2, 5)
    module.train()
    torch.manual_seed(0)
    called: set[nn.Module] = set()
    handles = [m.register_forward_pre_hook(lambda m, _: called.add(m)) for m in layers.values()]
    with hooked(handles), watching() as calls:
        first = subject.adapter.forward(src, tgt_in).detach()
    fused = any(each.name == FUSED for each in calls)  # which is given the rate alone
    idle = [n for n, each in layers.items() if each not in called and not (fused and "att" in n)]
    if idle:
        return broken(f"{idle[0]}, an nn.Dropout of {layers[idle[0]].p}, is made and never called")
    for draw in range(1, DRAWS):
        torch.manual_seed(draw)
        if not torch.equal(first, subject.adapter.forward(src, tgt_in)):
            return kept("in training mode the logits vary")
    if not any(rates):
        return not_tried("it has no nn.Dropout with a probability above 0")
    return broken(f"with dropout of up to {max(rates)} the logits of {DRAWS} passes are equal")


LAWS = (repeats, dropout_in_training)
