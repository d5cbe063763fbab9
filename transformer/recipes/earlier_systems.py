"""The five earlier systems as recipes: what this course grew from, without their faults.

Four are public notebooks, one is a homework report. Each keeps its system's network, tokens,
batches, optimiser and schedule; what had to differ is said in the recipe (`differs`). The search
is the course's own for all. No torch in here.
"""

import dataclasses
from typing import Any

from transformer.config import (
    DataConfig,
    ModelConfig,
    Positions,
    Recipe,
    RecurrentConfig,
    TokenizerKind,
    TrainingConfig,
)

_EVERY_WORD = 200_000  # more types than any of these corpora has

# What the notebooks of systems 1 to 4 have in common beside the paper's own choices.
_UNTIED = ModelConfig(
    attention_dropout=0.1,
    feed_forward_dropout=0.1,
    tie_source_target=False,
    tie_softmax=False,
    attention_bias=True,
    output_bias=True,
    xavier_embeddings=True,
)


def _words(corpus: str, src_lang: str, tgt_lang: str, min_frequency: int) -> DataConfig:
    return DataConfig(
        corpus=corpus,
        src_lang=src_lang,
        tgt_lang=tgt_lang,
        tokenizer=TokenizerKind.WORDS,
        joint_vocabulary=False,
        vocab_size=_EVERY_WORD,
        min_frequency=min_frequency,
    )


_ANNOTATED = Recipe(
    name="annotated",
    about="system 1: the paper's base model with the norm first, on IWSLT",
    differs="Attention dropout ends with training. The loss is divided by real tokens, and "
    "validation changes no weights.",
    data=_words("iwslt", "de", "en", min_frequency=2),
    model=dataclasses.replace(_UNTIED, pre_norm=True),
    training=TrainingConfig(
        steps=6000,
        batch_tokens=4096,
        learning_rate_factor=2.0,
        smooth_over_all=False,
        validate_every=500,
        average_last=1,
    ),
)


def _both_ways(src_lang: str, tgt_lang: str) -> Recipe:
    return Recipe(
        name=f"both-ways-{src_lang}-{tgt_lang}",
        about=f"system 2: system 1 with every word, {src_lang} to {tgt_lang}",
        differs="As `annotated`. Each direction has an optimiser of its own. Three epochs of "
        "IWSLT are counted as 4,500 steps.",
        data=_words("iwslt", src_lang, tgt_lang, min_frequency=1),
        model=_ANNOTATED.model,
        training=dataclasses.replace(_ANNOTATED.training, steps=4500),
    )


_TATOEBA = Recipe(
    name="tatoeba",
    about="system 3: the base model on short sentences, French to English",
    differs="Padding is no part of the loss, the embeddings have their dropout, and the test set "
    "shares no sentence with training. Text keeps its accents and signs. Each epoch has every "
    "pair once, where the original draws 21,000 with replacement; the number of steps is its.",
    data=dataclasses.replace(
        _words("tatoeba", "fr", "en", min_frequency=1), lowercase=True, max_train_tokens=50
    ),
    model=_ANNOTATED.model,
    training=TrainingConfig(
        steps=131_250,
        batch_tokens=4096,
        batch_sentences=32,
        smooth_over_all=False,
        validate_every=3281,
        average_last=1,
    ),
)

# Adam as PyTorch sets it, at a fixed rate, on the plain loss: systems 4 and 5.
_FIXED_RATE = TrainingConfig(
    learning_rate=1e-3, beta2=0.999, epsilon=1e-8, label_smoothing=0.0, average_last=1
)

_MULTI30K = Recipe(
    name="multi30k",
    about="system 4: learned positions and words, German captions to English",
    differs="The validation loss is a mean over tokens, not over batches. Blanks of all kinds "
    "are one, and three types fewer: 9,037,316 parameters, where the original's text has "
    "9,038,341 with spaCy 3.8.",
    data=dataclasses.replace(
        _words("multi30k", "de", "en", min_frequency=2), lowercase=True, max_train_tokens=98
    ),
    model=dataclasses.replace(
        _UNTIED,
        d_model=256,
        d_ff=512,
        num_layers=3,
        positions=Positions.LEARNED,
        max_len=100,
    ),
    training=dataclasses.replace(
        _FIXED_RATE,
        steps=2270,
        batch_tokens=12_800,
        batch_sentences=128,
        learning_rate=5e-4,
        clip_norm=1.0,
        report_every=50,
        validate_every=227,
    ),
)

_HOMEWORK_DATA = dataclasses.replace(
    _words("iwslt", "de", "en", min_frequency=5), max_train_tokens=20
)
_HOMEWORK_TRAINING = dataclasses.replace(
    _FIXED_RATE, steps=15_000, batch_tokens=4096, batch_sentences=64, validate_every=1500
)


def _homework(
    name: str, about: str, differs: str, model: ModelConfig | RecurrentConfig, **training: Any
) -> Recipe:
    return Recipe(
        name=f"homework-{name}",
        about=f"system 5: {about}",
        differs=f"{differs} The report names no batch size; here it is 64 sentences.",
        data=_HOMEWORK_DATA,
        model=model,
        training=dataclasses.replace(_HOMEWORK_TRAINING, **training),
    )


def _beside_the_words(num_heads: int, num_layers: int, dropout: float) -> ModelConfig:
    return ModelConfig(
        d_model=200,
        d_ff=800,
        num_heads=num_heads,
        num_layers=num_layers,
        d_k=200 // num_heads,
        d_v=200 // num_heads,
        dropout=dropout,
        positions=Positions.CONCATENATED,
        tie_source_target=False,
        tie_softmax=False,
    )


_ATTENTION_MENDED = (
    "Self-attention returns what it attends to, and not its input; the decoder uses it; queries, "
    "keys and values have a projection each; padding is masked. The report gives no d_ff; here "
    "it is 800."
)

SYSTEMS: tuple[Recipe, ...] = (
    _ANNOTATED,
    _both_ways("fr", "en"),
    _both_ways("en", "fr"),
    _TATOEBA,
    _MULTI30K,
    _homework(
        "seq2seq",
        "an LSTM into one state, and an LSTM out of it",
        "Padding is left out of the encoder.",
        RecurrentConfig(attention=False),
    ),
    _homework(
        "seq2seq-attention",
        "a bidirectional LSTM, and one that looks back at it",
        "Padding is left out of the encoder and of the attention, whose scores are scaled.",
        RecurrentConfig(attention=True),
    ),
    _homework(
        "megatron",
        "a Transformer of 4 heads and 3 layers, positions beside the words",
        _ATTENTION_MENDED,
        _beside_the_words(num_heads=4, num_layers=3, dropout=0.2),
    ),
    _homework(
        "soundwave",
        "a Transformer of 3 heads and 4 layers, positions beside the words",
        f"{_ATTENTION_MENDED} The rate warms up to 0.001 and falls again: fixed at 0.001, which "
        "the report names for the LSTMs alone, four layers with the norm last do not learn.",
        _beside_the_words(num_heads=3, num_layers=4, dropout=0.1),
        learning_rate=None,
        warmup_steps=1500,  # the first epoch
        learning_rate_factor=0.548,  # the same peak: 1e-3 * sqrt(200 * 1500)
    ),
)
