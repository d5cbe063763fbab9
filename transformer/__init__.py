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
    "data": ("batches", "corpora", "tokenizers"),
    "data.corpora": ("embedded",),
    "data.parallel": ("ParallelText", "aligned_tokens", "group_pairs"),
    "data.batches": (
        "Batch",
        "TokenBudgetBatches",
        "collate",
        "collate_sources",
        "cut",
        "encode_pairs",
        "padding_share",
    ),
    "training.loss": ("batch_loss", "label_smoothing_loss", "validation_loss"),
    "training.schedule": ("learning_rate",),
    "training.checkpoint": ("read_log",),
    "training.devices": ("Precision", "pick"),
    "training.loop": ("new_state", "train", "update"),
    "training.recipe": ("train_recipe",),
    "models.folder": ("holds_run", "load_tensors", "read_description"),
    "models.translator": ("Translator",),
    "evaluation.scores": ("bleu", "chrf", "parse_f1", "phrases"),
    "evaluation.evaluate": ("evaluate_translator", "text_loss"),
    "recipes": ("find_recipe",),
    "support.files": ("find_model", "results_folder"),
}
_PLACES = {name: module for module, names in DOOR.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'transformer' has no attribute {name!r}")
    place = f"transformer.{_PLACES[name]}"
    module = importlib.import_module(place)
    found = getattr(module, name, None)
    return importlib.import_module(f"{place}.{name}") if found is None else found
