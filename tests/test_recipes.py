"""The named recipes: each can be trained, says what it is, and builds the network that it says."""

import json

import pytest
import torch

from experiments.training_options import FAST_RECIPE
from lessonkit.analysis.table_3 import expected_num_parameters
from transformer.config import PAPER_PARTS_NAME, ModelConfig, Recipe, RecurrentConfig
from transformer.data.corpora import CORPORA
from transformer.data.tokenizers import BPETokenizer
from transformer.lstm import Recurrent
from transformer.model import Transformer, count_parameters
from transformer.models.folder import ModelDescription
from transformer.recipes import EARLIER_SYSTEM_RECIPES, RECIPES, find_recipe
from transformer.support.errors import UserError


def test_each_is_found_under_its_name_and_can_be_trained() -> None:
    for name, recipe in RECIPES.items():
        data = recipe.data
        assert find_recipe(name) is recipe
        assert recipe.name == name
        assert recipe.about, name
        assert f"{data.src_lang}-{data.tgt_lang}" in CORPORA[data.corpus].directions, name
        assert {"train", "validation"} <= set(CORPORA[data.corpus].splits), name
        assert data.max_train_tokens < recipe.training.batch_tokens, name
        assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe
    with pytest.raises(UserError, match="'multi30k-de-eng': did you mean 'multi30k-de-en'"):
        find_recipe("multi30k-de-eng")


def test_a_recipe_after_another_system_says_what_differs() -> None:
    assert {recipe.name for recipe in EARLIER_SYSTEM_RECIPES} < RECIPES.keys()
    for name, recipe in RECIPES.items():
        assert bool(recipe.differs) == (recipe in EARLIER_SYSTEM_RECIPES), name


def test_a_recipe_takes_over_what_it_does_not_say() -> None:
    base, longer = find_recipe("demo"), find_recipe("demo-longer")
    assert (longer.data, longer.model) == (base.data, base.model)
    assert longer.training == base.override({"steps": 3000, "validate_every": 250}).training
    recurrent = RecurrentConfig(embedding_size=128, hidden_size=128, attention=False)
    assert find_recipe("demo-lstm").model == recurrent  # nothing of the Transformer's
    fixed, scheduled = find_recipe("homework-megatron"), find_recipe("homework-soundwave")
    assert (fixed.training.learning_rate, scheduled.training.learning_rate) == (1e-3, None)


def test_system_4_has_its_parameters() -> None:
    """9,038,853 published; today's spaCy finds two German types fewer, of 256 numbers each."""
    config = find_recipe("multi30k").model
    assert isinstance(config, ModelConfig)
    assert expected_num_parameters(config, 7853, 5893) == 9_038_341
    assert expected_num_parameters(config, 7855, 5893) == 9_038_853


def test_each_ones_network_can_be_built_at_its_vocabulary() -> None:
    for recipe in (*RECIPES.values(), FAST_RECIPE):
        size = recipe.data.vocab_size
        with torch.device("meta"):  # shapes without numbers
            if isinstance(recipe.model, RecurrentConfig):
                Recurrent(recipe.model, src_vocab_size=size, tgt_vocab_size=size)
                continue
            if recipe.parts != PAPER_PARTS_NAME:
                continue
            model = Transformer(recipe.model, src_vocab_size=size, tgt_vocab_size=size)
        expected = expected_num_parameters(recipe.model, size, size)
        assert count_parameters(model) == expected, recipe.name


def test_modern_ones_have_as_many_parameters_as_the_papers() -> None:
    tokenizer = BPETokenizer([])
    with torch.device("meta"):
        base, modern, decoder_only = (
            count_parameters(ModelDescription(find_recipe(name), tokenizer, tokenizer).build())
            for name in ("demo", "demo-modern", "demo-decoder-only")
        )
    assert abs(modern / base - 1) < 0.01
    assert abs(decoder_only / base - 1) < 0.01
