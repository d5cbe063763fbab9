"""Embeddings and positions: the paper's formula, its rotation, and the three kinds."""

import math

import pytest
import torch

from transformer.config import ModelConfig, PositionKind
from transformer.embeddings import Embedding
from transformer.positions import sinusoidal_positions
from transformer.support.errors import UserError

VOCAB = 13


def make(**changes: object) -> Embedding:
    torch.manual_seed(2)
    settings: dict[str, object] = {
        "d_model": 22, "num_heads": 11, "max_len": 19, "dropout": 0.0, "tie_softmax": False,
    }  # fmt: skip
    if changes.get("positions") == PositionKind.CONCATENATED:
        settings["position_dim"] = 5
    return Embedding(ModelConfig(**(settings | changes)), VOCAB)  # type: ignore[arg-type]


def test_sinusoids_follow_the_papers_formula() -> None:
    length, width = 23, 14
    table = sinusoidal_positions(length, width)
    assert table.shape == (length, width)
    for pos in range(length):
        for i in range(width // 2):
            angle = pos / 10000 ** (2 * i / width)
            assert table[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
    far = sinusoidal_positions(5001, 2)[5000, 0].item()
    assert far == pytest.approx(math.sin(5000), abs=1e-6)  # they keep their precision


@pytest.mark.parametrize("kind", [PositionKind.SINUSOIDAL, PositionKind.LEARNED])
def test_words_are_scaled_and_positions_added(kind: PositionKind) -> None:
    embedding = make(positions=kind)
    ids = torch.tensor([[4, 9, 4], [1, 2, 3]])
    output = embedding(ids, start=2)
    words = embedding.token.weight[ids] * math.sqrt(22)
    torch.testing.assert_close(output, words + embedding.positions.table[2:5])
    learned = {"learned_position.weight"} if kind == PositionKind.LEARNED else set()
    assert set(embedding.state_dict()) == {"token.weight"} | learned


def test_concatenated_positions_stand_beside_the_word() -> None:
    embedding = make(positions=PositionKind.CONCATENATED)
    output = embedding(torch.tensor([[4, 9, 4]]))
    assert output.shape == (1, 3, 22)
    torch.testing.assert_close(output[0, 0, :17], output[0, 2, :17])  # the same word
    torch.testing.assert_close(output[0, :, 17:], embedding.positions.table[:3])


def test_errors() -> None:
    with pytest.raises(UserError, match="d_model 7 is odd"):
        sinusoidal_positions(3, 7)
    embedding = make()
    embedding(torch.zeros(1, 19, dtype=torch.long))
    with pytest.raises(UserError, match="20 tokens are more than max_len 19: shorten"):
        embedding(torch.zeros(1, 1, dtype=torch.long), start=19)


def test_too_many_vectors_are_refused_before_they_are_made() -> None:
    with torch.device("meta"), pytest.raises(UserError, match="5,120,000,000 numbers"):
        Embedding(ModelConfig(d_model=512, num_heads=8), 10**7)


def test_dropout_is_applied_in_training_only_and_no_sinusoid_is_a_weight() -> None:
    ids = torch.full((7, 11), 5)
    for positions in PositionKind:
        embedding = make(dropout=0.5, positions=positions)
        assert (embedding(ids) == 0).any()
        torch.testing.assert_close(embedding.eval()(ids), make(positions=positions)(ids))
