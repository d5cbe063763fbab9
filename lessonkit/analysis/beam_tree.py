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
from transformer.decoding import EXTRA_LENGTH, EncoderDecoder, Hypothesis, length_penalty
from transformer.masks import padding_mask
from transformer.support.errors import UserError


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
    if beam_size < 1:
        raise UserError(f"beam size {beam_size} is too small: give 1 or more")
    src_mask = padding_mask(src)
    memory = model.encode(src, src_mask)
    limit = min(src.shape[1] + extra_length, max_len or src.shape[1] + extra_length)
    kept = [Candidate((), 0.0, 0.0, CandidateStatus.KEPT)]
    steps: list[list[Candidate]] = []
    found: list[Hypothesis] = []
    while kept and len(found) < beam_size and len(steps) < limit:
        prefixes = torch.tensor([[BOS_ID, *candidate.ids] for candidate in kept], device=src.device)
        many = (len(kept), *[-1] * (memory.dim() - 1))
        logits = model.decode(prefixes, memory.expand(many), src_mask.expand(len(kept), -1, -1, -1))
        candidates = _candidates(kept, logits[:, -1], beam_size)
        if not candidates:  # no token can follow
            break
        steps.append(candidates)
        penalty = length_penalty(max(1, len(steps)), alpha)
        kept = [candidate for candidate in steps[-1] if candidate.status is CandidateStatus.KEPT]
        ended = [
            candidate for candidate in steps[-1] if candidate.status is CandidateStatus.FINISHED
        ]
        found += [Hypothesis(list(c.ids[:-1]), c.total / penalty, finished=True) for c in ended]
    if len(found) < beam_size:  # the living are taken as they stand
        penalty = length_penalty(max(1, len(steps)), alpha)
        found += [Hypothesis(list(c.ids), c.total / penalty, finished=False) for c in kept]
    found.sort(key=lambda h: (not h.finished, -h.score))
    return BeamTree(steps, found[:beam_size], alpha)


def _candidates(kept: list[Candidate], logits: Tensor, beam_size: int) -> list[Candidate]:
    """Take the best 2 x beam_size continuations of all prefixes, and decide their fates."""
    log_probs = logits.double().log_softmax(dim=-1)
    log_probs[:, [PAD_ID, BOS_ID]] = -torch.inf
    so_far = log_probs.new_tensor([candidate.total for candidate in kept])
    totals = so_far[:, None] + log_probs
    best, places = totals.flatten().topk(min(2 * beam_size, totals.numel()))
    candidates: list[Candidate] = []
    room = beam_size
    for rank, (total, place) in enumerate(zip(best.tolist(), places.tolist(), strict=True)):
        row, token = divmod(place, log_probs.shape[1])
        if total == -torch.inf:
            break
        if token == EOS_ID:
            status = CandidateStatus.FINISHED if rank < beam_size else CandidateStatus.DROPPED
        else:
            status = CandidateStatus.KEPT if room else CandidateStatus.DROPPED
            room -= status is CandidateStatus.KEPT
        ids = (*kept[row].ids, token)
        candidates.append(Candidate(ids, log_probs[row, token].item(), total, status))
    return candidates
