"""Beam search of one sentence, slowly, with everything that it looked at (§6.1).

`transformer.decoding.beam_search` searches many sentences at once and keeps no record; a test
holds both to the same hypotheses.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.config import BEAM_SIZE, BOS_ID, EOS_ID, LENGTH_PENALTY, PAD_ID
from transformer.decoding import (
    EXTRA_LENGTH,
    EncoderDecoder,
    Hypothesis,
    check_search_settings,
    length_penalty,
)
from transformer.masks import padding_mask
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types


class CandidateStatus(StrEnum):
    """What becomes of a candidate at the step that looks at it."""

    KEPT = "kept"
    FINISHED = "finished"
    DROPPED = "dropped"


class Candidate(NamedTuple):
    """A prefix that one step looked at; its parent is the kept prefix without the last token."""

    ids: tuple[int, ...]  # its tokens without bos, the last of them new: eos, if it finishes
    log_prob: float  # of the last token (nats)
    total: float  # sum of the log probabilities of all its tokens (nats)
    status: CandidateStatus  # what the step did with it


@dataclass(frozen=True)
class BeamTree:
    """Everything that a search looked at."""

    steps: list[list[Candidate]]  # of each step, the best total first
    hypotheses: list[Hypothesis]  # what the search found, the best first
    alpha: float  # of the length penalty


@torch.inference_mode()
@check_argument_types
def grow_beam_tree(
    model: EncoderDecoder,
    src: Tensor,
    *,
    beam_size: int = BEAM_SIZE,
    alpha: float = LENGTH_PENALTY,
    extra_length: int = EXTRA_LENGTH,
    max_len: int | None = None,
) -> BeamTree:
    """Search as `beam_search` does, and keep the candidates of every step.

    Source ids are those of one sentence with eos, (1, src_len), without padding; the options are
    `beam_search`'s.
    """
    if src.dim() != 2 or len(src) != 1:
        raise UserError(f"src has shape {tuple(src.shape)}: give one sentence, (1, src_len)")
    check_search_settings(beam_size, alpha)
    src_mask = padding_mask(src)
    memory = model.encode(src, src_mask)
    limit = min(src.shape[1] + extra_length, max_len or src.shape[1] + extra_length)
    prefixes = [Candidate((), 0.0, 0.0, CandidateStatus.KEPT)]
    steps: list[list[Candidate]] = []
    hypotheses: list[Hypothesis] = []
    while prefixes and len(hypotheses) < beam_size and len(steps) < limit:
        candidates = _top_candidates_with_status(
            prefixes, _next_logits(model, prefixes, memory, src_mask), beam_size
        )
        if not candidates:  # no token can follow
            break
        steps.append(candidates)
        penalty = length_penalty(len(steps), alpha)
        prefixes = [each for each in candidates if each.status is CandidateStatus.KEPT]
        for candidate in candidates:
            if candidate.status is CandidateStatus.FINISHED:
                score = candidate.total / penalty
                hypotheses.append(Hypothesis(list(candidate.ids[:-1]), score, finished=True))
    if len(hypotheses) < beam_size:
        # Prefixes that have not ended are hypotheses as they stand.
        penalty = length_penalty(max(1, len(steps)), alpha)
        for prefix in prefixes:
            score = prefix.total / penalty
            hypotheses.append(Hypothesis(list(prefix.ids), score, finished=False))
    hypotheses.sort(key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
    return BeamTree(steps, hypotheses[:beam_size], alpha)


def _next_logits(
    model: EncoderDecoder, prefixes: list[Candidate], memory: Tensor, src_mask: Tensor
) -> Tensor:
    """Return the logits of the token after each prefix, (prefixes, tgt_vocab_size)."""
    count = len(prefixes)
    tgt_in = torch.tensor([[BOS_ID, *prefix.ids] for prefix in prefixes], device=memory.device)
    memories = memory.expand(count, *memory.shape[1:])
    return model.decode(tgt_in, memories, src_mask.expand(count, -1, -1, -1))[:, -1]


def _top_candidates_with_status(
    prefixes: list[Candidate], logits: Tensor, beam_size: int
) -> list[Candidate]:
    """Take the best 2 x beam_size continuations of all prefixes, and decide what becomes of each.

    Of those that end, the ones among the best beam_size finish; of the others, the best beam_size
    are kept.
    """
    log_probs = logits.double().log_softmax(dim=-1)
    log_probs[:, [PAD_ID, BOS_ID]] = -torch.inf
    prefix_totals = log_probs.new_tensor([prefix.total for prefix in prefixes])
    totals = prefix_totals[:, None] + log_probs
    best, indices = totals.flatten().topk(min(2 * beam_size, totals.numel()))
    candidates: list[Candidate] = []
    num_kept = 0
    for rank, (total, index) in enumerate(zip(best.tolist(), indices.tolist(), strict=True)):
        if total == -torch.inf:
            break
        row, token = divmod(index, log_probs.shape[1])
        status = CandidateStatus.DROPPED
        if token == EOS_ID and rank < beam_size:
            status = CandidateStatus.FINISHED
        elif token != EOS_ID and num_kept < beam_size:
            status = CandidateStatus.KEPT
            num_kept += 1
        ids = (*prefixes[row].ids, token)
        candidates.append(Candidate(ids, log_probs[row, token].item(), total, status))
    return candidates
