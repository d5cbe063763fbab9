"""Lesson 02: wrong answers that have passed, and right ones that must."""

import math

import pytest
import torch
import torch.nn.functional as F

from tests.helpers.exercise_walk import ALL, status
from transformer import masks


def attention_filled_with(low):
    def answer(query, key, value, mask):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        return scores.masked_fill(~mask, low).softmax(dim=-1) @ value

    return answer


@pytest.mark.parametrize("low", [-10.0, -50.0, 0.0])
def test_a_score_that_may_be_beaten_is_no_mask(low):
    assert status("scaled_attention", attention_filled_with(low)) == "wrong"


@pytest.mark.parametrize("low", [-1e9, -1e4, -math.inf])
def test_a_very_low_score_is_a_mask(low):
    assert status("scaled_attention", attention_filled_with(low)) == "passed"


def test_attention_written_out_is_accepted():
    def answer(query, key, value, mask):
        powers = (query @ key.mT / math.sqrt(query.shape[-1])).exp() * mask
        return powers / powers.sum(dim=-1, keepdim=True) @ value

    assert status("scaled_attention", answer) == "passed"


@pytest.mark.parametrize("low", [-1e9, -math.inf])
def test_an_inverted_mask_is_recognised_whatever_stands_for_minus_infinity(low):
    def answer(query, key, value, mask):
        return attention_filled_with(low)(query, key, value, ~mask)

    assert "True means *may attend*" in " ".join(
        repr(ALL["scaled_attention"].check(answer)).split()
    )


def window(length, width):
    place = torch.arange(length)
    back = place[:, None] - place
    return (back >= 0) & (back < width)


@pytest.mark.parametrize("dtype", [torch.float, torch.long, torch.uint8])
def test_numbers_are_no_mask(dtype):
    text = repr(ALL["window_mask"].check(lambda length, width: window(length, width).to(dtype)))
    assert f"its numbers are {dtype}, not torch.bool" in text
    assert status("window_mask", window) == "passed"


def unknown_is_padding(tgt_in):
    return (tgt_in > 1)[:, None, None, :] & masks.causal_mask(tgt_in.shape[1])


def of_the_package(tgt_in):
    return masks.padding_mask(tgt_in, 0) & masks.causal_mask(tgt_in.shape[1])


def by_floats(tgt_in):
    return (tgt_in != 0)[:, None, None, :] * torch.ones(tgt_in.shape[1], tgt_in.shape[1]).tril()


@pytest.mark.parametrize("answer", [unknown_is_padding, of_the_package, by_floats])
def test_a_decoder_mask_is_made_of_padding_and_by_hand(answer):
    assert status("decoder_mask", answer) == "wrong"


def test_what_the_package_does_is_named():
    text = repr(ALL["decoder_mask"].check(of_the_package))
    assert "it calls `padding_mask` of transformer.masks" in text


def test_an_inverted_half_of_the_decoder_mask_is_recognised():
    text = repr(ALL["decoder_mask"].check(lambda ids: ~masks_of(ids)[0] & masks_of(ids)[1]))
    assert "you open the keys that *are* <pad>" in " ".join(text.split())


def masks_of(tgt_in):
    past = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool).tril()
    return (tgt_in != 0)[:, None, None, :], past


# --- multi-head attention ---


def heads_in_a_loop(query, memory, weights, num_heads, mask, scale=True):
    w_q, w_k, w_v, w_o = weights
    found = []
    for head in range(num_heads):
        queries, keys, values = (
            (each @ matrix).unflatten(-1, (num_heads, -1))[:, :, head]
            for each, matrix in ((query, w_q), (memory, w_k), (memory, w_v))
        )
        scores = queries @ keys.mT / (math.sqrt(queries.shape[-1]) if scale else 1)
        found.append(scores.masked_fill(~mask[:, 0], -1e9).softmax(dim=-1) @ values)
    return torch.cat(found, dim=-1) @ w_o


def heads_by_einsum(query, memory, weights, num_heads, mask):
    to_query, to_key, to_value = (each.unflatten(1, (num_heads, -1)) for each in weights[:3])
    queries = torch.einsum("bqd,dhk->bhqk", query, to_query)
    keys = torch.einsum("btd,dhk->bhtk", memory, to_key)
    values = torch.einsum("btd,dhv->bhtv", memory, to_value)
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
    heads = scores.masked_fill(~mask, -1e9).softmax(dim=-1) @ values
    return torch.einsum("bhqv,hvd->bqd", heads, weights[3].unflatten(0, (num_heads, -1)))


def mean_of_heads(query, memory, weights, num_heads, mask):
    return heads_in_a_loop(query, memory, weights, num_heads, mask) / num_heads


def by_pytorch(query, memory, weights, num_heads, mask):
    split = [
        (x @ w).unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for x, w in zip((query, memory, memory), weights[:3], strict=True)
    ]
    return F.scaled_dot_product_attention(*split, mask).transpose(1, 2).flatten(2) @ weights[3]


def test_pytorchs_own_attention_is_refused():
    assert "it calls PyTorch's `scaled_dot_product_attention`" in repr(
        ALL["multi_head"].check(by_pytorch)
    )


@pytest.mark.parametrize("answer", [heads_in_a_loop, heads_by_einsum])
def test_heads_may_be_taken_one_by_one_or_all_at_once(answer):
    assert status("multi_head", answer) == "passed"


@pytest.mark.parametrize(
    "answer", [mean_of_heads, lambda *case: heads_in_a_loop(*case, scale=False)]
)
def test_heads_are_refused(answer):
    assert status("multi_head", answer) == "wrong"


def test_the_judge_of_multi_head_attention_is_right_by_pytorchs_own_module():
    exercise, judged = ALL["multi_head"], 0
    for query, memory, weights, num_heads, mask in exercise.cases:
        if not all(len(each) == each.shape[1] for each in weights):
            continue  # PyTorch's heads share out d_model
        theirs = torch.nn.MultiheadAttention(len(weights[0]), num_heads, False, batch_first=True)
        theirs.in_proj_weight.data = torch.cat([each.T for each in weights[:3]])
        theirs.out_proj.weight.data = weights[3].T
        shut = ~mask.expand(-1, num_heads, query.shape[1], -1).flatten(0, 1)
        found, _ = theirs(query, memory, memory, attn_mask=shut)
        judge = exercise.expected(query, memory, weights, num_heads, mask)
        torch.testing.assert_close(found, judge)
        judged += 1
    assert judged >= 4


# --- attention in blocks ---


def scores_of(query, key):
    return query @ key.T / math.sqrt(query.shape[-1])


def joined(query, blocks):
    key, value = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    return scores_of(query, key).softmax(dim=-1) @ value


def joined_and_fused(query, blocks):
    key, value = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    return F.scaled_dot_product_attention(query[None], key[None], value[None])[0]


def all_scores_in_a_list(query, blocks):
    pairs = list(blocks)
    scores = [scores_of(query, key) for key, _ in pairs]
    best = torch.stack([each.amax(dim=-1, keepdim=True) for each in scores]).amax(dim=0)
    powers = [(each - best).exp() for each in scores]
    total = sum(each.sum(dim=-1, keepdim=True) for each in powers)
    return sum(each @ value for each, (_, value) in zip(powers, pairs, strict=True)) / total


def two_ways_through(query, blocks):
    tops = [scores_of(query, key).amax(dim=-1, keepdim=True) for key, _ in blocks]
    best = torch.stack(tops).amax(dim=0)
    total = summed = 0
    for i in range(len(blocks)):
        key, value = blocks[i]
        powers = (scores_of(query, key) - best).exp()
        total, summed = total + powers.sum(dim=-1, keepdim=True), summed + powers @ value
    return summed / total


def with_the_maximum(choose, rises=True):
    def answer(query, blocks):
        best, total, summed = torch.tensor(-math.inf), 0, 0
        for key, value in blocks:
            scores = scores_of(query, key)
            new = best
            if rises or torch.isinf(best).any():
                new = torch.maximum(best, choose(scores))
            shrink, powers = (best - new).exp(), (scores - new).exp()
            total = total * shrink + powers.sum(dim=-1, keepdim=True)
            summed, best = summed * shrink + powers @ value, new
        return summed / total

    return answer


def of_each_row(scores):
    return scores.amax(dim=-1, keepdim=True)


BLOCKS_WRONG = {
    "joined": joined,
    "joined and fused": joined_and_fused,
    "a list": all_scores_in_a_list,
    "twice": two_ways_through,
    "one maximum": with_the_maximum(torch.max),
    "the first maximum": with_the_maximum(of_each_row, rises=False),
    "the least": with_the_maximum(lambda scores: scores.amin(dim=-1, keepdim=True)),
}


@pytest.mark.parametrize("name", BLOCKS_WRONG)
def test_attention_in_blocks_holds_little_goes_once_and_overflows_nowhere(name):
    assert status("attention_in_blocks", BLOCKS_WRONG[name]) == "wrong"


def parts_joined_at_the_end(query, blocks):
    parts = []
    for key, value in blocks:
        scores = scores_of(query, key)
        best = scores.amax(dim=-1, keepdim=True)
        powers = (scores - best).exp()
        parts.append((best, powers.sum(dim=-1, keepdim=True), powers @ value))
    best = torch.stack([part[0] for part in parts]).amax(dim=0)
    total = sum(total * (own - best).exp() for own, total, _ in parts)
    return sum(summed * (own - best).exp() for own, _, summed in parts) / total


def by_log_sum_exp(query, blocks):
    size = None
    for key, value in blocks:
        scores = scores_of(query, key)
        new, out = scores.logsumexp(dim=-1, keepdim=True), scores.softmax(dim=-1) @ value
        if size is None:
            size, result = new, out
        else:
            both = torch.logaddexp(size, new)
            result = result * (size - both).exp() + out * (new - both).exp()
            size = both
    return result


def row_by_row(query, blocks):
    width = blocks[0][1].shape[1]
    rows = [(-math.inf, 0.0, torch.zeros(blocks[0][1].shape[1])) for _ in query]
    for key, value in blocks:
        for i, (best, total, summed) in enumerate(rows):
            scores = scores_of(query[i : i + 1], key)[0]
            new = max(best, float(scores.max()))
            powers, shrink = (scores - new).exp(), math.exp(best - new)
            rows[i] = new, total * shrink + float(powers.sum()), summed * shrink + powers @ value
    return torch.stack([summed / total for _, total, summed in rows]).reshape(-1, width)


def with_a_name_for_everything(query, blocks):
    best = torch.full((query.shape[0], 1), float("-inf"))
    total, summed = torch.zeros(query.shape[0], 1), torch.zeros(query.shape[0], 1)
    for i in range(len(blocks)):
        key, value = blocks[i]
        turned = key.transpose(0, 1)
        raw = torch.einsum("qd,dk->qk", query, turned)
        scores = raw / query.shape[1] ** 0.5
        top = scores.max(dim=1, keepdim=True).values
        new = torch.maximum(best, top)
        moved = scores - new
        powers = torch.exp(moved)
        total = total * torch.exp(best - new) + powers.sum(dim=1, keepdim=True)
        if summed.shape[1] != value.shape[1]:
            summed = summed.expand(-1, value.shape[1])
        summed = summed * torch.exp(best - new) + torch.matmul(powers, value)
        best = new
    return summed / total


def by_broadcasting(query, blocks):
    best, total, summed = -math.inf, 0.0, 0.0
    for key, value in blocks:
        scores = (query[:, None] * key[None]).sum(dim=-1) / math.sqrt(query.shape[-1])
        new = scores.amax(dim=-1, keepdim=True).clamp(min=best)
        powers = (scores - new).exp()
        total = total * (best - new).exp() + powers.sum(dim=-1, keepdim=True)
        summed = summed * (best - new).exp() + (powers[..., None] * value).sum(dim=1)
        best = new
    return summed / total


BLOCKS_RIGHT = [
    parts_joined_at_the_end,
    by_log_sum_exp,
    row_by_row,
    with_a_name_for_everything,
    by_broadcasting,
    with_the_maximum(of_each_row),
]


@pytest.mark.parametrize("answer", BLOCKS_RIGHT)
def test_attention_in_blocks_may_be_done_in_many_ways(answer):
    verdict = ALL["attention_in_blocks"].check(answer)
    assert verdict.status == "passed", verdict
