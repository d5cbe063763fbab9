"""What every contender of a measurement is given: a recipe's sizes, and batches of its real text.

Not in the paper.
"""

import dataclasses
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import nn

from transformer.config import ModelConfig, Recipe
from transformer.data import corpora, tokenizers
from transformer.data.batches import Batch, TokenBudgetBatches, encode_pairs, padding_share
from transformer.model import Transformer
from transformer.recipes.named import find_recipe

EMBEDDED = "embedded"


class Workload(NamedTuple):
    """A recipe's network sizes and the batches that it would begin with.

    Attributes:
        recipe: Its data name the corpus that was used.
        batches: The first of its first epoch.
        pipeline: What made them, and makes an epoch.
        src_vocab_size, tgt_vocab_size: Types on either side.
    """

    recipe: Recipe
    batches: list[Batch]
    pipeline: TokenBudgetBatches
    src_vocab_size: int
    tgt_vocab_size: int

    @property
    def network(self) -> ModelConfig:
        """The shape of the recipe's Transformer."""
        assert isinstance(self.recipe.model, ModelConfig), "the benchmarks' recipes are no LSTMs"
        return self.recipe.model

    def build(self) -> nn.Module:
        """Make our model, in training mode; the same weights each time."""
        torch.manual_seed(self.recipe.training.seed)
        sizes = {"src_vocab_size": self.src_vocab_size, "tgt_vocab_size": self.tgt_vocab_size}
        return Transformer(self.network, **sizes).train()

    def about(self) -> dict[str, Any]:
        """Say what was given, for a record."""
        tokens = [batch.num_tgt_tokens for batch in self.batches]
        return {
            "recipe": self.recipe.name,
            "corpus": self.recipe.data.corpus,
            "src_types": self.src_vocab_size,
            "tgt_types": self.tgt_vocab_size,
            "batches": len(self.batches),
            "shapes": [[*batch.src.shape, batch.tgt_in.shape[1]] for batch in self.batches],
            "tgt_tokens_a_batch": round(sum(tokens) / len(tokens)),
            "padding_share": round(padding_share(self.batches), 3),
        }


def load(name: str, count: int) -> Workload:
    """Make a recipe's first batches, of its own corpus or, where that is not here, the embedded.

    Nothing is downloaded. On the embedded corpus the vocabulary is smaller, so the work is less:
    figures of the two are not for comparison.

    Args:
        name: Of a recipe of a Transformer, German to English.
        count: How many batches.
    """
    recipe = find_recipe(name)
    if not _is_here(recipe.data.corpus):
        recipe = dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, corpus=EMBEDDED))
    data, training = recipe.data, recipe.training
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    src, tgt = tokenizers.train(data, text.src, text.tgt)
    pipeline = TokenBudgetBatches(
        encode_pairs(src, tgt, text, data.max_train_tokens),
        training.batch_tokens,
        training.batch_sentences,
        seed=training.seed,
    )
    batches = list(islice(pipeline.epoch(0), count))
    return Workload(recipe, batches, pipeline, src.vocab_size, tgt.vocab_size)


def _is_here(corpus: str) -> bool:
    """Tell whether a corpus's training text is on this machine, unharmed."""
    needed = [report for report in corpora.verify(corpus) if "train" in report.name]
    return all(report.state == corpora.State.OK for report in needed)
