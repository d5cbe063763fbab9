"""The trace: every number is the model's own, and the chain from text to token has no gap."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from lessonkit.analysis.heads import STACKS, Head
from lessonkit.analysis.tracing import FINDER, SENTENCE, Trace, rotate, trace
from transformer.config import BOS_ID, EOS_ID, ModelConfig
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

CLOSE = {"rtol": 1e-5, "atol": 1e-5, "check_dtype": False}  # 64 bits beside the model's own 32
POST_NORM, PRE_NORM = False, True


@pytest.fixture(scope="module")
def traced(shipped: Translator) -> Trace:
    return trace(shipped)


def retrained(shipped: Translator, **settings: object) -> Translator:
    """The shipped model's tokenizers around a network of another shape, untrained."""
    torch.manual_seed(5)
    sizes = {"d_model": 22, "d_ff": 13, "num_heads": 2, "d_k": 6, "d_v": 7, "num_layers": 3}
    config = ModelConfig(**(sizes | settings))  # type: ignore[arg-type]
    size = shipped.tgt_tokenizer.vocab_size
    network = Transformer(config, src_vocab_size=size, tgt_vocab_size=size)
    description = (shipped.recipe, shipped.src_tokenizer, shipped.tgt_tokenizer)
    return Translator(description, network)  # type: ignore[arg-type]


def by_model(translator: Translator, made: Trace) -> Tensor:
    """The logits of the model's own forward pass in its own precision, (tgt_len, types)."""
    with torch.no_grad():
        return translator.model.eval()(made.source.ids[None], made.target.ids[None])[0]


def test_the_sentence_becomes_pieces_and_ids(traced: Trace, shipped: Translator) -> None:
    assert traced.source.text == SENTENCE
    assert traced.source.tokens == [*shipped.src_tokenizer.tokens(SENTENCE), "<eos>"]
    assert traced.source.ids.tolist() == [*shipped.src_tokenizer.encode(SENTENCE), EOS_ID]
    assert traced.target.text == shipped.translate([SENTENCE], beam_size=1)[0]
    assert traced.target.ids[0] == BOS_ID
    assert traced.target.ids[1:].tolist() == traced.written_ids[:-1].tolist()
    assert traced.written[-1] == "<eos>"


def test_vectors_and_waves_add_up_to_what_the_first_layer_reads(
    traced: Trace, shipped: Translator
) -> None:
    for side, embedding in (
        (traced.source, shipped.model.src_embedding),
        (traced.target, shipped.model.tgt_embedding),
    ):
        rows = embedding.token.weight.detach()[side.ids]
        assert_close(side.vectors, rows * math.sqrt(rows.shape[1]), **CLOSE)
        assert_close(side.vectors + side.positions, side.embedded, **CLOSE)


@pytest.mark.parametrize("pre_norm", [POST_NORM, PRE_NORM])
@pytest.mark.parametrize("stack", STACKS)
def test_each_line_of_the_head_follows_from_the_one_before(
    shipped: Translator, stack: str, pre_norm: bool
) -> None:
    translator = retrained(shipped, pre_norm=pre_norm)
    head = Head(stack, 3, 2)
    at = trace(translator, "The cat.", head).attention
    assert_close(at.scores, at.queries @ at.keys.T, **CLOSE)
    assert_close(at.scaled, at.scores / math.sqrt(6), **CLOSE)
    assert_close(at.masked.softmax(dim=-1), at.weights, **CLOSE)
    assert_close(at.weights.sum(dim=-1), torch.ones(len(at.queries)), **CLOSE)
    assert not at.weights[~at.mask].any()
    assert_close(at.weights @ at.values, at.mixed, **CLOSE)
    assert_close(at.joined[:, 7:], at.mixed)
    layer = (translator.model.encoder if stack == "encoder" else translator.model.decoder).layers[2]
    attention = layer.cross_attention if stack == "cross" else layer.self_attention
    with torch.no_grad():
        assert_close(attention.output_projection(at.joined.float()), at.output, **CLOSE)
    hidden = (~at.mask).sum().item()
    q_len = len(at.query_tokens)
    assert hidden == (q_len * (q_len - 1) // 2 if stack == "decoder" else 0)
    assert at.scores.shape == (q_len, len(at.key_tokens))


@pytest.mark.parametrize("pre_norm", [POST_NORM, PRE_NORM])
@pytest.mark.parametrize("stack", STACKS)
def test_the_layer_and_all_above_it_give_the_model_s_output(
    shipped: Translator, stack: str, pre_norm: bool
) -> None:
    translator = retrained(shipped, pre_norm=pre_norm)
    made = trace(translator, "The cat.", Head(stack, 3, 1))
    norms = {True: lambda part: part.norm, False: lambda part: torch.nn.Identity()}[pre_norm]
    for below, above in zip(made.sub_layers, made.sub_layers[1:], strict=False):
        assert_close(below.after, above.before)
    for part in made.sub_layers:
        assert_close(part.before + part.output, part.total)
        assert pre_norm == torch.equal(part.after, part.total)
        assert pre_norm != torch.equal(part.given, part.before)
    last = made.sub_layers[-1]
    with torch.no_grad():
        feed_forward = (
            (translator.model.encoder if stack == "encoder" else translator.model.decoder)
            .layers[2]
            .feed_forward
        )
        assert_close(feed_forward.inner(last.given.float()).relu(), made.inner, **CLOSE)
        assert_close(feed_forward.outer(made.inner.float()), last.output, **CLOSE)
        if stack != "encoder":
            assert_close(norms(translator.model.decoder)(last.after.float()), made.decoded, **CLOSE)
        assert_close(translator.model.output(made.decoded.float()), made.logits, **CLOSE)
    assert_close(made.logits, by_model(translator, made), **CLOSE)


def test_the_encoder_s_last_layer_gives_the_memory(shipped: Translator) -> None:
    made = trace(shipped, head=Head("encoder", 2, 1))
    with torch.no_grad():
        mask = torch.ones(1, 1, 1, len(made.source.ids), dtype=torch.bool)
        memory = shipped.model.encode(made.source.ids[None], mask)[0]
        assert_close(shipped.model.encoder.norm(made.sub_layers[-1].after.float()), memory, **CLOSE)


def test_the_shipped_model_writes_its_likeliest_token_each_time(
    traced: Trace, shipped: Translator
) -> None:
    assert_close(traced.logits, by_model(shipped, traced), **CLOSE)
    assert_close(traced.probabilities.sum(dim=-1), torch.ones(len(traced.written)), **CLOSE)
    assert traced.probabilities.argmax(dim=-1).tolist() == traced.written_ids.tolist()
    assert [traced.types[number] for number in traced.written_ids] == traced.written


def test_the_named_head_finds_the_word_that_is_written(traced: Trace) -> None:
    """What lesson 02 says of it."""
    assert traced.attention.head == FINDER
    found = {
        said: traced.attention.key_tokens[row.argmax()]
        for said, row in zip(traced.written, traced.attention.weights, strict=True)
    }
    assert found["▁chat"] == "▁cat"
    assert found["▁noir"] == "▁black"
    assert found["▁dort"] == "▁sleeping"
    assert found["▁Le"] == "▁cat"


def test_it_leaves_the_model_as_it_was(shipped: Translator) -> None:
    translator = retrained(shipped)
    translator.model.train()
    trace(translator, "The cat.", Head("decoder", 1, 2))
    assert translator.model.training
    assert next(translator.model.parameters()).dtype == torch.float32
    assert not any(module._forward_hooks for module in translator.model.modules())


def test_what_cannot_be_traced(shipped: Translator) -> None:
    for sentence, head, message in (
        ("  ", FINDER, "give some words"),
        ("cat " * 300, FINDER, "max_len 256"),
        (SENTENCE, Head("cross", 3, 1), r"no head cross 3\.1"),
    ):
        with pytest.raises(UserError, match=message):
            trace(shipped, sentence, head)
    with pytest.raises(UserError, match="a recurrent network has no heads"):
        trace(Translator.load("demo-lstm"))


# --- positions that turn ---


def test_one_pair_by_hand() -> None:
    """Place 1 turns the first pair by 1, and the second by 1 / 100."""
    one = torch.tensor([[1.0, 0.0, 0.0, 2.0]])
    expected = [[math.cos(1), math.sin(1), -2 * math.sin(0.01), 2 * math.cos(0.01)]]
    assert_close(rotate(one, start=1), torch.tensor(expected))
    assert_close(rotate(one), one)


def test_lengths_stay() -> None:
    vectors = torch.randn(3, 5, 14)
    assert_close(rotate(vectors, start=11).norm(dim=-1), vectors.norm(dim=-1))


def test_products_depend_on_the_distance_alone() -> None:
    torch.manual_seed(2)
    queries, keys = torch.randn(5, 14), torch.randn(7, 14)
    here = rotate(queries) @ rotate(keys).T
    further = rotate(queries, 13) @ rotate(keys, 13).T
    assert_close(here, further, rtol=0, atol=1e-5)
    apart = rotate(queries, 13) @ rotate(keys).T
    assert not torch.allclose(here, apart, atol=0.1)


def test_an_odd_width_is_refused() -> None:
    with pytest.raises(UserError, match="d_k is 7"):
        rotate(torch.zeros(3, 7))
