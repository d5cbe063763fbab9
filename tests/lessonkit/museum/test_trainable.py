"""Each fault does what it says, and the model stays whole."""

import pytest
import torch

from lessonkit.museum.trainable import add_faults_to_model, builder_with_faults
from transformer.config import ModelConfig
from transformer.masks import padding_mask
from transformer.model import Transformer, count_parameters
from transformer.models.folder import read_description
from transformer.support.errors import UserError
from transformer.support.folders import find_model_folder

OWN = "self-attention returns its own input"
LOST = "the decoder's self-attention is lost"
SHARED = "one projection for queries, keys and values"
UNMASKED = "padding is attended to"
SRC = torch.tensor([[5, 7, 11, 3], [13, 3, 0, 0]])  # the second is padded
TGT = torch.tensor([[2, 17, 19], [2, 23, 29]])


def built(*names: str) -> Transformer:
    torch.manual_seed(1)
    config = ModelConfig(d_model=24, d_ff=31, num_heads=3, num_layers=2, d_k=8, d_v=8)
    model = Transformer(config, src_vocab_size=37, tgt_vocab_size=37)
    add_faults_to_model(model, *names)
    return model.eval()


def test_own_input_is_the_homeworks_product() -> None:
    attention = built().encoder.layers[0].self_attention
    broken = built(OWN).encoder.layers[0].self_attention
    hidden = torch.randn(2, 5, 24)
    values = attention.value_projection(hidden).unflatten(-1, (3, 8)).transpose(1, 2)
    weights = torch.randn(2, 3, 5, 5).softmax(-1)
    summed = torch.einsum("bhqk,bhqd->bhqd", weights, values)  # k is in the weights alone
    expected = attention.output_projection(summed.transpose(1, 2).flatten(2))
    torch.testing.assert_close(broken(hidden)[0], expected)


def test_a_lost_self_attention_leaves_one_word_of_the_target() -> None:
    earlier = TGT.clone()
    earlier[:, 1] = 31
    mask = padding_mask(SRC)
    for model, same in ((built(LOST), True), (built(), False)):
        memory = model.encode(SRC, mask)
        first, second = (model.decode(tgt, memory, mask)[:, 2] for tgt in (TGT, earlier))
        assert torch.equal(first, second) == same


def test_one_projection_serves_three_and_is_counted_once() -> None:
    model = built(SHARED)
    for attention in (
        model.encoder.layers[0].self_attention,
        model.decoder.layers[1].cross_attention,
    ):
        assert attention.query_projection is attention.key_projection is attention.value_projection
    assert count_parameters(built()) - count_parameters(model) == 6 * 2 * 24 * 24


def test_padding_is_attended_to() -> None:
    for model, same in ((built(UNMASKED), False), (built(), True)):
        with torch.no_grad():
            padded = model(SRC, TGT)[1]
            alone = model(SRC[1:, :2], TGT[1:])[0]
        assert torch.allclose(padded, alone, atol=1e-5) == same


def test_errors() -> None:
    with pytest.raises(UserError, match="unknown fault 'own'"):
        builder_with_faults("own")
    lstm = read_description(find_model_folder("demo-lstm"))
    with pytest.raises(UserError, match="no Transformer"):
        builder_with_faults(OWN)(lstm)
    assert builder_with_faults()(lstm) is not None
