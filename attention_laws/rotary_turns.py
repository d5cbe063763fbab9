"""By how much rotary positions turn each pair of components from one position to the next.

Not in the paper: RoFormer (Su et al., 2021), https://arxiv.org/abs/2104.09864. It is measured in
queries of one word, wherever a model computes its cosines and sines.
"""

import torch
from torch import Tensor

from attention_laws.scores_by_distance import MARGIN

MAX_GAP = 1e-3  # of a length, or of a step on the circle
MIN_TURN = 1e-6  # radians a position; below it nothing turns
MIN_LENGTH_TO_COMPARE = 1e-2  # of the longest pair; the angle of a shorter one is rounded


def turns_by_pair(query: Tensor) -> Tensor | None:
    """Return the angle by which each pair turns a position, (pairs,), none below 0.

    Args:
        query: Queries or keys of a sentence that repeats one word, (..., length, width).

    Returns:
        The angles, of the pairs that are turned alone if only the first components are; None if
        no layout of pairs, by halves or side by side, explains the queries, or heads are turned
        by different angles.
    """
    rows = query.detach().double()
    rows = rows.reshape(-1, *rows.shape[-2:])[:, MARGIN:-MARGIN]
    width = rows.shape[-1]
    for turned_width in range(width - width % 2, 1, -2):
        rest = rows[..., turned_width:]
        if rest.numel() and float((rest - rest[:, :1]).abs().max()) > MAX_GAP * float(
            rows.abs().max()
        ):
            continue
        turned = rows[..., :turned_width]
        for one, other in (turned.chunk(2, dim=-1), (turned[..., 0::2], turned[..., 1::2])):
            turns = _steps_on_circle(torch.complex(one, other))
            if turns is not None and bool((turns > MIN_TURN).any()):
                return turns
    return None


def _steps_on_circle(points: Tensor) -> Tensor | None:
    """Return the steps of points (heads, length, pairs) on circles, (pairs,); None if off these."""
    radii = points.abs()
    size = radii.amax()
    if float((radii - radii[:, :1]).abs().max()) > MAX_GAP * float(size):
        return None
    steps = points[:, 1:] * points[:, :-1].conj()
    # Of the head in which a pair is longest, and the more exact the further apart.
    longest = radii[:, 0].argmax(dim=0)
    of_pair = torch.arange(points.shape[-1])
    unit = steps[longest, :, of_pair] / radii[longest, 0, of_pair].square()[:, None].clamp(
        min=1e-30
    )
    if float((unit - unit[:, :1]).abs().max()) > MAX_GAP:
        return None
    # Where all of d_model is turned before it is split into heads, each has frequencies of its own.
    gaps = (steps / steps.abs().clamp(min=1e-30) - unit.T).abs().amax(dim=1)
    if bool((gaps[radii[:, 0] > MIN_LENGTH_TO_COMPARE * size] > MAX_GAP).any()):
        return None
    return unit.mean(dim=-1).angle().abs()
