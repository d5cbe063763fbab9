"""Dropout drops what it is meant to, and as much (§5.4)."""

import contextlib

import torch
from torch import nn

from attention_laws.dropout_calls import DropoutRecorder
from attention_laws.law import assert_not_none, law
from attention_laws.model_state import force_eval_mode
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import MODEL_ERROR_TYPES, Subject

LAW_MODULE_SORT_KEY = 74
BATCH, SRC_LEN, TGT_LEN = 2, 7, 5
MAX_PLAUSIBLE_DROPOUT = 0.5


@law("module", compares=False)
def dropout_rate_is_below_half(subject: Subject) -> Finding:
    """Dropout keeps more than half (§5.4: it drops 0.1).

    Means: the probability to keep was given where the probability to drop is expected, or none, so
    that torch drops its own 0.5
    Look: at each nn.Dropout(p) and F.dropout(x, p): p is what is dropped
    """
    kinds = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.MultiheadAttention)
    rates = {
        name or "it": float(getattr(part, "p", getattr(part, "dropout", 0.0)))
        for name, part in subject.module.named_modules()
        if isinstance(part, kinds)
    }
    recorder = _recorder_of_dropout()
    # A model may not take ids alone in training: what it called until then is judged.
    with contextlib.suppress(*MODEL_ERROR_TYPES):
        _run_in_training(subject, recorder)
    of_calls = max((*recorder.rates, *recorder.inner_rates, *recorder.attention_rates), default=0.0)
    if of_calls > max(rates.values(), default=0.0):
        rates["a call of dropout in training"] = of_calls
    if not rates:
        return not_tried_finding("it has no dropout")
    name = max(rates, key=rates.__getitem__)
    if rates[name] > MAX_PLAUSIBLE_DROPOUT:
        return broken_finding(f"{name} drops {rates[name]:.0%}")
    if rates[name] == MAX_PLAUSIBLE_DROPOUT:
        return warned_finding(f"{name} drops {rates[name]:.0%}")
    return kept_finding(f"at most {rates[name]:.0%} are dropped")


@law("module", "dropout", compares=False)
def dropout_acts_as_told(subject: Subject) -> Finding:
    """Dropout of the rate that was told is on each sub-layer's output and on the embeddings (§5.4).

    Means: a dropout is made and not called, or left out of one sub-layer, or of another rate
    Look: at each residual path, and at what follows the embeddings
    How: Between the maps of a feed-forward the rate may be another, as BART's of activations.
    """
    told = float(assert_not_none(subject.adapter.dropout))
    called = _recorder_of_dropout()
    _run_in_training(subject, called)
    if other := [rate for rate in called.rates if rate != told]:
        return broken_finding(f"a dropout in training drops {other[0]:g}, and {told:g} is told")
    if not told:
        return kept_finding("no sub-layer's output is dropped, and no embedding")
    if called.sums_without_dropout:
        count = len(called.sums_without_dropout)
        return broken_finding(
            f"{count} residual paths add what no dropout was on; {told:g} is told"
        )
    sides = 1 if subject.adapter.decoder_only else 2
    if called.num_embedding_dropouts < sides:
        seen = f"embeddings are dropped on {called.num_embedding_dropouts} of {sides} sides"
        return broken_finding(f"{seen}, and {told:g} is told")
    return kept_finding(
        f"{len(called.rates)} dropouts of {told:g}, on embeddings and each sub-layer"
    )


@law("module", "attention_dropout", compares=False)
def attention_dropout_acts_as_told(subject: Subject) -> Finding:
    """Dropout of the rate that was told is on the weights of each attention.

    Means: the rate is not handed to the attention, is another, or is 0 in training
    Look: at `dropout_p` of a fused attention, or at what is done to the softmax's output
    """
    told = float(assert_not_none(subject.adapter.attention_dropout))
    called = _recorder_of_dropout()
    _run_in_training(subject, called)
    if not called.num_attentions:
        return not_tried_finding("no softmax over keys was seen")
    rates = called.attention_rates
    if other := [rate for rate in rates if rate != told]:
        return broken_finding(
            f"attention weights are dropped at {other[0]:g}, and {told:g} is told"
        )
    if told and len(rates) < called.num_attentions:
        seen = f"weights of {len(rates)} of {called.num_attentions} attentions are dropped"
        return broken_finding(f"{seen}, and {told:g} is told of all")
    return kept_finding(f"weights of {called.num_attentions} attentions are dropped at {told:g}")


def _recorder_of_dropout() -> DropoutRecorder:
    return DropoutRecorder(BATCH, {SRC_LEN, TGT_LEN})


@torch.no_grad()
def _run_in_training(subject: Subject, recorder: DropoutRecorder) -> None:
    """Record the dropout of one pass in training mode."""
    src, tgt_in = subject.draw_src(BATCH, SRC_LEN), subject.draw_tgt_in(BATCH, TGT_LEN)
    subject.module.train()
    try:
        with recorder:
            subject.adapter.forward(src, tgt_in)
    finally:
        force_eval_mode(subject.module)
