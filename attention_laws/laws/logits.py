"""The output of a model: finite logits, deterministic except for dropout (§3.4, §5.4)."""

import torch
from torch import nn

from attention_laws.law import law
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    noted_finding,
)
from attention_laws.subject import Subject
from attention_laws.torch_calls import FUSED_ATTENTION_CALL_NAME, TorchCallRecorder

LAW_MODULE_SORT_KEY = 10
BATCH_SRC_AND_TGT_SIZES = ((1, 3, 2), (2, 5, 4), (3, 2, 7))  # batch, src_len, tgt_len
# Passes in training mode before dropout is said to do nothing.
NUM_TRAINING_MODE_PASSES = 8


@law(compares=False)
def logits_have_expected_shape(subject: Subject) -> Finding:
    """Logits are (batch, tgt_len, vocabulary), whatever the lengths are.

    Means: an axis is lost or swapped, or a length is that of the other side
    Look: at the last view, reshape or transpose
    """
    width = subject.adapter.tgt_vocab_size
    for batch, src_len, tgt_len in BATCH_SRC_AND_TGT_SIZES:
        src, tgt_in = subject.draw_src(batch, src_len), subject.draw_tgt_in(batch, tgt_len)
        inputs = f"tgt_in {tuple(tgt_in.shape)}"
        if not subject.adapter.decoder_only:
            inputs = f"src {tuple(src.shape)}, {inputs}"
        try:
            shape = tuple(subject.logits(src, tgt_in).shape)
        except (RuntimeError, IndexError, ValueError) as error:
            if (batch, src_len, tgt_len) == BATCH_SRC_AND_TGT_SIZES[0]:
                raise
            return broken_finding(f"{inputs}: it raises {' '.join(str(error).split())[:100]}")
        if len(shape) != 3 or shape[:2] != tuple(tgt_in.shape) or shape[2] < width:
            return broken_finding(f"{inputs}: logits are {shape}, not {(batch, tgt_len, width)}")
    return kept_finding(
        f"logits of {len(BATCH_SRC_AND_TGT_SIZES)} batches are (batch, tgt_len, {width})"
    )


@law(compares=False)
def logits_are_finite(subject: Subject) -> Finding:
    """Logits are finite numbers.

    Means: a softmax over a row of minus infinities, a root or logarithm of 0, a division by 0
    Look: at the first layer whose output is not finite
    """
    for batch, src_len, tgt_len in BATCH_SRC_AND_TGT_SIZES:
        src, tgt_in = subject.draw_src(batch, src_len), subject.draw_tgt_in(batch, tgt_len)
        if subject.adapter.pad_id is not None:
            src = subject.with_src_padding_appended(src, 1)
        logits = subject.logits(src, tgt_in)
        not_finite = ~logits.isfinite()
        if bool(not_finite.any()):
            row = int(not_finite.flatten(1).any(dim=1).int().argmax())
            value = "NaN" if bool(logits.isnan().any()) else "infinite"
            seen = f"{int(not_finite.sum())} of {logits.numel()} logits are {value}"
            return broken_finding(seen, src=src[row], tgt_in=tgt_in[row])
    return kept_finding("all logits are finite")


@law()
def logits_can_be_negative(subject: Subject) -> Finding:
    """Some logits are below 0.

    Means: a ReLU or a softmax stands between the last layer and the loss
    Look: at what follows the output layer
    """
    logits = subject.logits(subject.draw_src(4, 5), subject.draw_tgt_in(4, 4))
    if bool((logits < 0).any()):
        return kept_finding(f"{float((logits < 0).float().mean()):.0%} of the logits are below 0")
    if bool((logits.sum(dim=-1) - 1).abs().max() < 1e-3):
        if subject.adapter.loss is not None:
            return not_tried_finding("it returns probabilities: see `softmax_is_taken_once`")
        return broken_finding(
            "each position sums to 1: these are probabilities, and a loss takes logits"
        )
    zeros = float((logits == 0).float().mean())
    least = float(logits.min())
    return broken_finding(f"the least of {logits.numel()} logits is {least:.2g}, {zeros:.0%} are 0")


@law(compares=False)
def evaluation_is_deterministic(subject: Subject) -> Finding:
    """In evaluation mode the same input gives the same logits.

    Means: dropout is on in evaluation: a functional call without training=self.training, a
    layer that no eval() reaches, or eval() was forgotten
    Look: at each F.dropout, and at layers kept in a plain list
    """
    src, tgt_in = subject.draw_src(1, 3), subject.draw_tgt_in(1, 2)
    torch.manual_seed(1)
    with torch.no_grad():
        first = subject.adapter.forward(src, tgt_in)
        torch.manual_seed(2)
        second = subject.adapter.forward(src, tgt_in)
    moved = float((first - second).abs().nan_to_num(0).max())
    if moved > 0:
        return broken_finding(f"run twice, logits are {moved:.2g} apart", src=src, tgt_in=tgt_in)
    return kept_finding("the same input twice gave equal logits")


@law("module")
def dropout_is_active_in_training(subject: Subject) -> Finding:
    """In training mode dropout changes the logits from pass to pass.

    Means: no dropout layer is called, or train() does not reach them
    Look: at forward: is the layer's result used?
    How: A layer that is made and never called beside others that are is noted.
    """
    module = subject.module
    layers = {
        name: part
        for name, part in module.named_modules()
        if isinstance(part, nn.Dropout) and part.p > 0
    }
    src, tgt_in = subject.draw_src(2, 7), subject.draw_tgt_in(2, 5)
    module.train()
    torch.manual_seed(0)
    called: set[nn.Module] = set()

    def record(layer: nn.Module, inputs: object) -> None:
        called.add(layer)

    with (
        hooks_removed_afterwards(
            layer.register_forward_pre_hook(record) for layer in layers.values()
        ),
        TorchCallRecorder() as recorder,
    ):
        first = subject.adapter.forward(src, tgt_in).detach()
    # A fused attention is given the rate alone: its dropout layer is never called, and rightly.
    is_fused = any(call.name == FUSED_ATTENTION_CALL_NAME for call in recorder.calls)
    idle = [
        name
        for name, layer in layers.items()
        if layer not in called and not (is_fused and "att" in name)
    ]
    for seed in range(1, NUM_TRAINING_MODE_PASSES):
        torch.manual_seed(seed)
        if not torch.equal(first, subject.adapter.forward(src, tgt_in)):
            if idle:
                unused = f"{idle[0]}, an nn.Dropout of {layers[idle[0]].p}"
                return noted_finding(f"the logits vary, and {unused}, is made and never called")
            return kept_finding("in training mode the logits vary")
    if not layers:
        return not_tried_finding("it has no nn.Dropout with a probability above 0")
    largest = max(layer.p for layer in layers.values())
    return broken_finding(
        f"with dropout of up to {largest} the logits of {NUM_TRAINING_MODE_PASSES} passes are equal"
    )
