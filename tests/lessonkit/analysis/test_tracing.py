"""The trace: every number is the model's own, and the chain from text to token has no gap."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from lessonkit.analysis.heads import STACK_NAMES, Head, attention_module
from lessonkit.analysis.tracing import DEFAULT_HEAD, DEFAULT_SENTENCE, Trace, trace_translation
from transformer.config import BOS_ID, EOS_ID, ModelConfig
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.parts import Parts
from transformer.support.errors import UserError

# 64 bits beside the model's own 32
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5, "check_dtype": False}


@pytest.fixture(scope="module")
def traced(shipped: Translator) -> Trace:
    return trace_translation(shipped)


@pytest.fixture(params=[False, True], ids=["post-norm", "pre-norm"])
def other(shipped: Translator, request: pytest.FixtureRequest) -> Translator:
    """The shipped model's tokenizers around a network of another shape, untrained."""
    torch.manual_seed(5)
    config = ModelConfig(
        d_model=22, d_ff=13, num_heads=2, d_k=6, d_v=7, num_layers=3, pre_norm=request.param
    )
    size = shipped.tgt_tokenizer.vocab_size
    network = Transformer(config, src_vocab_size=size, tgt_vocab_size=size)
    description: Any = (shipped.recipe, shipped.src_tokenizer, shipped.tgt_tokenizer)
    return Translator(description, network)


def by_model(translator: Translator, made: Trace) -> Tensor:
    """The logits of the model's own forward pass in its own precision, (tgt_len, types)."""
    with torch.no_grad():
        return translator.model.eval()(made.source.ids[None], made.target.ids[None])[0]


def test_the_sentence_becomes_pieces_ids_and_vectors(traced: Trace, shipped: Translator) -> None:
    model: Any = shipped.model
    assert traced.source.text == DEFAULT_SENTENCE
    assert traced.source.tokens == [*shipped.src_tokenizer.tokens(DEFAULT_SENTENCE), "<eos>"]
    assert traced.source.ids.tolist() == [*shipped.src_tokenizer.encode(DEFAULT_SENTENCE), EOS_ID]
    assert traced.target.text == shipped.translate([DEFAULT_SENTENCE], beam_size=1)[0]
    assert traced.target.ids.tolist() == [BOS_ID, *traced.written_ids[:-1].tolist()]
    for side, embedding in (
        (traced.source, model.src_embedding),
        (traced.target, model.tgt_embedding),
    ):
        rows = embedding.token.weight.detach()[side.ids]
        assert_close(side.vectors, rows * math.sqrt(rows.shape[1]), **CLOSE)
        assert_close(side.vectors + side.positions, side.embedded, **CLOSE)


def test_each_line_of_the_head_follows_from_the_one_before(other: Translator) -> None:
    model: Any = other.model
    for stack in STACK_NAMES:
        head = Head(stack, 3, 2)
        at = trace_translation(other, "The cat.", head).attention
        q_len, k_len = len(at.query_tokens), len(at.key_tokens)
        assert at.scores.shape == (q_len, k_len)
        assert_close(at.scores, at.queries @ at.keys.T, **CLOSE)
        assert_close(at.scaled, at.scores / math.sqrt(6), **CLOSE)
        assert_close(at.masked.softmax(dim=-1), at.weights, **CLOSE)
        future = torch.ones(q_len, k_len).triu(1).bool() & (stack == "decoder")
        assert torch.equal(~at.mask, future)
        assert not at.weights[future].any()
        assert_close(at.weights @ at.values, at.mixed, **CLOSE)
        assert_close(at.joined[:, 7:], at.mixed)
        with torch.no_grad():
            output = attention_module(model, head).output_projection(at.joined.float())
        assert_close(output, at.output, **CLOSE)


def test_the_layer_and_all_above_it_give_the_model_s_output(other: Translator) -> None:
    model: Any = other.model
    for stack in STACK_NAMES:
        made, pre_norm = (
            trace_translation(other, "The cat.", Head(stack, 3, 1)),
            model.config.pre_norm,
        )
        for below, above in zip(made.sub_layers, made.sub_layers[1:], strict=False):
            assert_close(below.after, above.before)
        for part in made.sub_layers:
            assert_close(part.before + part.output, part.total)
            assert pre_norm == torch.equal(part.after, part.total)
            assert pre_norm != torch.equal(part.sublayer_input, part.before)
        last, side = made.sub_layers[-1], model.encoder if stack == "encoder" else model.decoder
        with torch.no_grad():
            feed_forward = side.layers[2].feed_forward
            assert_close(
                feed_forward.inner(last.sublayer_input.float()).relu(), made.inner, **CLOSE
            )
            assert_close(feed_forward.outer(made.inner.float()), last.output, **CLOSE)
            above = side.norm(last.after.float())
            if stack == "encoder":
                mask = torch.ones(1, 1, 1, len(made.source.ids), dtype=torch.bool)
                assert_close(above, model.eval().encode(made.source.ids[None], mask)[0], **CLOSE)
            else:
                assert_close(above, made.decoded, **CLOSE)
            assert_close(model.output(made.decoded.float()), made.logits, **CLOSE)
        assert_close(made.logits, by_model(other, made), **CLOSE)


def test_it_leaves_the_model_as_it_was(other: Translator) -> None:
    other.model.train()
    trace_translation(other, "The cat.", Head("decoder", 1, 2))
    assert other.model.training
    assert next(other.model.parameters()).dtype == torch.float32
    assert not any(module._forward_hooks for module in other.model.modules())


def test_what_cannot_be_traced(shipped: Translator) -> None:
    for sentence, head, message in (
        ("  ", DEFAULT_HEAD, "give some words"),
        ("cat " * 300, DEFAULT_HEAD, "max_len 256"),
        (DEFAULT_SENTENCE, Head("cross", 3, 1), r"no head cross 3\.1"),
    ):
        with pytest.raises(UserError, match=message):
            trace_translation(shipped, sentence, head)


def test_a_model_of_other_parts_has_no_trace(shipped: Translator) -> None:
    size = shipped.tgt_tokenizer.vocab_size
    network = Transformer(
        ModelConfig(d_model=22, d_ff=13, num_heads=2, num_layers=1),
        src_vocab_size=size,
        tgt_vocab_size=size,
        parts=Parts(norm=lambda config: nn.RMSNorm(config.d_model)),
    )
    description: Any = (shipped.recipe, shipped.src_tokenizer, shipped.tgt_tokenizer)
    with pytest.raises(UserError, match="norm are not the paper's"):
        trace_translation(Translator(description, network))
