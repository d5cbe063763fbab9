"""Padding before a sequence, as a decoder-only model meets it where it goes on with a batch.

Not in the paper.
"""

import torch

from attention_laws.law import assert_not_none, law
from attention_laws.report import Finding, broken_finding, kept_finding
from attention_laws.subject import Subject, retry_check_in_float64

LAW_MODULE_SORT_KEY = 45
PADDING_LENGTHS = (1, 3)
BATCH_SIZES = (1, 3)
LENGTH = 6


@law("left_padded", "pad_id", of_decoder_only=True)
@retry_check_in_float64
@torch.no_grad()
def left_padding_is_ignored(subject: Subject) -> Finding:
    """Padding before a sequence changes nothing after it.

    Means: the mask does not hide padding, or is cut to the wrong end; or positions are counted
    from the padding on
    Look: at the mask and the position of the first token after padding
    """
    left_padded = assert_not_none(subject.adapter.left_padded)
    for batch in BATCH_SIZES:
        ids = subject.draw_tgt_in(batch, LENGTH)
        expected = subject.logits(ids[:1], ids)
        for number in PADDING_LENGTHS:
            padding = torch.full((batch, number), assert_not_none(subject.tgt_pad_id))
            # The last row is not padded: it is longer than the others.
            others = torch.cat((padding, ids), dim=1)
            longest = torch.cat((subject.draw_tgt_in(1, number), ids[-1:]), dim=1)
            rows = torch.cat((others, longest))
            logits = left_padded(rows)[:batch, number:]
            moved = subject.difference_or_zero_if_tolerated(logits.to(expected.dtype), expected)
            if moved:
                seen = f"{number} of padding moves the logits after it by {moved:.2g}"
                return broken_finding(f"{seen} in a batch of {batch + 1}", tgt_in=rows[0])
    numbers = " or ".join(map(str, PADDING_LENGTHS))
    return kept_finding(f"{numbers} of padding before sequences move no logits after it")
