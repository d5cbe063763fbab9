"""The companion package of a notebook course on "Attention Is All You Need".

Each name is loaded when it is first used. docs/tour.md says in which order to read the files.
"""
# ruff: noqa: F401 (type checkers and editors use the imports of TYPE_CHECKING)

from typing import TYPE_CHECKING

from transformer.support.exports import lazy_exports

__version__ = "0.1.0"

# The exported names, by the module that defines them. The block below repeats them for editors.
EXPORTED_NAMES_BY_MODULE = {
    "config": ("BOS_ID", "EOS_ID", "PAD_ID", "UNK_ID", "ModelConfig", "TrainingConfig"),
    "masks": ("causal_mask", "padding_mask"),
    "attention": ("MultiHeadAttention", "scaled_dot_product_attention"),
    "feed_forward": ("FeedForward",),
    "positions": ("rotate", "sinusoidal_positions"),
    "parts": ("PAPER_PARTS", "Parts"),
    "embeddings": ("Embedding",),
    "layers": ("DecoderLayer", "EncoderLayer", "Residual"),
    "model": ("Decoder", "Encoder", "Transformer", "count_parameters"),
    "decoding": ("beam_search", "greedy_search", "length_penalty"),
    "lstm": ("Recurrent",),
    "data": ("batches", "corpora", "tokenizers"),
    "data.embedded_corpus": ("embedded",),
    "data.grouping": ("group_pairs",),
    "data.parallel": ("ParallelText", "tokenize_for_alignment"),
    "data.word_splitting": ("split_words",),
    "data.batches": (
        "Batch",
        "collate",
        "collate_sources",
        "encode_pairs",
        "micro_batches",
        "padding_share",
        "shard",
    ),
    "data.token_budget": ("TokenBudgetBatches",),
    "training.loss": ("label_smoothing_loss",),
    "training.model_loss": ("batch_loss", "validation_loss"),
    "training.schedule": ("learning_rate",),
    "training.report": ("read_log",),
    "training.devices": ("Precision", "pick_device_and_precision"),
    "training.loop": ("new_state", "train", "update"),
    "training.recipe": ("train_recipe",),
    "models.folder": ("holds_run", "read_description"),
    "models.weights": ("load_tensors",),
    "models.translator": ("Translator",),
    "evaluation.scores": ("bleu", "chrf_plus_plus", "parse_f1", "count_tree_phrases"),
    "evaluation.evaluate": ("evaluate_translator", "text_loss"),
    "evaluation.translation_memory": ("translate_from_memory",),
    "recipes": ("find_recipe",),
    "support.folders": ("find_model_folder", "results_folder"),
}
__all__, __dir__, __getattr__ = lazy_exports(__name__, EXPORTED_NAMES_BY_MODULE)

if TYPE_CHECKING:
    from transformer.attention import MultiHeadAttention, scaled_dot_product_attention
    from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, ModelConfig, TrainingConfig
    from transformer.data import batches, corpora, tokenizers
    from transformer.data.batches import (
        Batch,
        collate,
        collate_sources,
        encode_pairs,
        micro_batches,
        padding_share,
        shard,
    )
    from transformer.data.embedded_corpus import embedded
    from transformer.data.grouping import group_pairs
    from transformer.data.parallel import ParallelText, tokenize_for_alignment
    from transformer.data.token_budget import TokenBudgetBatches
    from transformer.data.word_splitting import split_words
    from transformer.decoding import beam_search, greedy_search, length_penalty
    from transformer.embeddings import Embedding
    from transformer.evaluation.evaluate import evaluate_translator, text_loss
    from transformer.evaluation.scores import bleu, chrf_plus_plus, count_tree_phrases, parse_f1
    from transformer.evaluation.translation_memory import translate_from_memory
    from transformer.feed_forward import FeedForward
    from transformer.layers import DecoderLayer, EncoderLayer, Residual
    from transformer.lstm import Recurrent
    from transformer.masks import causal_mask, padding_mask
    from transformer.model import Decoder, Encoder, Transformer, count_parameters
    from transformer.models.folder import holds_run, read_description
    from transformer.models.translator import Translator
    from transformer.models.weights import load_tensors
    from transformer.parts import PAPER_PARTS, Parts
    from transformer.positions import rotate, sinusoidal_positions
    from transformer.recipes import find_recipe
    from transformer.support.folders import find_model_folder, results_folder
    from transformer.training.devices import Precision, pick_device_and_precision
    from transformer.training.loop import new_state, train, update
    from transformer.training.loss import label_smoothing_loss
    from transformer.training.model_loss import batch_loss, validation_loss
    from transformer.training.recipe import train_recipe
    from transformer.training.report import read_log
    from transformer.training.schedule import learning_rate
