"""Configurations: the paper's by default, checked when made, the same again out of JSON."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from transformer.config import DataConfig, ModelConfig, Recipe, RecurrentConfig, TrainingConfig
from transformer.recipes import find_recipe
from transformer.support.errors import UserError
from transformer.training.optimizer import ADAM_BETA1

DEMO = find_recipe("demo")


def data(**changes: Any) -> DataConfig:
    return DataConfig(corpus="embedded", src_lang="en", tgt_lang="fr", **changes)


def test_the_defaults_are_the_papers_base_model() -> None:
    model, training = ModelConfig(), TrainingConfig()
    assert (model.num_layers, model.d_model, model.d_ff, model.num_heads) == (6, 512, 2048, 8)
    assert (model.key_size, model.value_size, model.dropout) == (64, 64, 0.1)
    assert (training.steps, training.warmup_steps, training.label_smoothing) == (100_000, 4000, 0.1)
    assert (ADAM_BETA1, training.beta2, training.epsilon) == (0.9, 0.98, 1e-9)


CANNOT_BE: dict[Callable[..., object], list[tuple[dict[str, Any], str]]] = {
    ModelConfig: [
        ({"d_model": 512, "num_heads": 7}, "d_model 512 is not divisible by num_heads 7: choose"),
        ({"d_model": 513, "num_heads": 3}, "d_model 513 is odd"),
        ({"d_model": 0}, "d_model is 0: give a whole number from 1 to 65,536"),
        ({"dropout": 1.0}, "dropout is 1.0: give a number from 0 up to, not including, 1"),
        ({"attention_dropout": -0.1}, "attention_dropout is -0.1"),
        ({"feed_forward_dropout": 2}, "feed_forward_dropout is 2:"),
        ({"positions": "learn"}, "unknown positions 'learn': did you mean 'learned'?"),
        ({"positions": "concatenated"}, "tie_softmax needs embeddings of width d_model"),
        ({"positions": "concatenated", "position_dim": 512}, "position_dim 512 leaves no room for"),
    ],
    RecurrentConfig: [
        ({"hidden_size": 0}, "hidden_size is 0: give a whole number from 1 to 65,536"),
        ({"dropout": 1.0}, "dropout is 1.0"),
    ],
    data: [
        ({"vocab_size": 259}, "vocab_size 259 is too small: bpe needs at least 260"),
        ({"vocab_size": 4, "tokenizer": "words"}, "vocab_size 4 is too small: words needs at"),
        ({"src_vocab_size": 300}, "src_vocab_size has no effect on one vocabulary: set joint_"),
        ({"src_vocab_size": 259, "joint_vocabulary": False}, "vocab_size 259 is too small: bpe"),
    ],
    TrainingConfig: [
        ({"steps": 0}, "steps is 0: give a whole number from 1 to 1,000,000,000"),
        ({"label_smoothing": 1}, "label_smoothing is 1:"),
        ({"beta2": 1.5}, "beta2 is 1.5"),
        ({"learning_rate_factor": 0}, "learning_rate_factor is 0: give a number above 0"),
        ({"clip_norm": -1}, "clip_norm is -1: give a number from 0 to"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0: give a number above 0"),
        ({"seed": -1}, "seed is -1: give a whole number from 0 to 1,000,000,000"),
    ],
}


@pytest.mark.parametrize("make", CANNOT_BE)
def test_what_cannot_be(make: Callable[..., object]) -> None:
    for changes, message in CANNOT_BE[make]:
        with pytest.raises(UserError) as caught:
            make(**changes)
        assert str(caught.value).startswith(message)


def test_parts_of_a_recipe_fit_each_other() -> None:
    with pytest.raises(UserError, match="src_lang and tgt_lang are both 'en'"):
        DataConfig(corpus="embedded", src_lang="en", tgt_lang="en")
    with pytest.raises(UserError, match="tie_source_target needs one vocabulary"):
        DEMO.override({"joint_vocabulary": "false"})
    apart = DEMO.override({"joint_vocabulary": "false", "tie_source_target": "false"})
    assert not apart.data.joint_vocabulary
    with pytest.raises(UserError, match="max_train_tokens 40 and an end mark are more than max_l"):
        DEMO.override({"max_len": "40", "max_train_tokens": "40"})
    assert DEMO.override({"max_len": "41", "max_train_tokens": "40"}).model.max_len == 41
    assert data(vocab_size=260).vocab_size == 260  # the smallest
    assert data(vocab_size=5, tokenizer="words").vocab_size == 5


def test_override_reads_every_kind_of_value() -> None:
    sizes = {"d_model": "96", "d_k": "11", "d_v": "None", "dropout": "1e-1", "steps": "7"}
    others = {"pre_norm": "False", "positions": "learned", "src_lang": "de", "tokenizer": "words"}
    recipe = DEMO.override(sizes | others)
    assert (recipe.model.d_model, recipe.model.d_k, recipe.model.d_v) == (96, 11, None)
    assert (recipe.model.pre_norm, recipe.model.positions) == (False, "learned")
    assert (recipe.model.dropout, recipe.training.steps) == (0.1, 7)
    assert (recipe.data.src_lang, recipe.data.tokenizer) == ("de", "words")
    assert DEMO.model.d_model == 128  # the recipe itself stays


def test_override_refuses() -> None:
    for key, value, message in (
        ("dmodel", "96", "unknown key 'dmodel': did you mean 'd_model'?"),
        ("name", "x", "unknown key 'name'"),
        ("steps", "1.5", "steps is '1.5': give a whole number"),
        ("num_heads", "7", "d_model 128 is not divisible by num_heads 7"),
    ):
        with pytest.raises(UserError) as caught:
            DEMO.override({key: value})
        assert str(caught.value).startswith(message)


def test_a_key_belongs_to_one_section() -> None:
    for network in (ModelConfig, RecurrentConfig):
        kinds = (DataConfig, network, TrainingConfig)
        keys = [field.name for kind in kinds for field in dataclasses.fields(kind)]
        assert len(keys) == len(set(keys))


def test_foreign_values_are_no_recipe() -> None:
    damages: list[Callable[[dict[str, Any]], object]] = [
        lambda values: values.pop("model"),
        lambda values: values["model"].pop("d_model") and values["model"].update(width=3),
        lambda values: values.update(training=None),
        lambda values: values["model"].update(positions="somewhere"),
    ]
    for damage in damages:
        values = DEMO.to_dict()
        damage(values)
        with pytest.raises(UserError):
            Recipe.from_dict(values)
    for other in ([], {}, None, "demo", 3):
        with pytest.raises(UserError, match="not a recipe of this version"):
            Recipe.from_dict(other)


def test_a_recurrent_recipe_comes_back_from_json_and_takes_its_own_keys() -> None:
    recipe = dataclasses.replace(DEMO, model=RecurrentConfig(hidden_size=7, attention=False))
    again = Recipe.from_dict(json.loads(json.dumps(recipe.to_dict())))
    assert again == recipe
    assert again.override({"embedding_size": "5"}).model == RecurrentConfig(
        hidden_size=7, attention=False, embedding_size=5
    )
    with pytest.raises(UserError, match="unknown key 'num_heads'"):
        again.override({"num_heads": "2"})
    with pytest.raises(UserError, match="parts 'rotary' are those of a Transformer"):
        again.override({"parts": "rotary"})


def test_settings_are_all_but_the_words_about_a_recipe_which_names_its_network() -> None:
    renamed = dataclasses.replace(DEMO, about="another line", differs="in a word")
    assert renamed.name_and_sections() == DEMO.name_and_sections()
    assert DEMO.override({"seed": "7"}).name_and_sections() != DEMO.name_and_sections()
    assert dataclasses.replace(DEMO, name="x").name_and_sections() != DEMO.name_and_sections()
    recurrent = dataclasses.replace(DEMO, model=RecurrentConfig())
    assert (DEMO.to_dict()["network"], recurrent.to_dict()["network"]) == ("transformer", "lstm")
    with pytest.raises(UserError, match="not a recipe of this version: 'gru'"):
        Recipe.from_dict(recurrent.to_dict() | {"network": "gru"})
