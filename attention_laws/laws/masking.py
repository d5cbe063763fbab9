"""No position sees the future, padding or other sentences (§3.1, §3.2.3)."""

import contextlib
from dataclasses import replace

import torch

from attention_laws.law import law
from attention_laws.model_state import force_eval_mode
from attention_laws.module_at_fault import InputPair, with_module_at_fault
from attention_laws.report import Finding, Verdict, broken_finding, kept_finding
from attention_laws.subject import MODEL_ERROR_TYPES, Subject, retry_check_in_float64

LAW_MODULE_SORT_KEY = 40
TARGET_LENGTHS = (2, 3, 7)
PADDING_LENGTHS = (1, 3)
BATCH_SIZES = (1, 2, 7)
NUM_REPEATABILITY_PASSES = 8


@law()
@retry_check_in_float64
def decoder_is_causal(subject: Subject) -> Finding:
    """A later target token changes nothing at an earlier position.

    Means: the decoder's self-attention has no causal mask, or one that is inverted, shifted by
    a position, or broadcast over the wrong axis; in training alone: dropout before the softmax
    Look: where the decoder's self-attention gets its mask; is True may attend, or hidden?
    """
    finding = _check_causality_by_token_changes(subject, TARGET_LENGTHS)
    if finding.verdict == Verdict.KEPT and subject.adapter.module is not None:
        with contextlib.suppress(*MODEL_ERROR_TYPES):
            finding = _causality_finding_in_training_mode(subject, finding)
        force_eval_mode(subject.module)
    return finding


def _causality_finding_in_training_mode(subject: Subject, finding: Finding) -> Finding:
    """Return the finding in training mode if it is broken there, else the one given."""
    for part in subject.module.modules():
        part.training = True
    ids = subject.draw_src(1, 5), subject.draw_tgt_in(1, TARGET_LENGTHS[-1])
    in_training = _check_causality_by_token_changes(subject, TARGET_LENGTHS[-1:])
    repeated = [subject.logits(*ids).nan_to_num() for _ in range(NUM_REPEATABILITY_PASSES)]
    # Only with equal random numbers equal logits: otherwise sound dropout moves them.
    is_repeatable = all(torch.equal(repeated[0], logits) for logits in repeated)
    if in_training.verdict == Verdict.BROKEN and is_repeatable:
        return replace(in_training, seen=f"in training mode, {in_training.seen}")
    return finding


def _check_causality_by_token_changes(subject: Subject, lengths: tuple[int, ...]) -> Finding:
    """Return whether logits before a token stay the same if it changes."""
    for length in lengths:
        src, tgt_in = subject.draw_src(1, 5), subject.draw_tgt_in(1, length)
        logits = subject.logits(src, tgt_in)
        for position in range(1, length):
            changed = subject.with_other_token(tgt_in, position)
            moves = (subject.logits(src, changed) - logits)[0].abs().amax(dim=-1)
            # Not <=, so that NaN counts as moved.
            moved = [i for i in range(position) if not moves[i] <= subject.tolerance]
            if moved:
                token = int(changed[0, position])
                largest = float(moves[:position].max())
                seen = f"with {token} at position {position} the logits at {moved} move"
                finding = broken_finding(f"{seen} by up to {largest:.2g}", tgt_in=tgt_in[0])
                pair = InputPair((src, tgt_in), (src, changed), src.shape[1], position)
                return with_module_at_fault(subject, finding, pair)
    return kept_finding(f"each token of {max(lengths)} changed in turn: no logits before it move")


@law("pad_id", reads_source=True)
@retry_check_in_float64
def source_padding_is_ignored(subject: Subject) -> Finding:
    """Padding after a source changes nothing.

    Means: the padding mask is missing, inverted, not passed on to every layer, made from
    something else than the ids, or broadcast over the wrong axis
    Look: at the masks of the encoder's self-attention and of cross-attention: both need one
    """
    return _check_appended_padding_is_ignored(subject, "src")


@law("pad_id")
@retry_check_in_float64
def target_padding_is_ignored(subject: Subject) -> Finding:
    """Padding after a target changes nothing before it.

    Means: the decoder has no causal mask, or something is computed over all positions
    Look: at the decoder's mask
    """
    return _check_appended_padding_is_ignored(subject, "tgt_in")


def _check_appended_padding_is_ignored(subject: Subject, side: str) -> Finding:
    for batch in BATCH_SIZES:
        src, tgt_in = subject.draw_src(batch, 4), subject.draw_tgt_in(batch, 3)
        logits = subject.logits(src, tgt_in)
        for number in PADDING_LENGTHS:
            inputs = {"src": src, "tgt_in": tgt_in}
            if side == "src":
                inputs[side] = subject.with_src_padding_appended(src, number)
            else:
                inputs[side] = subject.with_tgt_padding_appended(tgt_in, number)
            padded_logits = subject.logits(inputs["src"], inputs["tgt_in"])
            moved = subject.difference_or_zero_if_tolerated(
                padded_logits[:, : tgt_in.shape[1]], logits
            )
            if moved:
                seen = f"{number} of padding moves the logits of a batch of {batch} by {moved:.2g}"
                finding = broken_finding(seen, **{side: inputs[side][0]})
                pair = InputPair(
                    (src[:1], tgt_in[:1]),
                    (inputs["src"][:1], inputs["tgt_in"][:1]),
                    src.shape[1],
                    tgt_in.shape[1],
                )
                return with_module_at_fault(subject, finding, pair)
    longest = max(PADDING_LENGTHS)
    return kept_finding(
        f"up to {longest} positions of padding move nothing in batches of {BATCH_SIZES}"
    )


@law("pad_id")
@retry_check_in_float64
def batch_rows_are_independent(subject: Subject) -> Finding:
    """A sentence has the same logits alone and in a batch.

    Means: the padding mask takes one sentence's lengths for all, or an axis of the batch is
    mixed with another: positions over the batch, a view in place of a transpose
    Look: at each view, reshape and sum over axis 0
    """
    for batch in BATCH_SIZES[1:]:
        sources = [subject.draw_src(1, 3 + i) for i in range(batch)]
        targets = [subject.draw_tgt_in(1, 2 + (5 * i) % 7) for i in range(batch)]
        src_len = max(source.shape[1] for source in sources)
        tgt_len = max(target.shape[1] for target in targets)
        src = torch.cat(
            [subject.with_src_padding_appended(x, src_len - x.shape[1]) for x in sources]
        )
        tgt_in = torch.cat(
            [subject.with_tgt_padding_appended(x, tgt_len - x.shape[1]) for x in targets]
        )
        together = subject.logits(src, tgt_in)
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            alone = subject.logits(source, target)
            moved = subject.difference_or_zero_if_tolerated(
                together[row : row + 1, : target.shape[1]], alone
            )
            if moved:
                seen = f"{moved:.2g} apart alone and as sentence {row + 1} of {batch}"
                finding = broken_finding(seen, src=source[0], tgt_in=target[0])
                lengths = source.shape[1], target.shape[1]
                pair = InputPair((source, target), (src, tgt_in), *lengths, row)
                return with_module_at_fault(subject, finding, pair)
    return kept_finding(
        f"sentences of batches of {BATCH_SIZES[1:]} have the logits they have alone"
    )
