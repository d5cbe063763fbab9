"""The Transformer against torch.nn.Transformer, Table 3's parameters, and what must hold always."""

import math

import pytest
import torch
from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, PAD_ID, ModelConfig, PositionKind
from transformer.masks import padding_mask
from transformer.model import Transformer, stack_layers
from transformer.positions import sinusoidal_positions
from transformer.support.errors import UserError

VOCAB, BATCH, SRC_LEN, TGT_LEN = 37, 3, 11, 7
SMALL = {"d_model": 26, "num_heads": 13, "d_ff": 41, "num_layers": 3, "dropout": 0.0, "max_len": 43}


def make(src_vocab: int = VOCAB, tgt_vocab: int = VOCAB, **changes: object) -> Transformer:
    torch.manual_seed(12)
    config = ModelConfig(**(SMALL | changes))  # type: ignore[arg-type]
    return Transformer(config, src_vocab_size=src_vocab, tgt_vocab_size=tgt_vocab).eval()


@pytest.fixture
def sentences() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(13)
    src = torch.randint(4, VOCAB, (BATCH, SRC_LEN), generator=generator)
    tgt = torch.randint(4, VOCAB, (BATCH, TGT_LEN), generator=generator)
    tgt[:, 0] = BOS_ID
    src[1, 6:], src[2, 2:], tgt[1, 4:] = PAD_ID, PAD_ID, PAD_ID
    return src, tgt


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    projections = (ours.query_projection, ours.key_projection, ours.value_projection)
    theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
    theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
    theirs.out_proj.load_state_dict(ours.output_projection.state_dict())


def as_torch_module(ours: Transformer) -> nn.Transformer:
    """torch.nn.Transformer with a copy of our weights."""
    config = ours.config
    theirs = nn.Transformer(
        config.d_model, config.num_heads, config.num_layers, config.num_layers, config.d_ff,
        dropout=0.0, batch_first=True, norm_first=config.pre_norm,
    ).eval()  # fmt: skip
    if not config.pre_norm:  # the paper's stacks end without a further norm
        theirs.encoder.norm, theirs.decoder.norm = None, None
    else:
        theirs.encoder.norm.load_state_dict(ours.encoder.norm.state_dict())
        theirs.decoder.norm.load_state_dict(ours.decoder.norm.state_dict())
    with torch.no_grad():
        for stack, copied in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
            for layer, other in zip(stack.layers, copied.layers, strict=True):
                residuals = [layer.self_attention_residual, layer.feed_forward_residual]
                copy_attention(other.self_attn, layer.self_attention)
                if stack is ours.decoder:
                    copy_attention(other.multihead_attn, layer.cross_attention)
                    residuals.insert(1, layer.cross_attention_residual)
                other.linear1.load_state_dict(layer.feed_forward.inner.state_dict())
                other.linear2.load_state_dict(layer.feed_forward.outer.state_dict())
                for number, residual in enumerate(residuals, start=1):
                    getattr(other, f"norm{number}").load_state_dict(residual.norm.state_dict())
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("pre_norm", [False, True])
def test_the_same_output_as_torch_nn_transformer(
    sentences: tuple[Tensor, Tensor], pre_norm: bool
) -> None:
    ours = make(pre_norm=pre_norm, attention_bias=True)
    for parameter in ours.parameters():  # biases and norms too, or they would prove nothing
        nn.init.normal_(parameter, std=0.3)
    theirs, (src, tgt) = as_torch_module(ours), sentences
    padding = torch.zeros(src.shape).masked_fill(src == PAD_ID, -torch.inf)
    hidden = theirs(
        ours.src_embedding(src),
        ours.tgt_embedding(tgt),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(TGT_LEN),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
        tgt_is_causal=True,
    )
    expected = ours.output(hidden)
    real = tgt != PAD_ID
    torch.testing.assert_close(ours(src, tgt)[real], expected[real], atol=1e-5, rtol=1e-5)


def test_decoding_with_a_cache_equals_decoding_whole(sentences: tuple[Tensor, Tensor]) -> None:
    model, (src, tgt) = make(positions=PositionKind.LEARNED), sentences
    mask = padding_mask(src)
    memory, cache = model.encode(src, mask), model.new_cache()
    whole = model.decode(tgt, memory, mask)
    first = model.decode(tgt[:, :2], memory, mask, cache)  # two at once, then one by one
    rest = [model.decode(tgt[:, [t]], memory, mask, cache) for t in range(2, TGT_LEN)]
    torch.testing.assert_close(torch.cat((first, *rest), dim=1), whole)
    assert cache.length == TGT_LEN


def test_attention_maps_know_no_dropout(sentences: tuple[Tensor, Tensor]) -> None:
    model = make(dropout=0.5, attention_dropout=0.5)
    quiet = model.attention_maps(*sentences)
    model.train()
    for maps, expected in zip(model.attention_maps(*sentences), quiet, strict=True):
        torch.testing.assert_close(maps, expected)
    assert model.encoder.training


def test_stacked_layers_are_not_held_twice() -> None:
    layers = list(torch.randn(3, 2, 5, 7))
    expected = torch.stack(layers)
    torch.testing.assert_close(stack_layers(layers), expected, rtol=0, atol=0)
    assert layers == []


def test_attention_maps(sentences: tuple[Tensor, Tensor]) -> None:
    model, (src, tgt) = make(), sentences
    maps = model.attention_maps(src, tgt)
    assert maps.encoder.shape == (3, BATCH, 13, SRC_LEN, SRC_LEN)
    assert maps.decoder.shape == (3, BATCH, 13, TGT_LEN, TGT_LEN)
    assert maps.cross.shape == (3, BATCH, 13, TGT_LEN, SRC_LEN)
    for weights in maps:
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    assert (maps.decoder.triu(1) == 0).all()
    assert (maps.cross[:, 2, :, :, 2:] == 0).all()  # padding of the third source


def test_tied_weights_are_one_tensor() -> None:
    model = make()
    assert model.src_embedding is model.tgt_embedding
    assert model.output.weight is model.src_embedding.token.weight
    free = make(tie_source_target=False, tie_softmax=False, src_vocab=41)
    assert free.output.weight is not free.tgt_embedding.token.weight
    assert free.src_embedding.token.weight.shape[0] == 41
    with pytest.raises(UserError, match=r"one vocabulary.* 41 and 37 types"):
        make(src_vocab=41)


def test_initial_weights_have_the_stated_sizes() -> None:
    model = make(src_vocab=1009, tgt_vocab=1009, d_model=182, num_heads=13, d_ff=307)
    inner = model.encoder.layers[0].feed_forward.inner
    bound = (6 / (182 + 307)) ** 0.5
    assert inner.weight.abs().max().item() == pytest.approx(bound, rel=0.01)
    assert (inner.bias == 0).all()
    assert model.src_embedding.token.weight.std().item() == pytest.approx(182**-0.5, rel=0.02)
    model = make(positions=PositionKind.LEARNED, d_model=182, num_heads=13, max_len=251)
    computed = sinusoidal_positions(251, 182).square().mean().sqrt().item()
    for embedding in (model.src_embedding, model.tgt_embedding):  # as large as sinusoids
        learned = embedding.positions.table.square().mean().sqrt().item()
        assert learned == pytest.approx(computed, rel=0.02)


def test_xavier_embeddings_are_drawn_as_matrices() -> None:
    free = {"tie_softmax": False, "xavier_embeddings": True, "positions": PositionKind.LEARNED}
    embedding = make(401, 401, d_model=128, num_heads=2, max_len=307, **free).src_embedding
    for table in (embedding.token.weight, embedding.positions.weight):
        bound = math.sqrt(6 / sum(table.shape))
        assert table.abs().max().item() == pytest.approx(bound, rel=0.01)
        assert table.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
