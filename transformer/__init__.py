"""The companion package of a notebook course on "Attention Is All You Need".

Each name is loaded when it is first used. docs/tour.md says in which order to read the files.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# The names of this door, by the module that each is in.
DOOR = {
    "config": ("BOS_ID", "EOS_ID", "PAD_ID", "UNK_ID", "ModelConfig", "TrainingConfig"),
    "masks": ("causal_mask", "padding_mask"),
    "attention": ("MultiHeadAttention", "scaled_dot_product_attention"),
    "embeddings": ("Embedding", "sinusoidal_positions"),
    "layers": ("DecoderLayer", "EncoderLayer", "FeedForward", "Residual"),
    "model": ("Decoder", "Encoder", "Transformer", "count_parameters"),
    "decoding": ("beam_search", "greedy_search", "length_penalty"),
    "lstm": ("Recurrent",),
    "data": ("corpora", "tokenizers"),
    "data.batches": ("Batch", "TokenBudgetBatches", "collate", "encode_pairs", "padding_share"),
    "training.loss": ("batch_loss", "label_smoothing_loss", "validation_loss"),
    "training.schedule": ("learning_rate",),
    "training.devices": ("Precision",),
    "training.loop": ("train",),
    "training.recipe": ("train_recipe",),
    "models.folder": ("holds_run", "read_description"),
    "models.translator": ("Translator", "collate_sources", "find_model"),
    "evaluation.scores": ("bleu", "chrf"),
    "evaluation.compare": ("paired_bootstrap",),
    "evaluation.evaluate": ("evaluate_translator",),
    "recipes.named": ("find_recipe",),
}
_PLACES = {name: module for module, names in DOOR.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'transformer' has no attribute {name!r}")
    place = f"transformer.{_PLACES[name]}"
    module = importlib.import_module(place)
    return (
        getattr(module, name)
        if hasattr(module, name)
        else importlib.import_module(f"{place}.{name}")
    )
