"""Everything that may be attended to has an effect, in its place (§3.1, §4)."""

import contextlib
from collections import defaultdict

import torch
from torch import Tensor, nn

from attention_laws.law import assert_not_none, law
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import (
    MODEL_ERROR_TYPES,
    Subject,
    retry_check_with_zero_weights_drawn,
)
from attention_laws.torch_calls import MULTI_HEAD_ATTENTION_CALL_NAME

LAW_MODULE_SORT_KEY = 50
SENTENCE_LENGTH = 6
SRC_LEN, TGT_LEN = 7, 5
# Share of the typical effect below which a token is said to have none.
MIN_RELATIVE_EFFECT = 1e-4
MAX_ERROR_SHOWN = 150  # characters


@law(reads_source=True)
@retry_check_with_zero_weights_drawn
def logits_depend_on_all_source_tokens(subject: Subject) -> Finding:
    """Each source token changes the logits at every target position.

    Means: cross-attention hides positions that it should not (a mask inverted or of the wrong
    shape), reads another layer's memory or none, or its result is thrown away
    Look: at the memory and the mask that cross-attention gets, and at what its result is used for
    """
    src, tgt_in = subject.draw_src(1, SENTENCE_LENGTH), subject.draw_tgt_in(1, SENTENCE_LENGTH - 1)
    logits, effects = subject.logits(src, tgt_in), []
    for position in range(SENTENCE_LENGTH - 1):
        changed = subject.logits(subject.with_other_token(src, position), tgt_in)
        effects.append((changed - logits)[0].abs().amax(dim=-1))
    all_effects = torch.stack(effects)
    return _missing_token_effects_finding(
        all_effects, torch.ones_like(all_effects, dtype=torch.bool), src, "source"
    )


@law()
@retry_check_with_zero_weights_drawn
def logits_depend_on_all_previous_tokens(subject: Subject) -> Finding:
    """Each target token changes the logits at its own position and at all after it.

    Means: the causal mask hides too much, or self-attention is thrown away or returns its input
    Look: at the decoder's mask, and at what each residual connection adds
    """
    src, tgt_in = subject.draw_src(1, SENTENCE_LENGTH), subject.draw_tgt_in(1, SENTENCE_LENGTH)
    logits, effects = subject.logits(src, tgt_in), []
    for position in range(1, SENTENCE_LENGTH):
        changed = subject.logits(src, subject.with_other_token(tgt_in, position))
        effects.append((changed - logits)[0].abs().amax(dim=-1))
    positions = torch.arange(1, SENTENCE_LENGTH)[:, None]
    is_expected = torch.arange(SENTENCE_LENGTH) >= positions
    return _missing_token_effects_finding(
        torch.stack(effects), is_expected, tgt_in[:, 1:], "target"
    )


def _missing_token_effects_finding(
    effects: Tensor, is_expected: Tensor, ids: Tensor, side: str
) -> Finding:
    """Return broken if a token lacks an expected effect; effects are (tokens, tgt_len)."""
    is_missing = is_expected & (effects <= MIN_RELATIVE_EFFECT * effects[is_expected].median())
    if not effects[is_expected].any():
        return broken_finding("no token of it changes any logits", **{side: ids[0]})
    if is_missing.any():
        position, tgt_position = is_missing.nonzero()[0].tolist()
        token = int(ids[0, position])
        seen = f"another token in place of {token} does not change the logits"
        return broken_finding(f"{seen} at target position {tgt_position}", **{side: ids[0]})
    sizes = f"{float(effects[is_expected].min()):.2g} to {float(effects.max()):.2g}"
    return kept_finding(f"each {side} token changes the logits wherever it may, by {sizes}")


@law()
@retry_check_with_zero_weights_drawn
def token_order_matters(subject: Subject) -> Finding:
    """Tokens in another order give other logits.

    Means: positions are missing, or the same for all: never added, or indexed by the batch
    Look: where positions are added to the embeddings, on both sides
    """
    # In float64, since positions may be faint in an untrained model.
    with subject.computing_in_float64():
        src, tgt_in = subject.draw_src(1, SENTENCE_LENGTH), subject.draw_tgt_in(1, SENTENCE_LENGTH)
        logits = subject.logits(src, tgt_in)
        swapped = src[:, [1, 0, *range(2, SENTENCE_LENGTH)]]
        moved = subject.difference_or_zero_if_tolerated(subject.logits(swapped, tgt_in), logits)
        if not moved and not subject.adapter.decoder_only:
            return broken_finding(
                f"src {src[0].tolist()} and {swapped[0].tolist()} give equal logits"
            )
        swapped = tgt_in[:, [0, 2, 1, *range(3, SENTENCE_LENGTH)]]
        if not subject.difference_or_zero_if_tolerated(
            subject.logits(src, swapped)[:, 3:], logits[:, 3:]
        ):
            seen = f"{swapped[0].tolist()} gives equal logits after the swapped tokens"
            return broken_finding(seen, tgt_in=tgt_in[0])
        sides = "in the target" if subject.adapter.decoder_only else "in the source and the target"
        return kept_finding(f"two tokens swapped, {sides}: the logits move")


@law(reads_source=True)
@retry_check_with_zero_weights_drawn
def encoder_is_contextual(subject: Subject) -> Finding:
    """What the model computes of a source token depends on the tokens around it (§3.1).

    Means: the encoder's layers never run: they are kept in a generator, which is empty after
    the first pass, or skipped; or its self-attention returns the value of each position itself
    Look: at how the encoder's layers are kept, and at the loop over them
    """
    src, tgt_in, position = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN), 2
    inputs = _linear_inputs_at_source_positions(subject, src, tgt_in)
    other_inputs = _linear_inputs_at_source_positions(
        subject, subject.with_other_token(src, position), tgt_in
    )
    shapes, other_shapes = [x.shape for x in inputs], [x.shape for x in other_inputs]
    if not inputs or shapes != other_shapes:
        return not_tried_finding("no map that reads the source's positions was seen")
    for hidden, other in zip(inputs, other_inputs, strict=True):
        # Everything but the changed position itself is compared.
        changed = (hidden.shape.index(SRC_LEN), torch.tensor(position), 0)
        if not torch.equal(hidden.index_fill(*changed), other.index_fill(*changed)):
            return kept_finding(
                f"another token at position {position} changes what maps read at others"
            )
    seen = f"another token at position {position} changes what {len(inputs)} maps read there alone"
    return broken_finding(seen, src=src[0])


def _linear_inputs_at_source_positions(
    subject: Subject, src: Tensor, tgt_in: Tensor
) -> list[Tensor]:
    """Return what linear maps and attentions of torch read at the source's positions."""
    calls = subject.torch_calls_of_forward(src, tgt_in)
    names = ("linear", MULTI_HEAD_ATTENTION_CALL_NAME)
    inputs = [arg for call in calls if call.name in names for arg in call.args[:2]]
    return [x for x in inputs if isinstance(x, Tensor) and SRC_LEN in x.shape[:-1]]


@law("module", "train_step", compares=False)
def decoder_reads_tgt_in(subject: Subject) -> Finding:
    """In a training step the decoder reads tgt_in, not the target that it is to predict.

    Means: the decoder is fed its own target: it learns to copy, and cannot translate
    Look: at what `train_step` passes to the model: [:-1], or [1:]?
    """
    src, tgt_in, tgt_out = subject.draw_batch()
    ids_read: dict[nn.Module, list[Tensor]] = defaultdict(list)

    def record(embedding: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        ids_read[embedding].extend(ids for ids in inputs[:1] if isinstance(ids, Tensor))

    def reads(embedding: nn.Module, ids: Tensor) -> bool:
        return any(torch.equal(x, ids) or torch.equal(x, ids.T) for x in ids_read[embedding])

    embeddings = [part for part in subject.module.modules() if isinstance(part, nn.Embedding)]
    with hooks_removed_afterwards(
        embedding.register_forward_pre_hook(record) for embedding in embeddings
    ):
        subject.logits(src, tgt_in)
        target_embeddings = [embedding for embedding in embeddings if reads(embedding, tgt_in)]
        ids_read.clear()
        error = _error_of_step_alone(subject, src, tgt_in, tgt_out)
    if error:
        return broken_finding(f"a step raises {error}, although forward reads the same batch")
    if not target_embeddings or not ids_read[target_embeddings[0]]:
        return not_tried_finding("no nn.Embedding reads tgt_in as it is")
    if reads(target_embeddings[0], tgt_in):
        return kept_finding(f"the decoder reads tgt_in, {tgt_in[0].tolist()}")
    for name, ids in (("tgt_out, its own target", tgt_out), ("the source", src)):
        if reads(target_embeddings[0], ids):
            return broken_finding(f"the decoder reads {name}, {ids[0].tolist()}")
    return not_tried_finding(
        "in a step the target's nn.Embedding reads other ids than in a forward pass"
    )


def _error_of_step_alone(subject: Subject, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> str:
    """Make one step; return what it raises where forward and the loss do not, "" if nothing."""
    try:
        assert_not_none(subject.adapter.train_step)(src, tgt_in, tgt_out)
    except (IndexError, RuntimeError, ValueError) as error:
        batch = src, tgt_in, tgt_out
        if isinstance(error, IndexError) or _forward_and_loss_take(subject, *batch):
            return " ".join(str(error).split())[:MAX_ERROR_SHOWN]
        raise
    return ""


def _forward_and_loss_take(subject: Subject, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> bool:
    """Return whether the adapter's loss of a batch is computed without an error."""
    if subject.adapter.loss is None:
        return False
    with contextlib.suppress(*MODEL_ERROR_TYPES):
        subject.adapter.loss(subject.adapter.forward(src, tgt_in), tgt_out).backward()
        return True
    return False
