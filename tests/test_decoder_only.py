"""The decoder-only network: equal to PyTorch's layers, and cached or padded to itself."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import Verdict, diagnose
from lessonkit.adapters import adapt_network
from transformer.config import DecoderOnlyConfig
from transformer.decoder_only import DecoderOnly
from transformer.masks import padding_mask
from transformer.modern import find_parts
from transformer.support.errors import UserError

BATCH, VOCAB = 3, 31
close = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)


def decoder_only(parts: str = "modern", **changes: Any) -> DecoderOnly:
    torch.manual_seed(9)
    sizes: dict[str, Any] = {"d_model": 24, "d_ff": 37, "num_heads": 6, "num_layers": 2}
    config = DecoderOnlyConfig(**sizes | {"dropout": 0.0, "max_len": 43} | changes)
    return DecoderOnly(config, vocab_size=VOCAB, parts=find_parts(parts)).eval()


def pairs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(8)
    src, tgt_in = (torch.randint(4, VOCAB, (BATCH, n), generator=generator) for n in (7, 11))
    src[1, 5:] = src[2, 2:] = 0
    return src, tgt_in


@pytest.mark.parametrize("parts", ["paper", "modern"])
def test_a_source_computed_first_equals_one_sequence(parts: str) -> None:
    model, (src, tgt_in) = decoder_only(parts), pairs()
    mask, cache = padding_mask(src), model.new_cache()
    memory, whole = model.encode(src, mask), model(src, tgt_in)
    steps = [model.decode(token, memory, mask, cache) for token in tgt_in.split(1, dim=1)]
    close(torch.cat(steps, dim=1), whole)
    close(model.decode(tgt_in, memory, mask), whole)


def test_a_decoder_only_model_is_pytorchs_encoder_with_a_prefix_mask() -> None:
    """Without padding: its layers are an encoder's, on one sequence, with another mask."""
    model, (src, tgt_in) = decoder_only("paper", attention_bias=True), pairs()
    src = src[:1]
    layer = nn.TransformerEncoderLayer(24, 6, 37, 0.0, batch_first=True)
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    with torch.no_grad():
        ours: Any
        their: Any
        for ours, their in zip(model.layers, theirs.layers, strict=True):
            attention = ours.self_attention
            names = ("query_projection", "key_projection", "value_projection")
            projections = [getattr(attention, name) for name in names]
            for kind in ("weight", "bias"):
                joined = torch.cat([getattr(linear, kind) for linear in projections])
                getattr(their.self_attn, f"in_proj_{kind}").copy_(joined)
            their.self_attn.out_proj.load_state_dict(attention.output_projection.state_dict())
            their.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
            their.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
        hidden = model.embedding(torch.cat((src, tgt_in[:1]), dim=1))
        allowed = torch.ones(18, 18).tril().bool()
        allowed[:7, :7] = True
        expected = model.output(theirs(hidden, ~allowed)[:, 7:])
    close(model(src, tgt_in[:1]), expected)


@pytest.mark.parametrize("parts", ["paper", "modern"])
def test_a_sources_padding_moves_no_position(parts: str) -> None:
    model, (src, tgt_in) = decoder_only(parts), pairs()
    close(model(src[1:2, :5], tgt_in[1:2]), model(src, tgt_in)[1:2])


def test_every_law_is_kept() -> None:
    report = diagnose(adapt_network(decoder_only(pre_norm=True), VOCAB, VOCAB), minute=False)
    assert not report.broken_laws, report
    assert len(report.results_with_verdict(Verdict.KEPT)) > 20


def test_what_does_not_go_together_is_refused() -> None:
    model, (src, tgt_in) = decoder_only(max_len=9), pairs()
    memory = model.encode(src, padding_mask(src))
    cases: dict[str, Any] = {
        "d_k 4 and d_v 5 differ": lambda: DecoderOnlyConfig(d_model=8, num_heads=2, d_v=5),
        "concatenated positions": lambda: decoder_only(positions="concatenated", tie_softmax=False),
        "tie_source_target=false": lambda: decoder_only(tie_source_target=False),
        "11 tokens are more than max_len 9": lambda: model(src, tgt_in),
        "memory is float32": lambda: model.decode(tgt_in, memory[:, :1], padding_mask(src)),
    }
    for message, call in cases.items():
        with pytest.raises(UserError, match=message):
            call()
