"""The exercises of lesson 07, in its order; toys: `EncodeOnceTransformer` and `ProbabilityTable`.

Drawing a token is not in the paper: Holtzman et al. (2020), "The Curious Case of Neural Text
Degeneration".
"""

import itertools
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler
from lessonkit.exercises.toy_models import EncodeOnceTransformer
from lessonkit.exercises.without_torch.decoding import beam_search as beam_search
from lessonkit.exercises.without_torch.decoding import lesson_wording
from lessonkit.exercises.without_torch.probability_table import ProbabilityTable as ProbabilityTable
from transformer.config import BOS_ID, EOS_ID
from transformer.masks import padding_mask

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
greedy_search_errors = lesson_wording.prediction("greedy_search_errors")
recomputed_without_cache = lesson_wording.prediction("recomputed_without_cache")
MIN_LEAD_OF_BEST_SCORE = 0.05  # over the second best, in every case
MIN_DRAW_DISTANCE_FROM_BOUNDARY = 1e-3  # of top_p and chance from an edge, in every case


def my_greedy_decode(model: Any, src: Tensor, src_mask: Tensor, limit: int) -> list[int]:
    """Write the most probable token, again and again."""
    bos_id, eos_id = 2, 3
    memory = model.encode(src, src_mask)
    ids = [bos_id]
    while len(ids) <= limit:
        logits = model.decode(src.new_tensor([ids]), memory, src_mask)
        best = int(logits[0, -1].argmax())
        if best == eos_id:
            break
        ids.append(best)
    return ids[1:]


def _greedy_decode_score_by_score(
    model: EncodeOnceTransformer, src: Tensor, _: Tensor, limit: int
) -> list[int]:
    """Ask for one score at a time, as many as there are types."""
    written: list[int] = []
    while len(written) < limit:
        scores = model.scores(src[0].tolist(), [BOS_ID, *written])
        token = max(range(len(scores)), key=scores.__getitem__)
        if token == EOS_ID:
            break
        written.append(token)
    return written


def _greedy_decode_cases() -> list[tuple[EncodeOnceTransformer, Tensor, Tensor, int]]:
    cases = []
    for seed in range(40):
        model, limit = EncodeOnceTransformer(seed), (1, 3, 6)[seed % 7 % 3]
        src = torch.tensor([[4 + seed % 3, 5, 6, 4, EOS_ID][seed % 4 :]])
        case = (model, src, padding_mask(src), limit)
        written = [BOS_ID, *_greedy_decode_score_by_score(*case)]
        steps = [sorted(model.scores(src[0].tolist(), written[:n]))[-2:] for n in range(1, 7)]
        if all(best - second > MIN_LEAD_OF_BEST_SCORE for second, best in steps):
            cases.append(case)
    return cases


_SRC_IDS, _EMPTY_SRC_IDS = torch.tensor([[5, 4, 3]]), torch.tensor([[3]])
greedy_decode = Exercise(
    my_greedy_decode,
    lesson_wording,
    worked=[
        ((EncodeOnceTransformer(None), _SRC_IDS, padding_mask(_SRC_IDS), 9), [5, 4]),
        ((EncodeOnceTransformer(None), _SRC_IDS, padding_mask(_SRC_IDS), 1), [5]),
        ((EncodeOnceTransformer(None), _EMPTY_SRC_IDS, padding_mask(_EMPTY_SRC_IDS), 2), []),
    ],
    cases=_greedy_decode_cases(),
    expected=_greedy_decode_score_by_score,
    saved=True,
)


def my_beam_step(totals: Tensor, log_probs: Tensor, beam_size: int) -> list[tuple[int, int]]:
    """Choose the best of all continuations, as pairs (row, token)."""
    sums = totals[:, None] + log_probs
    best = sums.flatten().topk(beam_size).indices
    return [divmod(place, sums.shape[1]) for place in best.tolist()]


def _beam_step_by_rank(totals: Tensor, log_probs: Tensor, beam_size: int) -> list[tuple[int, int]]:
    """Choose a pair where fewer than beam_size others are better: no sorting of candidates."""
    so_far, new = totals.tolist(), log_probs.tolist()
    pairs = list(itertools.product(range(len(new)), range(len(new[0]))))
    sums = {(row, token): so_far[row] + new[row][token] for row, token in pairs}
    ranks = {pair: sum(other > sums[pair] for other in sums.values()) for pair in pairs}
    return sorted((p for p in pairs if ranks[p] < beam_size), key=ranks.__getitem__)


def _large_beam_step_case(rows: int) -> tuple[Tensor, Tensor, int]:
    """A beam of some rows and five tokens, without ties."""
    totals = [-0.31 * (row + 1) ** 1.3 for row in range(rows)]
    turns = [[(7 * row + 5 * token) % 11 + 1 for token in range(5)] for row in range(rows)]
    return torch.tensor(totals), -0.17 * torch.tensor(turns) ** 1.1, rows


def _beam_step_case(
    totals: list[float], log_probs: list[list[float]], beam_size: int
) -> tuple[Tensor, Tensor, int]:
    return torch.tensor(totals), torch.tensor(log_probs), beam_size


beam_step = Exercise(
    my_beam_step,
    lesson_wording,
    worked=[
        (_beam_step_case([-1.0, -1.25], [[-3.0, -2.5], [-0.5, -0.75]], 2), [(1, 0), (1, 1)]),
        (_beam_step_case([-1.0], [[-0.5, -2.0, -3.0]], 2), [(0, 0), (0, 1)]),
    ],
    cases=[
        _beam_step_case([-0.5, -4.0], [[-1.0, -2.0], [-0.25, -3.0]], 2),
        _beam_step_case([-2.0, -0.5], [[-0.25, -1.5], [-3.0, -0.75]], 1),
        _beam_step_case([-0.125, -2.0], [[-5.0, -6.0], [-2.0, -9.0]], 1),
        _beam_step_case([-5.0, -9.0], [[-6.0, -7.0], [-3.5, -9.0]], 2),  # the totals count whole
        *map(_large_beam_step_case, (2, 3)),
    ],
    expected=_beam_step_by_rank,
    saved=True,
)


def my_cached_attention(
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Attend from the newest position to itself and to all in the cache."""
    keys = torch.cat((keys, key), dim=-2)
    values = torch.cat((values, value), dim=-2)
    scores = query @ keys.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ values, keys, values


def _cached_attention_by_pytorch(
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Let PyTorch attend, over lists of positions joined."""
    keys = torch.stack([*keys.unbind(-2), key.squeeze(-2)], dim=-2)
    values = torch.stack([*values.unbind(-2), value.squeeze(-2)], dim=-2)
    return F.scaled_dot_product_attention(query, keys, values), keys, values


def _cached_attention_case(heads: int, k_len: int, d_k: int, d_v: int) -> tuple[Tensor, ...]:
    """Draw a position's query, key and value, and the keys and values of those before it."""
    draw = make_normal_sampler(heads + 7 * k_len)
    new = draw(heads, 1, d_k), draw(heads, 1, d_k), draw(heads, 1, d_v)
    return (*new, draw(heads, k_len, d_k), draw(heads, k_len, d_v))


_ZERO, _ONE, _THREE = torch.zeros(1, 1, 1), torch.ones(1, 1, 1), torch.full((1, 1, 1), 3.0)
_KEYS, _VALUES = torch.tensor([[[0.0], [1.0]]]), torch.tensor([[[1.0], [3.0]]])
cached_attention = Exercise(
    my_cached_attention,
    lesson_wording,
    worked=[
        # no score counts, so both have a half: (1 + 3) / 2
        ((_ZERO, _ONE, _THREE, _ZERO, _ONE), (torch.tensor([[[2.0]]]), _KEYS, _VALUES)),
    ],
    cases=[
        _cached_attention_case(1, 0, 1, 1),
        _cached_attention_case(1, 1, 2, 1),
        _cached_attention_case(2, 3, 5, 3),
        _cached_attention_case(3, 2, 2, 4),
    ],
    expected=_cached_attention_by_pytorch,
)


def my_top_p_sample(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Return the token at `chance`, 0 to 1 along the most probable."""
    probs, tokens = (logits / temperature).softmax(dim=-1).sort(descending=True)
    before = probs.cumsum(dim=-1) - probs
    kept = probs[before < top_p]
    reached = kept.cumsum(dim=-1) / kept.sum()
    place = int((reached <= chance).sum())
    return int(tokens[place])


def _top_p_tokens_with_cumulative_probs(
    logits: list[float], temperature: float, top_p: float
) -> list[tuple[int, float]]:
    """List the most probable tokens, each with where its stretch of 0 to 1 ends."""
    top = max(logits)
    powers = [math.exp((logit - top) / temperature) for logit in logits]
    order = sorted(range(len(powers)), key=lambda token: -powers[token])
    top_tokens: list[int] = []
    while math.fsum(powers[token] for token in top_tokens) < top_p * math.fsum(powers):
        top_tokens.append(order[len(top_tokens)])
    total = math.fsum(powers[token] for token in top_tokens)
    ends = itertools.accumulate(powers[token] / total for token in top_tokens)
    return list(zip(top_tokens, ends, strict=True))


def _top_p_sample_by_cumulative_probs(
    logits: Tensor, temperature: float, top_p: float, chance: float
) -> int:
    walk = _top_p_tokens_with_cumulative_probs(logits.tolist(), temperature, top_p)
    return next((token for token, end in walk if end > chance), walk[-1][0])


def _is_draw_robust_to_rounding(
    logits: list[float], temperature: float, top_p: float, chance: float
) -> bool:
    """Return whether a little less or more of top_p or chance draws the same from as many."""
    if any(
        abs(end - chance) < MIN_DRAW_DISTANCE_FROM_BOUNDARY
        for _, end in _top_p_tokens_with_cumulative_probs(logits, temperature, top_p)
    ):
        return False
    less = _top_p_tokens_with_cumulative_probs(
        logits, temperature, top_p - MIN_DRAW_DISTANCE_FROM_BOUNDARY
    )
    return len(less) == len(
        _top_p_tokens_with_cumulative_probs(
            logits, temperature, top_p + MIN_DRAW_DISTANCE_FROM_BOUNDARY
        )
    )


def _top_p_sample_cases() -> list[tuple[Tensor, float, float, float]]:
    rows = ([2.0, 1.0], [0.0, 1.5, -1.0, 1.0], [0.5, -2.0, 0.25, 2.0, 1.0], [-7.0, -6.0, -5.5])
    cases = [
        (torch.tensor(row), temperature, top_p, chance)
        for row in rows
        for temperature in (0.5, 1.0, 2.0)
        for top_p in (0.3, 0.6, 0.9, 0.99)
        for chance in (0.0, 0.2, 0.55, 0.8, 0.99)
        if _is_draw_robust_to_rounding(row, temperature, top_p, chance)
    ]
    steep = torch.tensor([80.0, 81.0, 79.0]), 0.1, 0.9, 0.5  # e ** 810 is no float
    return [*cases[::2], (torch.tensor([5.0]), 1.0, 0.5, 0.7), steep]


_SAMPLE_EXAMPLE_LOGITS = torch.tensor([math.log(2), math.log(5), math.log(3)])

top_p_sample = Exercise(
    my_top_p_sample,
    lesson_wording,
    worked=[
        # .5, .3, .2 for tokens 1, 2, 0. The first two reach .7; shared out again 5/8 and 3/8
        ((_SAMPLE_EXAMPLE_LOGITS, 1.0, 0.7, 0.6), 1),
        ((_SAMPLE_EXAMPLE_LOGITS, 1.0, 0.7, 0.7), 2),
        ((_SAMPLE_EXAMPLE_LOGITS, 1.0, 0.99, 0.9), 0),
        # at a half the odds are 25 : 9 : 4, and .65 falls within the first 25 of 38
        ((_SAMPLE_EXAMPLE_LOGITS, 0.5, 0.99, 0.65), 1),
    ],
    cases=_top_p_sample_cases(),
    expected=_top_p_sample_by_cumulative_probs,
)
