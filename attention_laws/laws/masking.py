"""No position sees the future, padding or other sentences (§3.1, §3.2.3)."""

import contextlib

import torch

from attention_laws.law import law
from attention_laws.model_state import set_eval_mode
from attention_laws.report import Finding, Verdict, broken, kept
from attention_laws.subject import ANY_ERROR, Subject, retried_in_float64

ORDER = 40
LENGTHS = (2, 3, 7)
PADDING_LENGTHS = (1, 3)
BATCHES = (1, 2, 7)
PASSES = 8


@law()
@retried_in_float64
def decoder_is_causal(subject: Subject) -> Finding:
    """A later target token changes nothing at an earlier position.

    Means: the decoder's self-attention has no causal mask, or one that is inverted, shifted by
    a position, or broadcast over the wrong axis; in training alone: dropout before the softmax
    Look: where the decoder's self-attention gets its mask; is True may attend, or hidden?
    """
    finding = _change_each_token(subject, LENGTHS)
    if finding.verdict == Verdict.KEPT and subject.adapter.module is not None:
        with contextlib.suppress(*ANY_ERROR):
            finding = _causal_in_training(subject, finding)
        set_eval_mode(subject.module)
    return finding


def _causal_in_training(subject: Subject, finding: Finding) -> Finding:
    """Return the finding in training mode if it is broken there, else the one given."""
    for part in subject.module.modules():
        part.training = True
    ids = subject.draw_src(1, 5), subject.draw_tgt_in(1, LENGTHS[-1])
    in_training = _change_each_token(subject, LENGTHS[-1:])
    repeated = [subject.logits(*ids).nan_to_num() for _ in range(PASSES)]
    # Only with equal random numbers equal logits: otherwise sound dropout moves them.
    is_repeatable = all(torch.equal(repeated[0], logits) for logits in repeated)
    if in_training.verdict == Verdict.BROKEN and is_repeatable:
        return broken(f"in training mode, {in_training.seen}")
    return finding


def _change_each_token(subject: Subject, lengths: tuple[int, ...]) -> Finding:
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
                return broken(f"{seen} by up to {largest:.2g}", tgt_in=tgt_in[0])
    return kept(f"each token of {max(lengths)} changed in turn: no logits before it move")


@law("pad_id")
@retried_in_float64
def source_padding_is_ignored(subject: Subject) -> Finding:
    """Padding after a source changes nothing.

    Means: the padding mask is missing, inverted, not passed on to every layer, made from
    something else than the ids, or broadcast over the wrong axis
    Look: at the masks of the encoder's self-attention and of cross-attention: both need one
    """
    return _append_padding(subject, "src")


@law("pad_id")
@retried_in_float64
def target_padding_is_ignored(subject: Subject) -> Finding:
    """Padding after a target changes nothing before it.

    Means: the decoder has no causal mask, or something is computed over all positions
    Look: at the decoder's mask
    """
    return _append_padding(subject, "tgt_in")


def _append_padding(subject: Subject, side: str) -> Finding:
    for batch in BATCHES:
        src, tgt_in = subject.draw_src(batch, 4), subject.draw_tgt_in(batch, 3)
        logits = subject.logits(src, tgt_in)
        for number in PADDING_LENGTHS:
            inputs = {"src": src, "tgt_in": tgt_in}
            inputs[side] = subject.padded(inputs[side], number)
            padded_logits = subject.logits(inputs["src"], inputs["tgt_in"])
            moved = subject.difference(padded_logits[:, : tgt_in.shape[1]], logits)
            if moved:
                seen = f"{number} of padding moves the logits of a batch of {batch} by {moved:.2g}"
                return broken(seen, **{side: inputs[side][0]})
    longest = max(PADDING_LENGTHS)
    return kept(f"up to {longest} positions of padding move nothing in batches of {BATCHES}")


@law("pad_id")
@retried_in_float64
def batch_rows_are_independent(subject: Subject) -> Finding:
    """A sentence has the same logits alone and in a batch.

    Means: the padding mask takes one sentence's lengths for all, or an axis of the batch is
    mixed with another: positions over the batch, a view in place of a transpose
    Look: at each view, reshape and sum over axis 0
    """
    for batch in BATCHES[1:]:
        sources = [subject.draw_src(1, 3 + i) for i in range(batch)]
        targets = [subject.draw_tgt_in(1, 2 + (5 * i) % 7) for i in range(batch)]
        src_len = max(source.shape[1] for source in sources)
        tgt_len = max(target.shape[1] for target in targets)
        src = torch.cat([subject.padded(x, src_len - x.shape[1]) for x in sources])
        tgt_in = torch.cat([subject.padded(x, tgt_len - x.shape[1]) for x in targets])
        together = subject.logits(src, tgt_in)
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            alone = subject.logits(source, target)
            moved = subject.difference(together[row : row + 1, : target.shape[1]], alone)
            if moved:
                seen = f"{moved:.2g} apart alone and as sentence {row + 1} of {batch}"
                return broken(seen, src=source[0], tgt_in=target[0])
    return kept(f"sentences of batches of {BATCHES[1:]} have the logits they have alone")
