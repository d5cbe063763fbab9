"""The LSTM systems: against PyTorch's own parts, and as models that any search can use."""

import math

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.scripted import padded_sources
from transformer.config import BOS_ID, PAD_ID, RecurrentConfig
from transformer.decoding import beam_search, greedy_search
from transformer.lstm import Recurrent
from transformer.masks import padding_mask

BATCH, TGT_LEN, WIDTH, SIZE, SRC_VOCAB, TGT_VOCAB = 5, 7, 11, 13, 19, 23
LENGTHS = (13, 2, 7, 5, 11)  # of the sources: the second is shorter than the target
KINDS = pytest.mark.parametrize("attention", [False, True])


def make(attention: bool, **changes: float) -> Recurrent:
    torch.manual_seed(5)
    settings = {"embedding_size": WIDTH, "hidden_size": SIZE, "attention": attention} | changes
    config = RecurrentConfig(**settings)  # type: ignore[arg-type]
    model = Recurrent(config, src_vocab_size=SRC_VOCAB, tgt_vocab_size=TGT_VOCAB)
    with torch.no_grad():  # freshly drawn, an LSTM hardly tells two sentences apart
        for parameter in model.parameters():
            parameter.mul_(3)
    return model.eval().double()


@pytest.fixture
def src() -> Tensor:
    return padded_sources(SRC_VOCAB)


@pytest.fixture
def tgt_in() -> Tensor:
    chance = torch.Generator().manual_seed(12)
    ids = torch.randint(4, TGT_VOCAB, (BATCH, TGT_LEN), generator=chance)
    ids[:, 0] = BOS_ID
    return ids


@torch.no_grad()
def test_without_attention_it_is_two_lstms(src: Tensor, tgt_in: Tensor) -> None:
    """The oracle runs each sentence alone and unpadded through PyTorch's whole LSTMs."""
    model = make(attention=False)
    decoder = nn.LSTM(WIDTH, SIZE, batch_first=True).double()
    decoder.load_state_dict({f"{k}_l0": v for k, v in model.decoder.state_dict().items()})
    assert list(map(len, model.attention_maps(src, tgt_in))) == [0, 0, 0]
    for row, length in enumerate(LENGTHS):
        _, state = model.encoder(model.src_embedding(src[row : row + 1, :length]))
        hidden, _ = decoder(model.tgt_embedding(tgt_in[row : row + 1]), state)
        wanted = model.output(hidden)[0]
        torch.testing.assert_close(model(src, tgt_in)[row], wanted)


@torch.no_grad()
def test_with_attention_step_by_step(src: Tensor, tgt_in: Tensor) -> None:
    """The oracle computes one sentence with plain vectors, softmax and sum by hand."""
    model = make(attention=True)
    logits, maps = model(src, tgt_in), model.attention_maps(src, tgt_in)
    for row, length in enumerate(LENGTHS):
        memory = model.encoder(model.src_embedding(src[row, :length]))[0]  # (length, 2 * SIZE)
        hidden = torch.tanh(model.first_state(memory[0, SIZE:]))
        cell = torch.zeros(SIZE, dtype=torch.float64)
        for position, token in enumerate(tgt_in[row]):
            scores = [
                float(model.key_projection(vector) @ hidden) / math.sqrt(SIZE) for vector in memory
            ]
            total = sum(math.exp(score) for score in scores)
            weights = [math.exp(score) / total for score in scores]
            context = sum(w * vector for w, vector in zip(weights, memory, strict=True))
            entered = torch.cat((model.tgt_embedding(token), context))
            hidden, cell = model.decoder(entered, (hidden, cell))
            torch.testing.assert_close(logits[row, position], model.output(hidden))
            seen = maps.cross[0, row, 0, position]
            torch.testing.assert_close(seen[:length], torch.tensor(weights, dtype=torch.float64))
            assert not seen[length:].any()
    assert list(map(len, maps)) == [0, 0, 1]


@KINDS
@torch.no_grad()
def test_a_cache_changes_nothing(attention: bool, src: Tensor, tgt_in: Tensor) -> None:
    model, src_mask = make(attention), padding_mask(src)
    memory, cache = model.encode(src, src_mask), model.new_cache()
    parts = tgt_in[:, :2], *tgt_in[:, 2:].split(1, dim=1)
    steps = [model.decode(part, memory, src_mask, cache) for part in parts]
    torch.testing.assert_close(torch.cat(steps, dim=1), model(src, tgt_in))


def test_a_search_projects_the_source_once(src: Tensor) -> None:
    model, projected = make(attention=True), []
    model.key_projection.register_forward_hook(lambda *_: projected.append(1))
    greedy_search(model, src)
    beam_search(model, src, beam_size=3)
    assert len(projected) == 2


@KINDS
@torch.no_grad()
def test_a_source_of_padding_alone_spoils_no_other(
    attention: bool, src: Tensor, tgt_in: Tensor
) -> None:
    model, with_padding = make(attention), src.clone()
    with_padding[0] = PAD_ID
    logits = model(with_padding, tgt_in)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[1:], model(src, tgt_in)[1:])


@KINDS
def test_any_search_takes_it(attention: bool, src: Tensor) -> None:
    model = make(attention)
    together = beam_search(model, src, beam_size=3)
    alone = [beam_search(model, row[row != PAD_ID][None], beam_size=3)[0] for row in src]
    for one, other in zip(together, alone, strict=True):
        assert [each.ids for each in one] == [each.ids for each in other]


def test_dropout_is_on_the_embeddings_in_training_and_attention_maps_know_none(
    src: Tensor, tgt_in: Tensor
) -> None:
    model = make(attention=True, dropout=0.5)
    torch.testing.assert_close(model(src, tgt_in), model(src, tgt_in), rtol=0, atol=0)
    quiet = model.attention_maps(src, tgt_in).cross
    model.train()
    assert not torch.allclose(model(src, tgt_in), model(src, tgt_in))
    torch.testing.assert_close(model.attention_maps(src, tgt_in).cross, quiet)
    assert model.training
