"""Weights from what occurs together: by hand, against an eigendecomposition, and in a model."""

import math
from pathlib import Path

import pytest
import torch

from experiments import cooccurrence
from experiments.cooccurrence import (
    begin_with_cooccurrence,
    frequencies,
    look_for_likeness,
    mutual_information,
    next_words,
)
from experiments.training_parts import changed
from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID, ModelConfig
from transformer.data import corpora
from transformer.data.batches import Example, encode_pairs
from transformer.model import Transformer
from transformer.models.folder import read_model
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError
from transformer.training.recipe import train_recipe

SIZES = {"d_model": 6, "d_ff": 5, "num_heads": 2, "num_layers": 1}


def network(types: tuple[int, int] = (11, 13), **changes: bool) -> Transformer:
    torch.manual_seed(1)
    config = ModelConfig(**SIZES | {"tie_source_target": False} | changes)
    return Transformer(config, src_vocab_size=types[0], tgt_vocab_size=types[1])


def test_mutual_information_by_hand() -> None:
    # Source types 0 to 3, then target types 4 to 7. 0 stands opposite 4 and 1 opposite 5, always:
    # each of the four occurs twice among eight, so each pair twice as often as by chance.
    table, seen = mutual_information([Example([0], [0]), Example([1], [1])], 4, 8)
    assert seen.tolist() == [True, True, False, False] * 2
    for one, other in ((0, 4), (1, 5), (0, 0), (5, 5)):
        assert table[one, other].item() == pytest.approx(math.log(2))
    assert table[0, 5] == table[2].abs().max() == 0
    assert torch.equal(table, table.T)


@pytest.mark.parametrize("tied", [False, True])
def test_a_word_begins_beside_its_translation(tied: bool) -> None:
    # Source word 4 + n always stands opposite target word 8 + n of four.
    model = network((13, 13), tie_source_target=tied)
    before = model.tgt_embedding.token.weight.detach().clone()
    examples = [Example([4 + n, 4 + m], [8 + n, 8 + m]) for n in range(4) for m in range(n)]
    begin_with_cooccurrence(model, examples)
    src, tgt = model.src_embedding.token.weight, model.tgt_embedding.token.weight
    nearest = (src[4:8] @ tgt[8:12].T).argmax(dim=1)
    assert nearest.tolist() == [0, 1, 2, 3]
    assert torch.equal(tgt[12], before[12])  # it does not occur
    assert torch.equal(tgt[:4], before[:4])  # padding, unknown and marks neither
    assert model.output.weight is tgt


def test_next_words_by_hand() -> None:
    # Eight places follow another, marks included; 4 follows in two of them.
    table = next_words([[4, 5], [4, 6], [6]], 8)
    assert table[BOS_ID, 4].item() == pytest.approx(2 / 3 * math.log((2 / 3) / (2 / 8)))
    assert table[4, 5].item() == pytest.approx(1 / 2 * math.log((1 / 2) / (1 / 8)))
    assert table[5, EOS_ID].item() == pytest.approx(math.log(1 / (3 / 8)))
    assert table[7].abs().max() == 0  # it is nowhere
    assert table[EOS_ID].abs().max() == 0  # nothing follows the end


def test_a_bias_before_the_softmax_begins_as_the_logarithm_of_frequencies() -> None:
    """The bias alone, as where all else says nothing, gives each word its frequency."""
    model = network(output_bias=True)
    begin_with_cooccurrence(model, [Example([4, 5], [6, 7]), Example([5], [7])])
    expected = frequencies([[6, 7], [7]], 13)
    torch.testing.assert_close(model.output.bias.softmax(0).double(), expected)


def test_a_decoder_with_tables_of_its_own_reads_a_word_as_what_follows() -> None:
    model = network(tie_softmax=False)
    drawn = model.output.weight.detach().clone()
    begin_with_cooccurrence(model, [Example([4, 5], [6, 7]), Example([5], [8])])
    output, read = model.output.weight, model.tgt_embedding.token.weight
    assert not torch.equal(output, drawn)
    torch.testing.assert_close(read[6], output[7])  # 7 always follows 6
    assert torch.nn.functional.cosine_similarity(read[7], output[EOS_ID], dim=0) > 0.999
    torch.testing.assert_close(read[9:], output[9:])  # they do not occur


def test_attention_begins_with_what_is_like_the_query() -> None:
    torch.manual_seed(3)
    attention = MultiHeadAttention(d_model=64, num_heads=2, d_k=32, d_v=32)
    look_for_likeness(attention)
    memory = torch.randn(1, 7, 64)
    alike = memory + 0.1 * torch.randn(1, 7, 64)
    output, weights = attention(alike, memory, return_weights=True)
    assert weights.mean(dim=1).argmax(dim=-1).tolist() == [list(range(7))]
    # Each place finds itself, and hands it on in the direction it had.
    cosines = torch.nn.functional.cosine_similarity(output[:, :, None], memory[:, None], dim=-1)
    assert cosines.argmax(dim=-1).tolist() == [list(range(7))]


def test_of_the_attentions_only_the_one_to_the_source_begins_so() -> None:
    model, drawn = network(), network()
    begin_with_cooccurrence(model, [Example([4, 5], [6, 7])])
    changed = {
        name
        for name, weight in model.named_parameters()
        if not torch.equal(weight, drawn.get_parameter(name))
    }
    cross = "decoder.layers.0.cross_attention"
    embeddings = {f"{side}_embedding.token.weight" for side in ("src", "tgt")}
    projections = {f"{cross}.{name}_projection.weight" for name in ("key", "output")}
    assert changed == embeddings | projections


def test_a_recipe_begins_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)
    still = {"steps": "1", "learning_rate": "1e-9", "cooccurrence_start": "true"}
    recipe, parts = changed(find_recipe("demo"), TINY | still)
    quiet = {"on_begin": lambda _: None, "on_report": lambda _: None}
    train_recipe(recipe, tmp_path, **quiet, **parts.options(recipe))
    description, trained = read_model(tmp_path)
    torch.manual_seed(recipe.training.seed)  # for types that do not occur
    model = description.build()
    text = small_corpus("embedded", "train", "en", "fr")
    sides = description.src_tokenizer, description.tgt_tokenizer
    begin_with_cooccurrence(model, encode_pairs(*sides, text, recipe.data.max_train_tokens))
    torch.testing.assert_close(trained.state_dict(), model.state_dict(), atol=1e-6, rtol=0)


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, parts = changed(find_recipe("demo-lstm"), {"cooccurrence_start": "true"})
    with pytest.raises(UserError, match="cooccurrence_start is for Transformers"):
        parts.options(recipe)
    config = ModelConfig(d_model=32, num_heads=4, num_layers=1)
    with pytest.raises(UserError, match=r"one direction for each of 20 types .* has 32 numbers"):
        begin_with_cooccurrence(Transformer(config, src_vocab_size=20, tgt_vocab_size=20), [])
    monkeypatch.setattr(cooccurrence, "MOST_TYPES", 23)
    with pytest.raises(UserError, match="pairs of 24 types: give a vocab_size that leaves 23"):
        begin_with_cooccurrence(network(), [])
