"""The named recipes: `python -m transformer train NAME` (no torch in here)."""

import dataclasses

from transformer.config import (
    DataConfig,
    ModelConfig,
    Recipe,
    RecurrentConfig,
    TokenizerKind,
    TrainingConfig,
)
from transformer.recipes.earlier_systems import SYSTEMS
from transformer.support.errors import unknown_name

# Small enough for 29,000 captions: much narrower than the base model, three times its dropout.
# Pre-norm takes the high learning rate (at most 0.005) that makes few steps enough.
_CAPTION_MODEL = ModelConfig(
    d_model=128, d_ff=256, num_heads=4, num_layers=4, dropout=0.3, pre_norm=True
)
_CAPTION_TRAINING = TrainingConfig(
    steps=8000,
    batch_tokens=4096,
    learning_rate_factor=2.53,
    warmup_steps=2000,
    report_every=50,
    validate_every=500,
    average_last=10,
)


def _captions(src_lang: str, tgt_lang: str) -> Recipe:
    return Recipe(
        name=f"multi30k-{src_lang}-{tgt_lang}",
        about=f"captions of Multi30k, {src_lang} to {tgt_lang}: two hours on 2 cores",
        data=DataConfig(corpus="multi30k", src_lang=src_lang, tgt_lang=tgt_lang, vocab_size=10_000),
        model=_CAPTION_MODEL,
        training=_CAPTION_TRAINING,
    )


# Four times the sentences, half as long each: less dropout.
_TATOEBA = Recipe(
    name="tatoeba-fr-en",
    about="short sentences of Tatoeba, French to English: an hour and a half on a core",
    data=DataConfig(corpus="tatoeba", src_lang="fr", tgt_lang="en", vocab_size=10_000),
    model=dataclasses.replace(_CAPTION_MODEL, dropout=0.2),
    training=dataclasses.replace(_CAPTION_TRAINING, steps=5000),
)

# Sentences of a grammar hold no noise to guard against: without dropout and smoothing a
# small model learns them in a minute.
_DEMO_MODEL = ModelConfig(
    d_model=128, d_ff=256, num_heads=4, num_layers=2, dropout=0.0, pre_norm=True
)
_DEMO = Recipe(
    name="demo",
    about="the embedded corpus, English to French: about a minute on 2 cores",
    data=DataConfig(corpus="embedded", src_lang="en", tgt_lang="fr", vocab_size=3000),
    model=_DEMO_MODEL,
    training=TrainingConfig(
        steps=600,
        batch_tokens=1536,
        warmup_steps=150,
        label_smoothing=0.0,
        report_every=50,
        validate_every=100,
        average_last=3,
    ),
)


_DEMO_LONGER = dataclasses.replace(
    _DEMO,
    name="demo-longer",
    about="the embedded corpus, five times as long: minutes on 2 cores",
    training=dataclasses.replace(_DEMO.training, steps=3000, validate_every=250),
)


def _demo_lstm(name: str, about: str, attention: bool) -> Recipe:
    return dataclasses.replace(
        _DEMO_LONGER,
        name=name,
        about=f"the embedded corpus, {about}: minutes on 2 cores",
        model=RecurrentConfig(embedding_size=128, hidden_size=128, attention=attention),
        training=dataclasses.replace(_DEMO_LONGER.training, learning_rate=2e-3),
    )


# A tree's tokens are brackets and parts of speech; the words of the sentence are few enough.
_DEMO_PARSER = dataclasses.replace(
    _DEMO,
    name="demo-parser",
    about="the embedded corpus, English to its trees of phrases (§6.3): minutes on 2 cores",
    data=DataConfig(
        corpus="parses",
        src_lang="en",
        tgt_lang="tree",
        tokenizer=TokenizerKind.WORDS,
        joint_vocabulary=False,
        vocab_size=3000,
        min_frequency=1,
    ),
    model=dataclasses.replace(_DEMO_MODEL, tie_source_target=False),
    training=dataclasses.replace(_DEMO.training, steps=2000, validate_every=250),
)


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _DEMO,
        _DEMO_LONGER,
        _demo_lstm("demo-lstm", "an LSTM into one state and one out of it", attention=False),
        _demo_lstm("demo-lstm-attention", "LSTMs that look back", attention=True),
        _DEMO_PARSER,
        _captions("de", "en"),
        _captions("fr", "en"),
        _captions("en", "fr"),
        _TATOEBA,
        *SYSTEMS,
    )
}


def find_recipe(name: str) -> Recipe:
    """Give the recipe of this name.

    Raises:
        UserError: there is none; the nearest name is given.
    """
    if name not in RECIPES:
        raise unknown_name("recipe", name, RECIPES)
    return RECIPES[name]
