"""The fast Transformer is the textbook's, to rounding, in whatever shape and company."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engines.fast.network import BLOCK, FastCache, FastTransformer, place_rows, state_of
from tests.helpers.sources import padded_sources
from transformer.config import ModelConfig, Positions
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.support.errors import UserError

VOCAB = 1009  # more than a few groups of types, and the last group is not whole

SHAPES: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"pre_norm": True},
    "biases": {"attention_bias": True, "output_bias": True},
    "heads of other widths": {"d_k": 3, "d_v": 5},
    "not tied": {"tie_softmax": False, "tie_source_target": False},
    "learned": {"positions": Positions.LEARNED},
    "concatenated": {
        "positions": Positions.CONCATENATED,
        "position_dim": 3,
        "tie_softmax": False,
    },
}


def make(**changes: Any) -> Transformer:
    """A small model whose biases and norms are not as they begin, and whose softmax is sharp."""
    torch.manual_seed(5)
    sizes = {"d_model": 14, "d_ff": 29, "num_heads": 7, "num_layers": 3, "max_len": 71}
    config = ModelConfig(**sizes, **changes)
    model = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape), alpha=0.3)
        model.output.weight.mul_(2)
    return model


@pytest.fixture(scope="module")
def src() -> Tensor:
    return padded_sources(VOCAB)


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES)
@torch.inference_mode()
def test_memory_and_logits_are_the_textbooks(changes: dict[str, Any], src: Tensor) -> None:
    model = make(**changes)
    fast, mask = FastTransformer(model), padding_mask(src)
    memory = model.encode(src, mask)
    torch.testing.assert_close(fast.encode(src, mask), memory)
    tgt_in = torch.randint(4, VOCAB, (5, 2 * BLOCK + 3))  # room is made twice
    cache = fast.new_cache(memory, mask, 1)
    steps = [fast.step(ids, cache) for ids in tgt_in.unbind(dim=1)]
    wanted = model.decode(tgt_in, memory, mask)
    torch.testing.assert_close(torch.stack(steps, dim=1), wanted, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_a_selected_cache_is_that_of_the_other_prefixes(src: Tensor) -> None:
    fast, mask = FastTransformer(make()), padding_mask(src)
    memory, tgt_in = fast.encode(src, mask), torch.randint(4, VOCAB, (10, 4))  # two of each source
    rows = torch.tensor([0, 0, 3, 2, 4, 5, 7, 7, 9, 8])

    def after(ids: Tensor, cache: FastCache) -> Tensor:
        for column in ids.unbind(dim=1):
            logits = fast.step(column, cache)
        return logits

    moved, other = fast.new_cache(memory, mask, 2), fast.new_cache(memory, mask, 2)
    after(tgt_in[:, :3], moved)
    moved.select(rows)
    wanted = after(torch.cat((tgt_in[rows, :3], tgt_in[:, 3:]), dim=1), other)
    torch.testing.assert_close(after(tgt_in[:, 3:], moved), wanted)
    kept = torch.tensor([9, 8, 2, 3])
    moved.select(kept)
    other.select(kept)
    left = after(tgt_in[kept, :1], moved)
    torch.testing.assert_close(left, after(tgt_in[kept, :1], other))
    alone = fast.new_cache(memory[[4, 1]], mask[[4, 1]], 2)
    ids = torch.cat((tgt_in[rows, :3], tgt_in[:, 3:]), dim=1)[kept]
    torch.testing.assert_close(left, after(torch.cat((ids, tgt_in[kept, :1]), dim=1), alone))


def test_rows_are_placed_where_they_are_kept() -> None:
    kept = torch.arange(2 * 5 * 3).view(2, 5, 3)
    before = kept.clone()
    place_rows(kept[:, :, :2], torch.tensor([0, 4, 2]))  # of each row, two of three numbers
    assert torch.equal(kept[:, 1, :2], before[:, 4, :2])
    kept[:, 1, :2] = before[:, 1, :2]
    assert torch.equal(kept, before)  # nothing else was written


def test_a_source_that_is_too_long_is_an_error_in_a_line(src: Tensor) -> None:
    with pytest.raises(UserError, match="78 tokens are more than max_len 71"):
        FastTransformer(make()).encode(src.repeat(1, 6), padding_mask(src.repeat(1, 6)))


def hook(model: Transformer) -> None:
    model.encoder.layers[1].register_forward_pre_hook(lambda *_: None)


def replace(model: Transformer) -> None:
    class Other(nn.ReLU):
        pass

    model.decoder.layers[0].feed_forward = Other()


def overrule(model: Transformer) -> None:
    model.decoder.layers[0].forward = lambda *_: None


def train(model: Transformer) -> None:
    model.train()


def widen(model: Transformer) -> None:
    model.double()


@pytest.mark.parametrize("change", [hook, replace, overrule, train, widen])
def test_what_is_not_just_the_textbooks_model_is_left_alone(change: Any) -> None:
    model = make()
    assert state_of(model) is not None
    change(model)
    assert state_of(model) is None
