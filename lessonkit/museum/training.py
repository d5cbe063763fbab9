"""Faults in batches, loss, optimizer and schedule (§5).

Each class stands in place of `sound.Setup`: read it beside that.
"""

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.optim import Adam, Optimizer

from attention_laws.adapter import Adapter
from lessonkit.museum.sound import Setup
from lessonkit.museum.specimen import Specimen
from transformer.config import BOS_ID, EOS_ID, PAD_ID

Ids = Sequence[list[int]]
Tensors = tuple[Tensor, Tensor, Tensor]


class ShiftMissing(Setup):
    """Asks for the token that was just read."""

    def make_batch(self, sources: Ids, targets: Ids) -> Tensors:
        """Give tgt_in as tgt_out."""
        src, tgt_in, _ = super().make_batch(sources, targets)
        return src, tgt_in, tgt_in


class EndMissing(Setup):
    """Never asks for the end of a sentence."""

    def make_batch(self, sources: Ids, targets: Ids) -> Tensors:
        """Take eos for padding."""
        src, tgt_in, tgt_out = super().make_batch(sources, targets)
        return src, tgt_in, tgt_out.masked_fill(tgt_out == EOS_ID, PAD_ID)


class BeginningMissing(Setup):
    """Lets targets begin with eos, where the search begins with bos."""

    def make_batch(self, sources: Ids, targets: Ids) -> Tensors:
        """Put the one mark for the other."""
        src, tgt_in, tgt_out = super().make_batch(sources, targets)
        return src, tgt_in.masked_fill(tgt_in == BOS_ID, EOS_ID), tgt_out


class LossOverPadding(Setup):
    """Learns to say padding, and is praised for it."""

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Leave out ignore_index."""
        flat = logits.flatten(end_dim=1), tgt_out.flatten()
        return F.cross_entropy(*flat, label_smoothing=self.label_smoothing)


class CountOfPadding(Setup):
    """Divides the summed loss by how much padding there is."""

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Count == where != is meant."""
        tokens = (tgt_out != PAD_ID).sum()
        return super().loss(logits, tgt_out) * tokens / (tgt_out == PAD_ID).sum().clamp(min=1)


class MeanOfSentences(Setup):
    """Averages over each sentence, then over sentences: a short one's tokens count more."""

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Take a mean of means."""
        each = F.cross_entropy(
            logits.transpose(1, 2),
            tgt_out,
            ignore_index=PAD_ID,
            label_smoothing=self.label_smoothing,
            reduction="none",
        )  # (batch, tgt_len)
        return (each.sum(dim=1) / (tgt_out != PAD_ID).sum(dim=1)).mean()


class AveragedTwice(Setup):
    """Divides by the number of tokens what is a mean already."""

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Divide once more."""
        return super().loss(logits, tgt_out) / (tgt_out != PAD_ID).sum()


class LossOfProbabilities(Setup):
    """Gives probabilities to a loss that takes logits."""

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Take the softmax twice."""
        return super().loss(logits.softmax(dim=-1), tgt_out)


class SmoothingOfMoreThanOne(Setup):
    """Gives every type the smoothing's whole mass in place of its share."""

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Forget to divide by the number of types."""
        log_probs, real = logits.log_softmax(dim=-1), tgt_out != PAD_ID
        wanted = F.one_hot(tgt_out, logits.shape[-1]) * (1 - self.label_smoothing)
        wanted = wanted + self.label_smoothing
        return -(wanted * log_probs).sum(dim=-1)[real].mean()


class GradientKept(Setup):
    """Adds each step's gradient to those of all steps before."""

    def clear(self) -> None:
        """Leave out zero_grad."""


class OtherModelsOptimizer(Setup):
    """Steps the optimizer of a model that was trained before."""

    def make_optimizer(self) -> Optimizer:
        """Make Adam for other weights of the same shapes."""
        self.first = copy.deepcopy(self.model)
        return Adam(self.first.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)


class EncoderForgotten(Setup):
    """Gives the optimizer the decoder's weights alone."""

    def make_optimizer(self) -> Optimizer:
        """Leave out what the encoder has."""
        trained = [*self.model.decoder.parameters(), *self.model.output.parameters()]
        return Adam(trained, lr=0.0, betas=(0.9, 0.98), eps=1e-9)


class FromZero(Setup):
    """Counts steps from 0, so that the first step moves nothing."""

    def update(self, step: int) -> None:
        """Take the rate of the step before."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(step - 1) if step > 1 else 0.0
        self.optimizer.step()


class SteppedTwice(Setup):
    """Steps the schedule twice for each update, as in batch and in loop."""

    def update(self, step: int) -> None:
        """Take the rate of a step twice as late."""
        super().update(2 * step)


class NoWarmup(Setup):
    """Begins at the highest rate."""

    def rate(self, step: int) -> float:
        """Hold the peak where the rate should rise."""
        return super().rate(max(step, self.warmup_steps))


class InverseWarmup(Setup):
    """Has the schedule's minimum for its maximum, or the other way round."""

    def rate(self, step: int) -> float:
        """Take max where the formula has min."""
        larger = max(step**-0.5, step * self.warmup_steps**-1.5)
        return float(self.model.config.d_model**-0.5 * larger)


class AnyRate(Setup):
    """Says of its schedule only that it is what was asked for."""

    def adapter(self) -> Adapter:
        """Declare no paper's schedule."""
        return super().adapter().replace(warmup_steps=None)


class TooFast(AnyRate):
    """Was asked for thirty times the rate."""

    def rate(self, step: int) -> float:
        """Multiply the rate."""
        return 30 * super().rate(step)


class TooSlow(AnyRate):
    """Was asked for a thousandth of the rate."""

    def rate(self, step: int) -> float:
        """Divide the rate."""
        return super().rate(step) / 1000


class TrainForgotten(Setup):
    """Trains in evaluation mode, where the first validation left it: without dropout."""

    def forward_mode(self) -> None:
        """Stay in evaluation."""
        self.model.eval()


class EvalForgotten(Setup):
    """Translates in training mode."""

    def search_mode(self) -> Any:
        """Turn dropout on, as it was left after the last step."""
        self.model.train()
        return nullcontext()


class ValidationAveraged(Setup):
    """Averages the validation loss over batches, not tokens."""

    def validate(self, batches: Sequence[Tensors]) -> float:
        """Take a mean of means: small batches count as much as large ones."""
        each = [Setup.validate(self, [batch]) for batch in batches]
        return sum(each) / len(each)


class ValidationTrains(Setup):
    """Propagates the validation loss back, and divides it by the count of padding."""

    def validate(self, batches: Sequence[Tensors]) -> float:
        """Leave gradients, and give a figure that says how full batches are."""
        total, padding = 0.0, 0
        for src, tgt_in, tgt_out in batches:
            flat = self.model(src, tgt_in).flatten(end_dim=1), tgt_out.flatten()
            loss = F.cross_entropy(*flat, ignore_index=PAD_ID, reduction="sum")
            loss.backward()
            total += float(loss.detach())
            padding += int((tgt_out == PAD_ID).sum())
        return total / max(1, padding)


class ValidationHidden(Setup):
    """Calls what does not exist, and hides it behind a bare except."""

    def validate(self, batches: Sequence[Tensors]) -> float:
        """Give 0 whatever happens."""
        try:
            return float(self.model.validate(batches))  # type: ignore[operator]
        except Exception:
            return 0.0


def _specimen(name: str, about: str, kind: type[Setup], **rest: Any) -> Specimen:
    return Specimen(name=name, about=about, group="training", setup=kind, **rest)


BATCHES = (
    _specimen(
        "shift_missing",
        "the decoder is asked for the token that it has just read",
        ShiftMissing,
        trains=True,
    ),
    _specimen(
        "end_missing",
        "eos is no target, so that no sentence learns to end",
        EndMissing,
        trains=True,
    ),
    _specimen(
        "beginning_of_another_mark",
        "targets begin with eos in training and with bos in the search",
        BeginningMissing,
    ),
)
LOSSES = (
    _specimen(
        "loss_over_padding",
        "padding counts in the loss like words",
        LossOverPadding,
        source="tatoeba",
        trains=True,
    ),
    _specimen(
        "loss_over_the_count_of_padding",
        "the loss is divided by how much padding there is",
        CountOfPadding,
        source="annotated (in its validation)",
    ),
    _specimen(
        "loss_averaged_over_sentences",
        "the loss is a mean over each sentence, then over sentences",
        MeanOfSentences,
    ),
    _specimen("loss_averaged_twice", "a mean is divided by the tokens again", AveragedTwice),
    _specimen(
        "loss_of_probabilities",
        "the softmax is taken before a loss that takes it too",
        LossOfProbabilities,
        trains=True,
    ),
    _specimen(
        "smoothing_of_more_than_one",
        "each type gets the whole smoothed mass: the targets sum to more than one",
        SmoothingOfMoreThanOne,
    ),
)
STEPS = (
    _specimen("gradient_kept", "gradients are not cleared", GradientKept, trains=True),
    _specimen(
        "optimizer_of_another_model",
        "the loop steps the optimizer of the model before; this one never moves",
        OtherModelsOptimizer,
        source="both-ways",
        trains=True,
    ),
    _specimen(
        "encoder_not_in_the_optimizer",
        "the optimizer was given the decoder's weights alone",
        EncoderForgotten,
    ),
    _specimen(
        "train_forgotten",
        "after the first validation the model stays in evaluation mode",
        TrainForgotten,
    ),
    _specimen("schedule_from_zero", "steps are counted from 0: the first does nothing", FromZero),
    _specimen("schedule_stepped_twice", "the schedule runs at twice the pace", SteppedTwice),
    _specimen("warmup_missing", "the rate begins at its highest", NoWarmup, trains=True),
    _specimen(
        "warmup_inverted", "max stands for min: the rate begins at 1 / sqrt(d_model)", InverseWarmup
    ),
    _specimen("rate_too_high", "the learning rate is 30 times too high", TooFast, trains=True),
    _specimen("rate_too_low", "the learning rate is a thousandth", TooSlow, trains=True),
)
VALIDATION = (
    _specimen(
        "validation_averaged_over_batches",
        "the reported loss is a mean over batches, not tokens",
        ValidationAveraged,
        source="multi30k",
    ),
    _specimen(
        "validation_trains",
        "validation propagates back, and divides by the count of padding",
        ValidationTrains,
        source="annotated",
    ),
    _specimen(
        "validation_hidden",
        "validation calls what does not exist, and a bare except hides it",
        ValidationHidden,
        source="both-ways",
    ),
)
SPECIMENS = (*BATCHES, *LOSSES, *STEPS, *VALIDATION)
