"""The parts of after 2017: each against an oracle of its own, and a case by hand."""

import math
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_laws import Verdict, diagnose
from lessonkit.adapters import adapt_network
from tests.helpers import weekly
from transformer.attention import KeyValueCache, MultiHeadAttention
from transformer.config import ModelConfig
from transformer.feed_forward import make_feed_forward
from transformer.masks import causal_mask
from transformer.model import Transformer, count_parameters
from transformer.modern import (
    PARTS_BY_NAME,
    GatedFeedForward,
    GroupedQueryAttention,
    RMSNorm,
    RotaryAttention,
    RotaryGroupedQueryAttention,
    find_parts,
    make_gated_feed_forward,
    make_grouped_query_attention,
    make_rotary_attention,
    make_rotary_grouped_query_attention,
)
from transformer.support.errors import UserError

BATCH, LENGTH, D_MODEL = 3, 7, 26
VOCAB = 31
close = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)


def random(*shape: int, seed: int = 5) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# --- norm ---


def test_rms_norm_is_pytorchs() -> None:
    ours, theirs = RMSNorm(D_MODEL), nn.RMSNorm(D_MODEL, eps=1e-5)
    with torch.no_grad():
        ours.weight.copy_(random(D_MODEL))
        theirs.weight.copy_(ours.weight)
    hidden = random(BATCH, LENGTH, D_MODEL)
    close(ours(hidden), theirs(hidden))


def test_rms_norm_by_hand() -> None:
    """The root mean square of 3, 4, 0 and 0 is 2.5."""
    close(RMSNorm(4)(torch.tensor([3.0, 4.0, 0.0, 0.0])), torch.tensor([1.2, 1.6, 0.0, 0.0]))


def test_rms_norm_forgets_the_scale_and_keeps_the_shift() -> None:
    hidden = 10 * random(BATCH, D_MODEL)
    rms_norm, layer_norm = RMSNorm(D_MODEL), nn.LayerNorm(D_MODEL)
    for norm in (rms_norm, layer_norm):
        close(norm(7 * hidden), norm(hidden))
    close(layer_norm(hidden + 5), layer_norm(hidden))
    assert not torch.allclose(rms_norm(hidden + 5), rms_norm(hidden), atol=0.1)


# --- rotary positions ---


def rotated_by_complex_numbers(vectors: Tensor, start: int) -> Tensor:
    """Multiply each pair, as a complex number, by e^(i * position * frequency)."""
    d_k = vectors.shape[-1]
    pairs = torch.view_as_complex(vectors.double().unflatten(-1, (-1, 2)).contiguous())
    places = torch.arange(start, start + vectors.shape[-2], dtype=torch.float64)
    frequencies = 10_000.0 ** (-2 * torch.arange(d_k // 2, dtype=torch.float64) / d_k)
    turns = torch.polar(torch.ones(()).double(), places[:, None] * frequencies)
    return torch.view_as_real(pairs * turns).flatten(-2).float()


def test_rotary_attention_is_that_of_rotated_queries_and_keys() -> None:
    attention = RotaryAttention(D_MODEL, num_heads=5, d_k=6, d_v=3).eval()
    hidden, mask = random(BATCH, LENGTH, D_MODEL), causal_mask(LENGTH)
    queries, keys, values = MultiHeadAttention.project(attention, hidden)
    queries, keys = (rotated_by_complex_numbers(x, 0) for x in (queries, keys))
    heads = F.scaled_dot_product_attention(queries, keys, values, mask)
    expected = attention.output_projection(heads.transpose(1, 2).flatten(2))
    close(attention(hidden, mask=mask)[0], expected)


def test_rotary_positions_know_distances_alone() -> None:
    """A shift of the whole sentence changes each query and key, and no score."""
    attention = RotaryAttention(D_MODEL, num_heads=5, d_k=6, d_v=3)
    hidden, cache = random(1, LENGTH, D_MODEL), KeyValueCache()
    attention(random(1, 11, D_MODEL, seed=6), cache=cache)
    later, here = attention.project(hidden, cache=cache), attention.project(hidden)
    assert not torch.allclose(later[0], here[0], atol=0.1)  # positions 11 to 17, and 0 to 6
    close(
        later[0], rotated_by_complex_numbers(MultiHeadAttention.project(attention, hidden)[0], 11)
    )
    close(*(queries @ keys[:, :, -LENGTH:].mT for queries, keys, _ in (later, here)))


# --- feed-forward ---


def test_gated_feed_forward_by_hand() -> None:
    """silu(2) * 3 = 2 / (1 + e^-2) * 3, and half of it."""
    layer = GatedFeedForward(1, 1)
    with torch.no_grad():
        for linear, weight in ((layer.gate, 2.0), (layer.inner, 3.0), (layer.outer, 0.5)):
            linear.weight.fill_(weight)
    expected = 0.5 * 3 * 2 / (1 + math.exp(-2))
    close(layer(torch.ones(1, 1, 1)), torch.full((1, 1, 1), expected))


@pytest.mark.parametrize(("d_model", "d_ff"), [(128, 256), (26, 41), (512, 2048), (7, 1)])
def test_a_gate_costs_no_parameters(d_model: int, d_ff: int) -> None:
    config = ModelConfig(d_model=d_model, d_ff=d_ff, num_heads=1, positions="learned")  # type: ignore[arg-type]
    gated, plain = (
        count_parameters(make(config)) for make in (make_gated_feed_forward, make_feed_forward)
    )
    assert abs(gated - plain) <= 1.5 * d_model  # half a row of the three matrices


# --- grouped queries ---


@pytest.mark.parametrize("return_weights", [False, True])
@pytest.mark.parametrize("num_key_heads", [1, 2, 3, 6])
def test_grouped_queries_are_pytorchs(num_key_heads: int, return_weights: bool) -> None:
    attention = GroupedQueryAttention(D_MODEL, 6, d_k=5, d_v=3, num_key_heads=num_key_heads).eval()
    query, memory = random(BATCH, LENGTH, D_MODEL), random(BATCH, 11, D_MODEL, seed=6)
    mask = random(BATCH, 1, LENGTH, 11, seed=7) > 0

    def heads(linear: nn.Linear, source: Tensor, size: int) -> Tensor:
        return linear(source).view(*source.shape[:2], -1, size).transpose(1, 2)

    expected = F.scaled_dot_product_attention(
        heads(attention.query_projection, query, 5),
        heads(attention.key_projection, memory, 5),
        heads(attention.value_projection, memory, 3),
        mask,
        enable_gqa=True,
    )
    output, weights = attention(query, memory, mask, return_weights=return_weights)
    close(output, attention.output_projection(expected.transpose(1, 2).flatten(2)))
    assert (weights is not None) == return_weights


def test_one_key_head_of_eight_has_an_eighth_of_the_cache() -> None:
    sizes = []
    for num_key_heads in (8, 1):
        cache = KeyValueCache()
        attention = GroupedQueryAttention(D_MODEL, 8, 5, 3, num_key_heads)
        attention(random(BATCH, LENGTH, D_MODEL), cache=cache)
        sizes.append(sum(tensor.numel() for tensor in cache.tensors))
    assert sizes == [BATCH * LENGTH * 8 * (5 + 3), BATCH * LENGTH * (5 + 3)]


def test_the_source_is_projected_once_by_grouped_queries() -> None:
    attention, cache = GroupedQueryAttention(D_MODEL, 6, 5, 3, 2), KeyValueCache()
    query, memory = random(BATCH, 1, D_MODEL), random(BATCH, LENGTH, D_MODEL, seed=6)
    first, _ = attention(query, memory, cache=cache)
    again, _ = attention(query, torch.full_like(memory, torch.nan), cache=cache)
    torch.testing.assert_close(first, again, atol=0, rtol=0)


# --- all of them, in a model of today ---


@pytest.mark.weekly
def test_the_parts_together_are_llamas() -> None:
    """Llama rotates component i with i + d_k / 2; here neighbours make a pair: other rows."""
    transformers = pytest.importorskip("transformers")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    heads, key_heads, d_k, d_model = 6, 2, 10, 42  # the library wants a multiple of heads
    config = transformers.LlamaConfig(
        hidden_size=d_model, num_attention_heads=heads, num_key_value_heads=key_heads, head_dim=d_k,
        intermediate_size=37, rms_norm_eps=1e-5, attn_implementation="eager",
    )  # fmt: skip
    theirs = llama.LlamaAttention(config, 0)
    ours = RotaryGroupedQueryAttention(d_model, heads, d_k, d_k, key_heads)
    hidden, allowed = random(BATCH, LENGTH, d_model), causal_mask(LENGTH)
    with torch.no_grad():
        projections = ((ours.query_projection, theirs.q_proj), (ours.key_projection, theirs.k_proj))
        for mine, their in projections:
            halves = their.weight.view(-1, 2, d_k // 2, d_model)
            mine.weight.copy_(halves.transpose(1, 2).flatten(0, 2))
        ours.value_projection.weight.copy_(theirs.v_proj.weight)
        ours.output_projection.weight.copy_(theirs.o_proj.weight)
    turns = llama.LlamaRotaryEmbedding(config)(hidden, torch.arange(LENGTH)[None])
    hidden_from = torch.zeros(allowed.shape).masked_fill(~allowed, -1e30)
    close(ours(hidden, mask=allowed)[0], theirs(hidden, turns, hidden_from)[0])
    close(RMSNorm(d_model)(hidden), llama.LlamaRMSNorm(d_model, 1e-5)(hidden))
    mlp, gated = llama.LlamaMLP(config), GatedFeedForward(d_model, 37)
    weights = {"gate": mlp.gate_proj, "inner": mlp.up_proj, "outer": mlp.down_proj}
    gated.load_state_dict({f"{name}.weight": linear.weight for name, linear in weights.items()})
    close(gated(hidden), mlp(hidden))


@pytest.mark.weekly
def test_the_parts_together_are_those_of_x_transformers() -> None:
    """It rotates neighbours, as here; query head i has its key head i % key_heads: other rows."""
    library = pytest.importorskip("x_transformers.x_transformers")
    heads, key_heads, d_k = 6, 2, 10
    theirs = library.Attention(
        D_MODEL, dim_head=d_k, heads=heads, kv_heads=key_heads, causal=True, flash=False
    )
    ours = RotaryGroupedQueryAttention(D_MODEL, heads, d_k, d_k, key_heads)
    by_key_head = torch.arange(heads).view(-1, key_heads).T.flatten()
    hidden = random(BATCH, LENGTH, D_MODEL)
    with torch.no_grad():
        queries = theirs.to_q.weight.view(heads, d_k, D_MODEL)[by_key_head]
        ours.query_projection.weight.copy_(queries.flatten(0, 1))
        ours.key_projection.weight.copy_(theirs.to_k.weight)
        ours.value_projection.weight.copy_(theirs.to_v.weight)
        joined = theirs.to_out.weight.view(D_MODEL, heads, d_k)[:, by_key_head]
        ours.output_projection.weight.copy_(joined.flatten(1))
    turns = library.RotaryEmbedding(d_k).forward_from_seq_len(LENGTH)
    expected = theirs(hidden, rotary_pos_emb=turns)
    close(ours(hidden, mask=causal_mask(LENGTH))[0], expected)
    close(RMSNorm(D_MODEL, epsilon=1e-12)(hidden), library.RMSNorm(D_MODEL)(hidden))
    glu = library.FeedForward(D_MODEL, mult=2, glu=True, swish=True, no_bias=True)
    gated, (joint, _, outer) = GatedFeedForward(D_MODEL, 2 * D_MODEL), glu.ff
    nn.init.zeros_(joint.proj.bias)
    inner, gate = joint.proj.weight.chunk(2)
    gated.load_state_dict(
        {"gate.weight": gate, "inner.weight": inner, "outer.weight": outer.weight}
    )
    close(gated(hidden), glu(hidden))


# --- laws, errors ---


@pytest.mark.parametrize(
    "name", ["modern", *map(weekly, sorted(PARTS_BY_NAME.keys() - {"modern"}))]
)
def test_every_law_is_kept(name: str) -> None:
    torch.manual_seed(9)
    config = ModelConfig(d_model=16, d_ff=22, num_heads=2, num_layers=1, pre_norm=True)
    model = Transformer(
        config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB, parts=find_parts(name)
    ).eval()
    report = diagnose(adapt_network(model, VOCAB, VOCAB), minute=False)
    assert not report.broken_laws, report
    assert len(report.results_with_verdict(Verdict.KEPT)) > 20


def test_what_does_not_go_together_is_refused() -> None:
    odd_heads, odd_d_k = ModelConfig(num_heads=1), ModelConfig(d_model=14, num_heads=2)
    cases: dict[str, Any] = {
        "did you mean 'rotary'": lambda: find_parts("rotery"),
        "num_heads is 1": lambda: make_grouped_query_attention(odd_heads),
        "d_k is 7": lambda: make_rotary_attention(odd_d_k),
        "d_k is 7,": lambda: make_rotary_grouped_query_attention(odd_d_k),
        "6 query heads cannot share 4": lambda: GroupedQueryAttention(D_MODEL, 6, 5, 3, 4),
        "memory is given": lambda: RotaryGroupedQueryAttention(D_MODEL, 6, 6, 6, 2)(
            random(1, 2, D_MODEL), random(1, 2, D_MODEL)
        ),
        "epsilon is 0": lambda: RMSNorm(4, 0),
        "hidden is": lambda: RMSNorm(4)(random(2, 5)),
    }
    for message, call in cases.items():
        with pytest.raises(UserError, match=message):
            call()
