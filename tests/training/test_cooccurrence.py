"""Vectors of what occurs together: by hand, against an eigendecomposition, and in a model."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.config import ModelConfig
from transformer.data import corpora
from transformer.data.batches import Example, encode_pairs
from transformer.model import Transformer
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError
from transformer.trained.folder import read_model
from transformer.training import cooccurrence
from transformer.training.cooccurrence import (
    begin_with_cooccurrence,
    mutual_information,
    strongest_directions,
)
from transformer.training.runner import train_recipe


def network(tied: bool = False, types: tuple[int, int] = (11, 13)) -> Transformer:
    torch.manual_seed(1)
    shape = ModelConfig(d_model=6, d_ff=5, num_heads=2, num_layers=1, tie_source_target=tied)
    return Transformer(shape, src_vocab_size=types[0], tgt_vocab_size=types[1])


def test_mutual_information_by_hand() -> None:
    # Four pairs. 0 and 1 occur twice, together both times: twice as often as by chance (1 of 4).
    # 2 is in all of them, so it tells nothing of the others. 3 is nowhere.
    sets = [np.array(each) for each in ([0, 1, 2], [0, 1, 2], [2, 4], [2])]
    table, seen = mutual_information(sets, 5)
    assert seen.tolist() == [True, True, True, False, True]
    assert table[0, 1].item() == pytest.approx(math.log(2))
    assert table[4, 4].item() == pytest.approx(math.log(4))
    assert table[2].abs().max() == 0
    assert table[0, 4] == table[3].abs().max() == 0
    assert torch.equal(table, table.T)


def test_rows_have_the_tables_inner_products() -> None:
    torch.manual_seed(2)
    roots = torch.randn(17, 3)
    table = roots @ roots.T
    rows = strongest_directions(table, 3)
    assert rows.norm(dim=1).tolist() == pytest.approx([1.0] * 17, abs=1e-5)
    cosines = torch.nn.functional.normalize(roots, dim=1)
    torch.testing.assert_close(rows @ rows.T, cosines @ cosines.T, atol=1e-4, rtol=0)


@pytest.mark.parametrize("tied", [False, True])
def test_a_word_begins_beside_its_translation(tied: bool) -> None:
    # Source word 4 + n always stands opposite target word 8 + n of four.
    model = network(tied, (13, 13))
    before = model.tgt_embedding.token.weight.detach().clone()
    examples = [Example([4 + n, 4 + m], [8 + n, 8 + m]) for n in range(4) for m in range(n)]
    begin_with_cooccurrence(model, examples)
    src, tgt = model.src_embedding.token.weight, model.tgt_embedding.token.weight
    nearest = (src[4:8] @ tgt[8:12].T).argmax(dim=1)
    assert nearest.tolist() == [0, 1, 2, 3]
    assert torch.equal(tgt[12], before[12])  # it does not occur
    assert torch.equal(tgt[:4], before[:4])  # padding, unknown and marks neither
    assert model.output.weight is tgt


def test_too_many_types_for_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "MOST_TYPES", 23)
    with pytest.raises(UserError, match="pairs of 24 types: give a vocab_size that leaves 23"):
        begin_with_cooccurrence(network(), [])


def test_a_recipe_begins_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)
    still = {"steps": "1", "learning_rate": "1e-9", "cooccurrence_embeddings": "true"}
    recipe = find_recipe("demo").override(TINY | still)
    train_recipe(recipe, tmp_path, on_begin=lambda _: None, on_report=lambda _: None)
    description, trained = read_model(tmp_path)
    torch.manual_seed(recipe.training.seed)  # for types that do not occur
    model = description.build()
    text = small_corpus("embedded", "train", "en", "fr")
    sides = description.src_tokenizer, description.tgt_tokenizer
    assert isinstance(model, Transformer)
    begin_with_cooccurrence(model, encode_pairs(*sides, text, recipe.data.max_train_tokens))
    weights = (each.state_dict()["src_embedding.token.weight"] for each in (trained, model))
    torch.testing.assert_close(*weights, atol=1e-6, rtol=0)


def test_only_a_transformer_begins_so(tmp_path: Path) -> None:
    recipe = find_recipe("demo-lstm").override({"cooccurrence_embeddings": "true", "steps": "1"})
    with pytest.raises(UserError, match="cooccurrence_embeddings is for Transformers"):
        train_recipe(recipe, tmp_path / "run", on_begin=lambda _: None)
